"""Work of any size: a divisible decision is written in as many batches as the log needs.

The logs of these nodes take batches of 3000 bytes, so that little work is too much for one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.scheduling.turns import set_slice_s
from ottla.coordinator.groups import Groups
from ottla.metadata.catalog import CONSUMER_OFFSETS, TRANSACTION_STATE
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import headers_in
from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog
from tests.broker.members import beat
from tests.broker.one_node import OneNode, one_node, until
from tests.broker.transacting import error
from tests.broker.transacting import producer as begun
from tests.coordinator.moments import at
from tests.log_lines import LogLines

LIMIT_BYTES = 3000
SETTINGS = {
    "message_max_bytes": str(LIMIT_BYTES),
    "offsets_topic_num_partitions": "1",
    "transaction_state_log_num_partitions": "1",
}
GROUPS = [f"group-{number}" for number in range(10)]
PARTITIONS = 30
EACH_DECISION = -1.0  # each decision uses up a slice


async def commit(it: OneNode, group_id: str, topic: str, offset: int, count: int = 30) -> set[Code]:
    """Commit the same offset for the first partitions of a topic."""
    partitions = [{"partition_index": i, "committed_offset": offset} for i in range(count)]
    topics = [{"name": topic, "partitions": partitions}]
    answer = await it.ask(ApiKey.OFFSET_COMMIT, 8, group_id=group_id, topics=topics)
    return {Code(each["error_code"]) for each in answer["topics"][0]["partitions"]}


async def fetched(it: OneNode, group_id: str, topic: str, partitions: int = PARTITIONS) -> set[int]:
    """The offsets of the first partitions of a topic."""
    topics = [{"name": topic, "partition_indexes": list(range(partitions))}]
    answer = await it.ask(ApiKey.OFFSET_FETCH, 7, group_id=group_id, topics=topics)
    assert answer["error_code"] == Code.NONE
    return {each["committed_offset"] for each in answer["topics"][0]["partitions"]}


async def everywhere(it: OneNode, topic: str) -> set[int]:
    found: set[int] = set()
    for group_id in GROUPS:
        found |= await fetched(it, group_id, topic)
    return found


async def with_offsets(it: OneNode, *topics: str) -> None:
    """All groups have committed offset 5 for all partitions of the topics."""
    it.node.controller.create_internal_topic(CONSUMER_OFFSETS)
    for topic in topics:
        it.topic(topic, PARTITIONS)
        for group_id in GROUPS:
            assert await commit(it, group_id, topic, 5) == {Code.NONE}


async def delete(it: OneNode, *topics: str) -> list[Code]:
    answer = await it.ask(ApiKey.DELETE_TOPICS, 5, topic_names=list(topics), timeout_ms=1000)
    return [Code(each["error_code"]) for each in answer["responses"]]


def held(it: OneNode) -> int:
    """How many offsets the coordinator has in its memory, whether they count or not."""
    offsets: Any = it.node.groups.shard_at(0).machine._offsets
    return sum(len(held) for topics in offsets._committed.values() for held in topics.values())


def batch_sizes(log: PartitionLog) -> list[int]:
    end = log.log_end_offset
    data = log.read(0, max_bytes=1 << 24, up_to=end, min_one=True).records
    return [header.size_bytes for _, header in headers_in(data)]


async def at_rest(it: OneNode) -> None:
    """Load all coordinators, and run the timers that are due."""
    groups = it.node.groups.shard_at(0)
    for _ in range(10_000):
        await asyncio.sleep(0)
        if not groups.is_loading and groups.machine.next_deadline(at(0)) != 0:
            return
    raise AssertionError("it never comes to rest")


@contextmanager
def refusing(code: Code) -> Iterator[None]:
    """The logs of the group coordinators take nothing."""
    right = PartitionLog.append_checked

    def append(self: PartitionLog, *arguments: Any, **named: Any) -> Any:
        if self.topic == CONSUMER_OFFSETS:
            raise Refused(code, "as the test wants it")
        return right(self, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartitionLog, "append_checked", append)
        yield


# Deleting topics


async def test_a_topic_with_more_offsets_than_a_batch_holds_is_deleted_with_them(
    tmp_path: Path,
) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        await with_offsets(it, "orders", "stock")
        assert await delete(it, "orders", "stock") == [Code.NONE, Code.NONE]
        await at_rest(it)
        assert held(it) == 0
        sizes = batch_sizes(it.log(CONSUMER_OFFSETS))
        assert max(sizes) <= LIMIT_BYTES
        it.topic("orders", PARTITIONS)
        assert await everywhere(it, "orders") == {-1}
    async with one_node(tmp_path, **SETTINGS) as it:
        await at_rest(it)
        assert await everywhere(it, "orders") == {-1}
        assert held(it) == 0


async def test_other_requests_are_served_while_offsets_are_forgotten(it: OneNode) -> None:
    await with_offsets(it, "orders")
    await at_rest(it)
    set_slice_s(EACH_DECISION)
    deletion = asyncio.create_task(delete(it, "orders"))
    while "orders" in it.node.catalog.topics:  # noqa: ASYNC110 - each turn is counted
        await asyncio.sleep(0)
    assert await fetched(it, GROUPS[-1], "orders", 1) == {-1}
    left = [held(it)]
    assert left[0] > PARTITIONS, "the request is answered long before the work is done"
    while left[-1]:
        await asyncio.sleep(0)
        left.append(held(it))
    assert await deletion == [Code.NONE]
    removed = {before - after for before, after in pairwise(left)}
    assert removed == {0, PARTITIONS}, "one group in a turn of the event loop"


async def test_a_new_topic_has_no_offsets_of_its_forerunner_though_the_log_takes_nothing(
    it: OneNode, log_lines: LogLines
) -> None:
    await with_offsets(it, "orders")
    await at_rest(it)
    with refusing(Code.KAFKA_STORAGE_ERROR):
        assert await delete(it, "orders") == [Code.NONE]
        it.topic("orders", PARTITIONS)
        await asyncio.sleep(5)
        assert held(it) == len(GROUPS) * PARTITIONS
        assert await everywhere(it, "orders") == {-1}
    assert await commit(it, GROUPS[0], "orders", 7, count=1) == {Code.NONE}
    assert await everywhere(it, "orders") == {-1, 7}
    assert [event for _, event, _ in log_lines.of("shard").lines] == [
        "the timers of a coordinator fail: the log does not take what they decide"
    ]
    await asyncio.sleep(2)
    assert held(it) == 1, "the rest was removed as soon as the log took it"
    assert await everywhere(it, "orders") == {-1, 7}


async def test_after_a_crash_a_new_topic_has_no_offsets_of_its_forerunner(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        await with_offsets(it, "orders", "stock")
        await at_rest(it)
        with refusing(Code.KAFKA_STORAGE_ERROR):
            await delete(it, "orders", "stock")
            it.topic("orders", PARTITIONS)
            await asyncio.sleep(1)
    async with one_node(tmp_path, **SETTINGS) as it:
        await until(lambda: not it.node.loading.left)
        assert await everywhere(it, "orders") == {-1}
        await at_rest(it)
        assert held(it) == 0, "what belongs to no topic was found and removed"


async def test_a_fault_after_a_deletion_does_not_fail_the_deletion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_lines: LogLines
) -> None:

    def forget_topic(self: Groups, topic: str) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(Groups, "forget_topic", forget_topic)
    async with one_node(tmp_path, **SETTINGS) as it:
        await with_offsets(it, "orders", "stock")
        assert await delete(it, "orders", "stock") == [Code.NONE, Code.NONE]
        assert [level for level, _, _ in log_lines.of("controller").lines] == ["error"] * 2
        assert not {"orders", "stock"} & it.node.catalog.topics.keys()


# Time


async def test_any_number_of_offsets_expires(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS, offsets_retention_minutes="1") as it:
        await with_offsets(it, "orders")
        assert held(it) == len(GROUPS) * PARTITIONS
        await asyncio.sleep(3600)
        assert held(it) == 0
        assert it.node.groups.shard_at(0).machine.list_groups() == []
        assert max(batch_sizes(it.log(CONSUMER_OFFSETS))) <= LIMIT_BYTES


async def test_members_that_die_together_are_all_fenced(tmp_path: Path) -> None:
    members = [(f"group-{number}", name) for number in range(40) for name in ("a", "b")]
    async with one_node(tmp_path, **SETTINGS) as it:
        it.node.controller.create_internal_topic(CONSUMER_OFFSETS)
        it.topic("orders", 4)
        for group_id, member_id in members:
            joined = await beat(it, group_id, member_id)
            assert joined["error_code"] == Code.NONE
    async with one_node(tmp_path, **SETTINGS) as it:
        await asyncio.sleep(60)
        machine = it.node.groups.shard_at(0).machine
        assert {each.state for each in machine.list_groups()} == {"Empty"}
        joined = await beat(it, GROUPS[0], "new")
        assert joined["assignment"]["topic_partitions"][0]["partitions"] == [0, 1, 2, 3]
        assert max(batch_sizes(it.log(CONSUMER_OFFSETS))) <= LIMIT_BYTES


async def test_large_transactions_that_time_out_together_are_all_aborted(it: OneNode) -> None:
    it.topic("orders", 400)
    open_ones = [await begun(it, f"shop-{number}") for number in range(5)]
    for producer in open_ones:
        assert await producer.add({"orders": range(400)}) == {"NONE"}
    await asyncio.sleep(300)
    machine = it.node.transactions.shard_at(0).machine
    states = {each.state.title for each in machine.listed(now_ms=0)}
    assert states == {"CompleteAbort"}
    assert max(batch_sizes(it.log(TRANSACTION_STATE))) <= LIMIT_BYTES


async def test_any_number_of_transactional_ids_expires(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS, transactional_id_expiration_ms="60000") as it:
        for number in range(150):
            await begun(it, f"a transactional id with a long name, {number}")
        await asyncio.sleep(3600)
        assert it.node.transactions.shard_at(0).machine.listed(now_ms=0) == ()
        assert max(batch_sizes(it.log(TRANSACTION_STATE))) <= LIMIT_BYTES


# Atomic decisions


async def test_offsets_that_do_not_fit_one_batch_are_an_error_of_the_server(it: OneNode) -> None:
    it.node.controller.create_internal_topic(CONSUMER_OFFSETS)
    it.topic("orders", 100)
    assert await commit(it, "shop", "orders", 5, count=100) == {Code.UNKNOWN_SERVER_ERROR}
    assert await fetched(it, "shop", "orders") == {-1}
    producer = await begun(it, "shop")
    parts = [{"partition_index": index, "committed_offset": 5} for index in range(100)]
    answer = await it.ask(
        ApiKey.TXN_OFFSET_COMMIT, 5, **producer.identity, group_id="shop",
        generation_id_or_member_epoch=-1, topics=[{"name": "orders", "partitions": parts}],
    )  # fmt: skip
    assert {error(each) for each in answer["topics"][0]["partitions"]} == {"UNKNOWN_SERVER_ERROR"}
