"""Share sessions, as their members see them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ottla.broker.requests.context import ConnectionInfo
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.fakes import LISTENER, settle
from tests.broker.handlers.share_delivery import (
    ACCEPT,
    GROUP,
    RELEASE,
    SETTINGS,
    Member,
    parts,
    state,
    with_records,
)
from tests.broker.one_node import OneNode, one_node

ELSEWHERE = ConnectionInfo("here-elsewhere-2", "elsewhere:1", "elsewhere", LISTENER)


async def test_each_request_has_the_next_epoch(it: OneNode) -> None:
    member = Member(it, await with_records(it))
    wrong = Code.INVALID_SHARE_SESSION_EPOCH
    await member.fetch()
    await member.fetch()
    assert (await member.fetch(epoch=1))["error_code"] == wrong
    assert (await member.fetch(epoch=9))["error_code"] == wrong
    assert (await member.fetch(epoch=-2))["error_code"] == wrong
    assert await member.acknowledge((0, 0, ACCEPT), epoch=0) == wrong
    assert await member.acknowledge((0, 0, ACCEPT), epoch=77) == wrong
    assert await member.acknowledge((0, 0, ACCEPT)) == Code.NONE
    assert (await member.fetch())["error_code"] == Code.NONE


async def test_a_request_without_a_session_is_refused(it: OneNode) -> None:
    member, missing = Member(it, await with_records(it)), Code.SHARE_SESSION_NOT_FOUND
    assert (await member.fetch(epoch=3))["error_code"] == missing
    assert (await member.fetch(epoch=-1))["error_code"] == missing
    assert await member.acknowledge((0, 0, ACCEPT), epoch=-1) == missing


@pytest.mark.parametrize(
    "fields", [{"group_id": None}, {"member_id": ""}, {"member_id": None}, {"member_id": "m" * 37}]
)
async def test_group_and_member_must_be_named(fields: dict[str, Any], it: OneNode) -> None:
    member = Member(it, await with_records(it), **fields)
    assert (await member.fetch())["error_code"] == Code.INVALID_REQUEST
    assert await member.acknowledge((0, 0, ACCEPT), epoch=1) == Code.INVALID_REQUEST


async def test_acknowledgements_cannot_begin_a_session(it: OneNode) -> None:
    member = Member(it, await with_records(it))
    await member.get()
    answer = await member.fetch((0, 0, ACCEPT), epoch=0)
    assert answer["error_code"] == Code.INVALID_REQUEST
    assert await member.acknowledge((0, 0, ACCEPT)) == Code.NONE


async def test_the_end_of_a_session_gives_the_rest_back(it: OneNode) -> None:
    topic_id = await with_records(it, count=4)
    member = Member(it, topic_id)
    await member.get()
    assert await member.acknowledge((0, 1, ACCEPT), epoch=-1) == Code.NONE
    assert await member.acknowledge((2, 2, ACCEPT)) == Code.SHARE_SESSION_NOT_FOUND
    other = Member(it, topic_id, "b")
    assert await other.get() == [(2, 3, 2)]
    [part] = parts(await other.fetch((2, 2, ACCEPT), epoch=-1))
    assert (part["acknowledge_error_code"], part["acquired_records"]) == (0, [])
    assert await Member(it, topic_id, "c").get() == [(3, 3, 3)]


async def test_a_session_ends_with_the_connection_that_began_it(it: OneNode) -> None:
    topic_id = await with_records(it)
    member = Member(it, topic_id)
    await member.get()
    here, it.connection = it.connection, ELSEWHERE
    assert await member.get() == []
    assert here.on_lost is not None
    here.on_lost(here.id)
    await settle()
    assert (await member.fetch())["error_code"] == Code.SHARE_SESSION_NOT_FOUND
    assert not list(it.node.share_partitions), "a group without members is forgotten"
    assert [tuple(each) for each in (await state(it, topic_id)).batches] == [(0, 2, 0, 1)]
    assert await Member(it, topic_id, "b").get() == [(0, 2, 2)]


async def test_a_lost_connection_leaves_a_session_that_has_begun_again_elsewhere(
    it: OneNode,
) -> None:
    member = Member(it, await with_records(it))
    await member.get(max_records=1)
    here, it.connection = it.connection, ELSEWHERE
    member.epoch = 0
    assert await member.get(max_records=1) == [(1, 1, 1)]
    assert here.on_lost is not None
    here.on_lost(here.id)
    await settle()
    assert await member.acknowledge((0, 1, ACCEPT)) == Code.NONE


async def test_a_session_forgets_partitions(it: OneNode) -> None:
    topic_id = await with_records(it)
    member = Member(it, topic_id)
    await member.get(max_records=1)
    forgotten = [{"topic_id": topic_id, "partitions": [0]}]
    assert await member.get(forgotten_topics_data=forgotten) == []
    assert await member.acknowledge((0, 0, RELEASE)) == Code.NONE


async def test_a_session_knows_no_topic_that_it_has_forgotten(it: OneNode) -> None:
    topic_id = await with_records(it)
    member = Member(it, topic_id)
    await member.get(max_records=1)
    await member.get(forgotten_topics_data=[{"topic_id": topic_id, "partitions": [0]}])
    it.node.controller.delete_topic("orders")
    [part] = parts(await member.fetch(topics=member.topics()))
    assert part["error_code"] == Code.UNKNOWN_TOPIC_ID


async def test_there_are_no_more_sessions_than_allowed(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS, group_share_max_share_sessions="1") as it:
        topic_id = await with_records(it)
        first, second = Member(it, topic_id, "a"), Member(it, topic_id, "b")
        await first.fetch()
        answer = await second.fetch(max_wait_ms=100)
        assert answer["error_code"] == Code.SHARE_SESSION_LIMIT_REACHED
        await first.fetch(epoch=-1)
        assert (await second.fetch())["error_code"] == Code.NONE


async def test_a_cluster_without_share_groups_refuses_both_requests(it: OneNode) -> None:
    member = Member(it, await with_records(it))
    it.node.catalog.features["share.version"] = 0
    assert (await member.fetch())["error_code"] == Code.UNSUPPORTED_VERSION
    assert await member.acknowledge((0, 0, ACCEPT), epoch=1) == Code.UNSUPPORTED_VERSION


async def test_nothing_of_share_groups_is_loaded_before_their_first_fetch(it: OneNode) -> None:
    assert it.node.loaded_share_partitions is None
    await it.ask(ApiKey.METADATA, 12, topics=None)
    assert it.node.loaded_share_partitions is None
    await Member(it, await with_records(it)).fetch()
    assert it.node.loaded_share_partitions is not None
    assert GROUP in {led.key.group_id for led in it.node.share_partitions}
