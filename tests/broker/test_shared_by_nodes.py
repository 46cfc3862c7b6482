"""Share groups on several nodes, and over sockets."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ottla.metadata.catalog import ResourceType
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code
from tests.broker.fakes import START_MS, frame
from tests.broker.handlers.share_delivery import ACCEPT, GROUP, Member, acquired, parts
from tests.broker.one_node import until
from tests.broker.several_nodes import SeveralNodes, several_nodes

pytestmark = pytest.mark.real_time(debug=True)

ONE = {"share_coordinator_state_topic_num_partitions": "1"}


class OnNode:
    """One node of several, as `Member` asks it."""

    def __init__(self, it: SeveralNodes, node_id: int) -> None:
        self.it, self.node_id = it, node_id

    async def ask(self, key: ApiKey, version: int, **fields: Any) -> Any:
        return await self.it.ask(self.node_id, key, version, **fields)


async def shared(it: SeveralNodes, *leaders: int, replicas: int) -> UUID:
    """A topic with three records that the group reads from the start."""
    topic_id: UUID = it.topic("orders", *leaders, replicas=replicas).topic_id
    log = it.nodes[leaders[0]].open_led_log("orders", 0)
    for _ in range(3):
        log.append(build([(None, b"v")], timestamp_ms=START_MS), now_ms=START_MS)
    settings = {"share.auto.offset.reset": "earliest"}
    it.controller.set_configs(ResourceType.GROUP, GROUP, settings)
    await it.cluster.share_persister.initialize(GROUP, topic_id, 0, state_epoch=1, start_offset=-1)
    return topic_id


async def test_another_leader_goes_on_where_the_first_has_stored(tmp_path: Path) -> None:
    async with several_nodes(tmp_path, 2, **ONE) as it:
        topic_id = await shared(it, 2, replicas=2)
        first: Any = OnNode(it, 2)
        before = Member(first, topic_id)
        assert await before.get() == [(0, 2, 1)]
        assert await before.acknowledge((0, 0, ACCEPT)) == Code.NONE
        await it.stop(2)
        second: Any = OnNode(it, 1)
        assert await Member(second, topic_id).get() == [(1, 2, 1)]
        await it.start(2)
        again = await Member(first, topic_id, "b").fetch()
        [part] = parts(again)
        assert part["error_code"] == Code.NOT_LEADER_OR_FOLLOWER
        assert part["current_leader"]["leader_id"] == 1
        assert [each["node_id"] for each in again["node_endpoints"]] == [1]


async def test_a_closed_connection_gives_its_records_back(tmp_path: Path) -> None:
    async with several_nodes(tmp_path, 1, **ONE) as it:
        topic_id = await shared(it, 1, replicas=1)
        node: Any = OnNode(it, 1)
        host, port = it.doors[1].advertised[0].host, it.doors[1].advertised[0].port
        reader, writer = await asyncio.open_connection(host, port)
        member = Member(node, topic_id)
        data = frame(ApiKey.SHARE_FETCH, 2, correlation_id=7, **member.fetch_fields())
        writer.write(len(data).to_bytes(4, "big") + data)
        await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
        sessions = it.nodes[1].share_partitions.sessions
        assert len(sessions) == 1
        writer.close()
        await until(lambda: len(sessions) == 0)
        await until(lambda: not list(it.nodes[1].share_partitions))
        assert acquired(await Member(node, topic_id, "b").fetch()) == [(0, 2, 2)]
