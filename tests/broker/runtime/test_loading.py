"""Coordinators are loaded beside the requests, and say so until they are."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.runtime.shards import loading
from ottla.broker.runtime.shards.shard import Shard
from ottla.broker.runtime.work_limits import WORK_LIMITS, WorkLimits
from ottla.broker.scheduling.turns import set_slice_s
from ottla.coordinator.groups import Groups
from ottla.coordinator.outcome import Outcome
from ottla.metadata.catalog import CONSUMER_OFFSETS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Refused
from tests.broker.one_node import OneNode, one_node
from tests.log_lines import LogLines

SETTINGS = {"offsets_topic_num_partitions": "1", "transaction_state_log_num_partitions": "1"}
COMMITS = 60
EACH_BATCH = WorkLimits(load_at_once_bytes=1000, load_slice_s=-1.0)


async def commit(it: OneNode, offset: int, topic: str = "orders") -> Code:
    partitions = [{"partition_index": 0, "committed_offset": offset}]
    topics = [{"name": topic, "partitions": partitions}]
    answer = await it.ask(ApiKey.OFFSET_COMMIT, 8, group_id="shop", topics=topics)
    return Code(answer["topics"][0]["partitions"][0]["error_code"])


async def fetched(it: OneNode) -> tuple[Code, int]:
    topics = [{"name": "orders", "partition_indexes": [0]}]
    answer = await it.ask(ApiKey.OFFSET_FETCH, 7, group_id="shop", topics=topics)
    if answer["error_code"]:
        return Code(answer["error_code"]), -1
    return Code.NONE, answer["topics"][0]["partitions"][0]["committed_offset"]


async def fill(directory: Path) -> None:
    """A log of `__consumer_offsets` that is too large to be loaded at once."""
    async with one_node(directory, **SETTINGS) as it:
        it.topic("orders")
        it.node.controller.create_internal_topic(CONSUMER_OFFSETS)
        for offset in range(COMMITS):
            assert await commit(it, offset) is Code.NONE
        assert it.log(CONSUMER_OFFSETS).size_bytes > EACH_BATCH.load_at_once_bytes


def loads_each_batch(directory: Path) -> AbstractAsyncContextManager[OneNode]:
    """A node that loads one batch in a turn, and answers each request in one turn."""
    set_slice_s(math.inf)
    return one_node(directory, EACH_BATCH, **SETTINGS)


async def until(happens: Callable[[], object]) -> None:
    """Let the loop turn, a limited number of times."""
    for _ in range(10 * COMMITS):
        if happens():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not happen")


async def test_a_node_answers_before_its_coordinators_are_loaded(tmp_path: Path) -> None:
    await fill(tmp_path)
    async with loads_each_batch(tmp_path) as it:
        assert await fetched(it) == (Code.COORDINATOR_LOAD_IN_PROGRESS, -1)
        assert await commit(it, 7) is Code.COORDINATOR_LOAD_IN_PROGRESS
        listed = await it.ask(ApiKey.LIST_GROUPS, 4)
        assert Code(listed["error_code"]) is Code.COORDINATOR_LOAD_IN_PROGRESS
        found = await it.ask(ApiKey.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=["shop"])
        assert found["coordinators"][0]["error_code"] == Code.NONE
        turns = 0
        while it.node.loading.left:
            await asyncio.sleep(0)
            turns += 1
        assert turns >= COMMITS, "others had their turn after each slice"
        assert await fetched(it) == (Code.NONE, COMMITS - 1)
        assert await commit(it, 7) is Code.NONE


async def test_a_small_log_is_loaded_in_the_turn_of_the_request(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        it.topic("orders")
        it.node.controller.create_internal_topic(CONSUMER_OFFSETS)
        assert await commit(it, 5) is Code.NONE
    async with one_node(tmp_path, **SETTINGS) as it:
        assert await fetched(it) == (Code.NONE, 5)


async def test_unloading_stops_a_load_in_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(tmp_path)
    replayed = []
    replay = Groups.replay

    def counted(self: Groups, record: Any) -> None:
        replayed.append(record)
        replay(self, record)

    monkeypatch.setattr(Groups, "replay", counted)
    async with loads_each_batch(tmp_path) as it:
        await until(lambda: replayed)
        it.node.groups.unload()
        await until(lambda: not it.node.loading.left)
        assert len(replayed) < COMMITS
        with pytest.raises(Refused, match="NOT_COORDINATOR"):
            it.node.groups.shard_of("shop")


async def test_a_topic_deleted_while_offsets_are_loaded_is_forgotten_by_them(
    tmp_path: Path,
) -> None:
    await fill(tmp_path)
    async with loads_each_batch(tmp_path) as it:
        it.node.controller.delete_topic("orders")
        await until(lambda: not it.node.loading.left)
        assert await fetched(it) == (Code.NONE, -1)


async def test_damage_found_while_loading_stops_that_coordinator_alone(tmp_path: Path) -> None:
    await fill(tmp_path)
    file = tmp_path / f"{CONSUMER_OFFSETS}-0" / f"{0:020d}.log"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    async with loads_each_batch(tmp_path) as it:
        assert await fetched(it) == (Code.COORDINATOR_LOAD_IN_PROGRESS, -1)
        await until(lambda: not it.node.loading.left)
        assert it.node.groups.is_unusable(0)
        assert await fetched(it) == (Code.NOT_COORDINATOR, -1)


async def test_nothing_is_compacted_away_from_under_a_load(tmp_path: Path) -> None:
    await fill(tmp_path)
    async with loads_each_batch(tmp_path) as it:
        log = it.log(CONSUMER_OFFSETS)
        cleaner = it.cleaner()
        await until(lambda: it.node.loading.is_loading(log))
        assert not cleaner._is_there(log)
        await until(lambda: not it.node.loading.left)
        assert cleaner._is_there(log)


class _LongLog:
    log_end_offset = 1
    size_bytes = WORK_LIMITS.load_at_once_bytes + 1
    topic = CONSUMER_OFFSETS
    partition = 0


class SlowShard:
    """Loads in a slice of its own."""

    log = _LongLog()
    is_closed = False

    def begin_loading(self) -> None: ...

    def load_in_slices(self, slice_s: float) -> Any:
        yield


@pytest.mark.real_time
async def test_a_fault_after_one_load_does_not_stop_the_others() -> None:
    loaded: list[Any] = []

    def done(given: Shard[Any], failed: object) -> None:
        loaded.append(given)
        if len(loaded) == 1:
            raise RuntimeError("a fault")

    several: Any = [SlowShard(), SlowShard()]
    work = loading.Loading()
    for each in several:
        work.add(each, partial(done, each))
    assert work.left == 2
    await until(lambda: not work.left)
    assert loaded == several


class LackingShard(SlowShard):
    """Lacks memory in its second slice."""

    def load_in_slices(self, slice_s: float) -> Any:
        yield
        raise MemoryError


@pytest.mark.real_time
async def test_a_load_that_lacks_memory_does_not_stop_the_others(log_lines: LogLines) -> None:
    loaded: list[tuple[Any, object]] = []
    lacking: Any = LackingShard()
    other: Any = SlowShard()

    def done(given: Any, failed: object) -> None:
        loaded.append((given, failed))

    work = loading.Loading()
    for each in (lacking, other):
        work.add(each, partial(done, each))
    await until(lambda: not work.left)
    (first, failed), second = loaded
    assert first is lacking
    assert isinstance(failed, MemoryError)
    assert second == (other, None)
    ((level, event, fields),) = log_lines.of("loading").lines
    assert (level, event) == ("error", "a coordinator cannot be loaded")
    assert (fields["topic"], fields["partition"]) == (CONSUMER_OFFSETS, 0)


class _ShortLog(_LongLog):
    size_bytes = 1


class LackingShortShard(SlowShard):
    """Lacks memory when it is loaded at once."""

    log = _ShortLog()

    def load(self) -> None:
        raise MemoryError


@pytest.mark.real_time
async def test_a_small_log_that_lacks_memory_does_not_stop_those_behind_it() -> None:
    loaded: list[object] = []
    lacking: Any = LackingShortShard()
    loading.Loading().add(lacking, loaded.append)
    (failed,) = loaded
    assert isinstance(failed, MemoryError)


@pytest.mark.real_time
async def test_a_load_requested_after_all_others_ended_runs() -> None:
    loaded: list[Any] = []

    work = loading.Loading()
    for number in range(1, 4):
        shard: Any = SlowShard()
        work.add(shard, lambda failed: loaded.append(failed))
        await until(lambda: not work.left)
        await asyncio.sleep(0)  # the task that loaded it ends
        assert len(loaded) == number


@pytest.mark.real_time
async def test_a_shard_that_is_loading_decides_nothing_and_does_not_tick(it: OneNode) -> None:
    it.node.controller.create_internal_topic(CONSUMER_OFFSETS)
    groups = it.node.groups.shard_at(0)
    groups.begin_loading()
    with pytest.raises(Refused, match="COORDINATOR_LOAD_IN_PROGRESS"):
        groups.run_now(lambda machine, now: Outcome(None))
    with pytest.raises(Refused, match="COORDINATOR_LOAD_IN_PROGRESS"):
        groups.ask(lambda machine: None)
