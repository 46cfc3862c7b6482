"""Elections and reassignments on three nodes: what Apache Kafka 4.1.1 answers on three brokers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.requests.dispatch import Dispatch
from ottla.metadata.catalog import CLUSTER_METADATA
from ottla.metadata.reassignments import reassigned
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.fakes import connection_info
from tests.broker.handlers.admin_requests import CLUSTER, CLUSTER_ANSWERS, comparable, recorded
from tests.broker.handlers.cluster_scenes import CLUSTER_SCENES, START, STOP
from tests.broker.handlers.topic_requests import Step
from tests.broker.several_nodes import SeveralNodes, several_nodes
from tests.wire.batches import batch
from tests.wire.client import decode, encode

pytestmark = pytest.mark.real_time(debug=True)

RECORDED = recorded(CLUSTER_ANSWERS)


async def told(several: SeveralNodes, step: Step) -> Mapping[str, Any]:
    """The answer of the first node; nothing where something is done to one."""
    if step.api in (STOP, START):
        does = several.stop if step.api == STOP else several.start
        await does(step.version)
        return {}
    frame = encode(step.api, step.version, step.body, correlation_id=7)
    dispatch = Dispatch(several.nodes[1])
    _, reply = dispatch.serve(memoryview(bytearray(frame[4:])), connection_info())
    if isinstance(reply, asyncio.Future):
        reply = await reply
    assert isinstance(reply, bytearray)
    words = {several.nodes[1].cluster_id: CLUSTER}
    answer: Mapping[str, Any] = comparable(decode(step.api, step.version, bytes(reply[4:])), words)
    return answer


@pytest.mark.parametrize("scene", CLUSTER_SCENES)
async def test_partitions_move_as_those_of_apache_kafka(scene: str, tmp_path: Path) -> None:
    async with several_nodes(tmp_path) as several:
        different = []
        for step, expected in zip(CLUSTER_SCENES[scene], RECORDED[scene], strict=True):
            answer = await told(several, step)
            if answer != expected:
                different.append(f"{step}\nKafka {expected}\nOttla {answer}")
        assert not different, "\n".join(different)


async def test_every_node_describes_the_same_quorum(tmp_path: Path) -> None:
    asked = [{"topic_name": CLUSTER_METADATA, "partitions": [{"partition_index": 0}]}]
    async with several_nodes(tmp_path) as several:
        for stopped in ((), (3,)):
            for node_id in stopped:
                await several.stop(node_id)
            told = [
                await several.ask(node_id, ApiKey.DESCRIBE_QUORUM, 2, topics=asked)
                for node_id in several.nodes
                if node_id not in stopped
            ]
            for answer in told:
                (quorum,) = answer["topics"][0]["partitions"]
                assert quorum["leader_id"] == 1
                assert [each["replica_id"] for each in quorum["current_voters"]] == [1]
                observers = [each["replica_id"] for each in quorum["observers"]]
                assert observers == [each for each in (2, 3) if each not in stopped]
                assert [each["node_id"] for each in answer["nodes"]] == [1]


async def test_records_written_before_a_reassignment_are_read_from_the_new_replica(
    tmp_path: Path,
) -> None:
    async with several_nodes(tmp_path) as several:
        several.topic("orders", 1)
        records = batch([b"one"])
        data = [{"name": "orders", "partition_data": [{"index": 0, "records": records}]}]
        produced = {"acks": -1, "timeout_ms": 1000, "topic_data": data}
        partition = {"partition": 0, "partition_max_bytes": 1 << 20}
        fetched = {
            "topics": [{"topic": "orders", "partitions": [partition]}], "min_bytes": 0,
            "max_wait_ms": 0, "max_bytes": 1 << 20,
        }  # fmt: skip
        await several.ask(1, ApiKey.PRODUCE, 11, **produced)
        (change,) = reassigned(several.cluster.catalog, "orders", 0, [3])
        several.controller.change_partitions([change])
        codes: dict[int, tuple[Any, ...]] = {}
        for node_id in (1, 3):
            answer = await several.ask(node_id, ApiKey.FETCH, 11, **fetched)
            (partition,) = answer["responses"][0]["partitions"]
            codes[node_id] = Code(partition["error_code"]), len(partition["records"] or b"")
            answer = await several.ask(node_id, ApiKey.PRODUCE, 11, **produced)
            (partition,) = answer["responses"][0]["partition_responses"]
            codes[node_id] += (Code(partition["error_code"]), partition["base_offset"])
        moved = Code.NOT_LEADER_OR_FOLLOWER
        assert codes == {1: (moved, 0, moved, -1), 3: (Code.NONE, len(records), Code.NONE, 1)}
