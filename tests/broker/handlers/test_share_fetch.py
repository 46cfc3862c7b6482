"""ShareFetch: what a member gets, what wakes it, and where a group begins."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ottla.metadata.catalog import SHARE_GROUP_STATE
from ottla.protocol.acls import AclResource, Operation
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.control import marker
from ottla.protocol.errors import Code
from tests.broker.fakes import START_MS, settle
from tests.broker.handlers.share_delivery import (
    ACCEPT,
    GROUP,
    REJECT,
    RELEASE,
    RENEW,
    SETTINGS,
    Member,
    offsets,
    parts,
    set_byte_rate,
    state,
    with_records,
)
from tests.broker.one_node import OneNode, one_node, read
from tests.broker.rights import Rights


async def test_a_member_acquires_records_and_gets_their_batches(it: OneNode) -> None:
    member = Member(it, await with_records(it))
    answer = await member.fetch(max_records=2)
    [part] = parts(answer)
    assert part["acquired_records"] == [{"first_offset": 0, "last_offset": 1, "delivery_count": 1}]
    assert offsets(answer) == [0, 1]
    assert answer["acquisition_lock_timeout_ms"] == 30_000
    assert answer["node_endpoints"] == []
    assert await member.get() == [(2, 2, 1)]


async def test_a_later_answer_names_only_partitions_with_news(it: OneNode) -> None:
    member = Member(it, await with_records(it, count=0))
    assert len(parts(await member.fetch())) == 1
    assert parts(await member.fetch()) == []


async def test_an_append_wakes_the_member_that_waits_longest(it: OneNode) -> None:
    topic_id = await with_records(it, count=0)
    first, second = Member(it, topic_id, "a"), Member(it, topic_id, "b")
    await first.fetch()
    await second.fetch()
    one, two = first.wait(), second.wait()
    await settle()
    it.append("orders", b"new")
    assert first.ranges(await one) == [(0, 0, 1)]
    await settle()
    assert not two.done()
    it.append("orders", b"another")
    assert second.ranges(await two) == [(1, 1, 1)]


async def test_records_that_one_waiting_member_leaves_wake_the_next(it: OneNode) -> None:
    topic_id = await with_records(it, count=0)
    first, second = Member(it, topic_id, "a"), Member(it, topic_id, "b")
    one, two = first.wait(max_records=1), second.wait(max_records=1)
    await settle()
    log = it.log("orders")
    for value in (b"one", b"two"):
        log.append(build([(None, value)], timestamp_ms=START_MS), now_ms=START_MS)
    it.node.wake_fetches(log.topic, log.partition)
    assert first.ranges(await one) == [(0, 0, 1)]
    assert second.ranges(await two) == [(1, 1, 1)]


async def test_a_member_that_gives_records_back_wakes_another(it: OneNode) -> None:
    topic_id = await with_records(it)
    first, second = Member(it, topic_id, "a"), Member(it, topic_id, "b")
    await first.get()
    waiting = second.wait()
    await settle()
    assert await first.acknowledge((0, 1, ACCEPT), (2, 2, RELEASE)) == Code.NONE
    assert second.ranges(await waiting) == [(2, 2, 2)]


async def test_the_end_of_a_lock_wakes_another_member(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS, group_share_min_record_lock_duration_ms="1000") as it:
        topic_id = await with_records(it, share_record_lock_duration_ms="2000")
        first, second = Member(it, topic_id, "a"), Member(it, topic_id, "b")
        await first.get()
        began = asyncio.get_running_loop().time()
        assert second.ranges(await second.wait()) == [(0, 2, 2)]
        assert asyncio.get_running_loop().time() - began == pytest.approx(2, abs=0.01)
        assert await first.acknowledge((0, 2, ACCEPT)) == Code.INVALID_RECORD_STATE
        assert await second.acknowledge((0, 2, ACCEPT)) == Code.NONE


class FailsOnce:
    """A machine whose first tick lacks memory."""

    def __init__(self, machine: Any) -> None:
        self._machine = machine
        self._has_failed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def tick(self, *args: Any, **named: Any) -> Any:
        if not self._has_failed:
            self._has_failed = True
            raise MemoryError
        return self._machine.tick(*args, **named)


async def test_a_lock_that_could_not_be_ended_is_ended_a_second_later(tmp_path: Path) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    async with one_node(tmp_path, **SETTINGS, group_share_min_record_lock_duration_ms="1000") as it:
        topic_id = await with_records(it, share_record_lock_duration_ms="2000")
        first, second = Member(it, topic_id, "a"), Member(it, topic_id, "b")
        await first.get()
        began = asyncio.get_running_loop().time()
        led: Any = next(iter(it.node.share_partitions))
        led.machine = FailsOnce(led.machine)
        assert second.ranges(await second.wait()) == [(0, 2, 2)]
        assert asyncio.get_running_loop().time() - began == pytest.approx(3, abs=0.01)


async def test_a_fetch_without_records_ends_at_its_time(it: OneNode) -> None:
    member = Member(it, await with_records(it, count=0))
    began = asyncio.get_running_loop().time()
    assert member.ranges(await member.wait(max_wait_ms=700)) == []
    assert asyncio.get_running_loop().time() - began == pytest.approx(0.7, abs=0.01)


async def test_a_fetch_waits_for_its_min_bytes(it: OneNode) -> None:
    member = Member(it, await with_records(it, count=1))
    waiting = member.wait(min_bytes=150)
    await settle()
    assert not waiting.done()
    it.append("orders", b"x" * 100)
    assert member.ranges(await waiting) == [(0, 1, 1)]


async def test_acknowledgements_of_a_fetch_come_before_its_records(it: OneNode) -> None:
    topic_id = await with_records(it, count=4)
    member = Member(it, topic_id)
    await member.get(max_records=2)
    answer = await member.fetch((0, 0, ACCEPT), (1, 1, RELEASE))
    [part] = parts(answer)
    assert part["acknowledge_error_code"] == 0
    assert [tuple(each.values())[:3] for each in part["acquired_records"]] == [
        (1, 1, 2), (2, 3, 1),
    ]  # fmt: skip
    stored = await state(it, topic_id)
    assert [tuple(each) for each in stored.batches] == [(0, 0, 2, 1), (1, 1, 0, 1)]
    assert stored.delivery_complete_count == 1


async def test_a_renewal_fetches_nothing(it: OneNode) -> None:
    member = Member(it, await with_records(it))
    await member.get(max_records=1)
    none = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}
    refused = await member.fetch((0, 0, RENEW), is_renew_ack=True, **{**none, "max_bytes": 1})
    assert refused["error_code"] == Code.INVALID_REQUEST
    [part] = parts(await member.fetch((0, 0, RENEW), is_renew_ack=True, **none))
    assert (part["acknowledge_error_code"], part["acquired_records"]) == (0, [])
    old = Member(it, member.topic_id, "b", version=1)
    await old.get(max_records=1)
    assert await old.acknowledge((1, 1, RENEW)) == Code.INVALID_REQUEST


async def test_records_are_sent_from_the_file_when_there_are_many(it: OneNode) -> None:
    topic_id = await with_records(it, count=0)
    for _ in range(8):
        it.append("orders", b"x" * 100_000)
    member = Member(it, topic_id)
    answer = await member.fetch(max_records=1)
    assert offsets(answer) == [0]
    answer = await member.fetch()
    assert offsets(answer) == [1, 2, 3, 4, 5, 6, 7]


async def test_max_bytes_is_for_whole_batches(it: OneNode) -> None:
    topic_id = await with_records(it, count=0)
    for _ in range(4):
        it.append("orders", b"x" * 1_000)
    member = Member(it, topic_id)
    assert await member.get(max_bytes=100) == [(0, 0, 1)]
    assert await member.get(max_bytes=2_500) == [(1, 2, 1)]


async def test_a_member_over_its_quota_gets_nothing_and_keeps_its_locks(it: OneNode) -> None:
    topic_id = await with_records(it, count=0)
    for _ in range(3):
        it.append("orders", bytes(1000))
    await set_byte_rate(it, 100.0)
    member, other = Member(it, topic_id, "a"), Member(it, topic_id, "b")
    refused = await member.fetch()
    assert parts(refused) == []
    assert refused["error_code"] == 0
    assert refused["throttle_time_ms"] > 0
    await set_byte_rate(it, None)
    assert await other.get() == [(1, 2, 1)]
    assert await member.acknowledge((0, 0, ACCEPT)) == Code.NONE


@pytest.mark.parametrize(
    ("reset", "start"),
    [("latest", 3), ("earliest", 0), ("by_duration:PT1H", 1), ("by_duration:P1D", 0)],
)
async def test_a_group_begins_where_its_setting_says(reset: str, start: int, it: OneNode) -> None:
    topic_id = await with_records(it, count=0, share_auto_offset_reset=reset)
    it.append("orders", b"old", timestamp_ms=START_MS - 7_200_000)
    for _ in range(2):
        it.append("orders", b"newer", timestamp_ms=START_MS - 60_000)
    member = Member(it, topic_id)
    await member.fetch()
    it.append("orders", b"now", timestamp_ms=START_MS)
    first, *_ = await member.get() or [(start, 0, 0)]
    led = next(iter(it.node.share_partitions))
    assert led.machine.start_offset == start, first


async def test_a_group_begins_by_duration_only_once_there_is_such_a_record(it: OneNode) -> None:
    topic_id = await with_records(it, share_auto_offset_reset="by_duration:PT0S")
    member = Member(it, topic_id)
    await asyncio.sleep(1)  # of virtual time: all records are old then
    [part] = parts(await member.fetch())
    assert part["error_code"] == Code.OFFSET_NOT_AVAILABLE
    it.append("orders", b"now", timestamp_ms=START_MS + 2_000)
    assert await member.get() == [(3, 3, 1)]


async def test_a_group_that_reads_committed_skips_aborted_records(it: OneNode) -> None:
    topic_id = await with_records(it, count=1, share_isolation_level="read_committed")
    log = it.log("orders")
    for number, ends in enumerate((True, False, None)):
        it.append("orders", b"x", producer_id=number, producer_epoch=0, base_sequence=0,
                  transactional=True)  # fmt: skip
        if ends is not None:
            log.append_marker(
                marker(
                    commit=ends, producer_id=number, producer_epoch=0,
                    coordinator_epoch=0, timestamp_ms=START_MS,
                ),
                now_ms=START_MS,
            )  # fmt: skip
    it.append("orders", b"behind the open one")
    member = Member(it, topic_id)
    assert await member.get() == [(0, 2, 1), (4, 4, 1)]
    assert await member.get() == []


async def test_records_that_were_deleted_are_passed(it: OneNode) -> None:
    topic_id = await with_records(it, count=5)
    member = Member(it, topic_id)
    await member.get(max_records=2)
    assert await member.acknowledge((0, 1, RELEASE)) == Code.NONE
    it.log("orders").delete_records(4)
    assert await member.get() == [(4, 4, 1)]
    assert await member.acknowledge((4, 4, ACCEPT)) == Code.NONE
    assert (await state(it, topic_id)).start_offset == 4


async def test_unknown_partitions_have_errors_of_their_own(it: OneNode) -> None:
    topic_id = await with_records(it)
    ghost = Member(it, UUID(int=1))
    [part] = parts(await ghost.fetch())
    assert part["error_code"] == Code.UNKNOWN_TOPIC_ID
    member = Member(it, topic_id, "b")
    body = member.fetch_fields()
    body["topics"][0]["partitions"].append({"partition_index": 7, "acknowledgement_batches": []})
    answer = await it.ask(ApiKey.SHARE_FETCH, 2, **body)
    found = {part["partition_index"]: part["error_code"] for part in parts(answer)}
    assert found == {0: Code.NONE, 7: Code.UNKNOWN_TOPIC_OR_PARTITION}


async def test_a_group_without_state_is_refused(it: OneNode) -> None:
    topic_id = it.topic("orders").topic_id
    [part] = parts(await Member(it, topic_id).fetch())
    assert part["error_code"] == Code.UNKNOWN_SERVER_ERROR


async def test_a_new_leader_begins_with_the_stored_state(it: OneNode) -> None:
    topic_id = await with_records(it, count=4)
    member = Member(it, topic_id)
    await member.get()
    assert await member.acknowledge((0, 0, ACCEPT), (1, 1, RELEASE)) == Code.NONE
    it.node.share_partitions.stop()
    assert await member.acknowledge((2, 2, ACCEPT)) == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert await member.get() == [(1, 1, 2), (2, 3, 1)]


async def test_a_state_that_is_initialized_again_fences_the_old_one(it: OneNode) -> None:
    topic_id = await with_records(it)
    member = Member(it, topic_id)
    await member.get()
    persister = it.node.cluster.share_persister
    await persister.initialize(GROUP, topic_id, 0, state_epoch=5, start_offset=1)
    assert await member.acknowledge((0, 2, ACCEPT)) == Code.NOT_LEADER_OR_FOLLOWER
    assert await member.get() == [(1, 2, 1)]


async def test_records_stay_with_their_member_when_nothing_can_be_stored(it: OneNode) -> None:
    member = Member(it, await with_records(it))
    await member.get()
    it.node.share_states.unload()
    assert await member.acknowledge((0, 2, ACCEPT)) == Code.COORDINATOR_NOT_AVAILABLE
    it.node.follow(it.node.catalog.topics[SHARE_GROUP_STATE])
    assert await member.acknowledge((0, 2, ACCEPT)) == Code.NONE


async def test_a_deleted_topic_ends_the_wait(it: OneNode) -> None:
    topic_id = await with_records(it, count=0)
    member = Member(it, topic_id)
    await member.fetch()
    waiting = member.wait()
    await settle()
    it.node.controller.delete_topic("orders")
    answer = read(ApiKey.SHARE_FETCH, 2, await waiting)
    assert [part["error_code"] for part in parts(answer)] == [Code.NOT_LEADER_OR_FOLLOWER]
    assert not list(it.node.share_partitions)
    assert await member.acknowledge((0, 0, ACCEPT)) == Code.UNKNOWN_TOPIC_ID


async def test_rejected_records_are_copied_to_the_dead_letter_queue(it: OneNode) -> None:
    it.topic("dlq.orders", errors_deadletterqueue_group_enable="true")
    topic_id = await with_records(
        it, errors_deadletterqueue_topic_name="dlq.orders",
        errors_deadletterqueue_copy_record_enable="true",
    )  # fmt: skip
    member = Member(it, topic_id)
    await member.get()
    assert await member.acknowledge((0, 0, ACCEPT), (1, 2, REJECT)) == Code.NONE
    led = next(iter(it.node.share_partitions))
    async with asyncio.timeout(10):
        while led.machine.start_offset < 3:  # noqa: ASYNC110 - no event tells it
            await asyncio.sleep(0.01)
    assert it.log("dlq.orders").log_end_offset == 2
    stored = await state(it, topic_id)
    assert {each.delivery_state for each in stored.batches} <= {2, 4}


@pytest.mark.parametrize(
    ("allowed", "whole", "of_partition"),
    [
        (set(), Code.GROUP_AUTHORIZATION_FAILED, None),
        ({AclResource.GROUP}, Code.NONE, Code.TOPIC_AUTHORIZATION_FAILED),
        ({AclResource.GROUP, AclResource.TOPIC}, Code.NONE, Code.NONE),
    ],
)
async def test_group_and_topic_must_be_readable(
    allowed: set[AclResource], whole: Code, of_partition: Code | None, tmp_path: Path
) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        topic_id = await with_records(it)
        it.node.authorizer = Rights(
            lambda operation, resource, _: operation is Operation.READ and resource in allowed
        )
        answer: dict[str, Any] = await Member(it, topic_id).fetch()
        assert answer["error_code"] == whole
        if of_partition is not None:
            assert [part["error_code"] for part in parts(answer)] == [of_partition]
