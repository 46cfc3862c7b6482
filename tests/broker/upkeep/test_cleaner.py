"""The log cleaner of a node: which log it takes, what goes on meanwhile, and what can go wrong."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.runtime.work_limits import WORK_LIMITS
from ottla.protocol.batch import build
from ottla.protocol.errors import Code, Refused
from ottla.storage.appended import Origin
from ottla.storage.cleaning import retention
from ottla.storage.cleaning.throttle import Throttle
from ottla.storage.log import PartitionLog
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode, one_node, until
from tests.broker.refusing_files import RefusingFiles
from tests.log_lines import LogLines
from tests.storage import broken_records
from tests.storage.compacting import values

pytestmark = pytest.mark.real_time

COMPACT: dict[str, Any] = {"cleanup_policy": "compact", "segment_bytes": str(1 << 20)}
SETTINGS = {"log_cleaner_backoff_ms": "1000000"}


@pytest.fixture
def said(log_lines: LogLines) -> LogLines:
    return log_lines.of("cleaner")


def fill(it: OneNode, topic: str, *keys: bytes, partition: int = 0) -> None:
    """A record for each key, and a new segment behind them."""
    log = it.log(topic, partition)
    for key in keys:
        number = b"%d" % log.log_end_offset
        log.append(build([(key, number)], timestamp_ms=START_MS), now_ms=START_MS)
    log.roll(START_MS)


def is_clean(it: OneNode, topic: str) -> bool:
    return it.node.log_directory.cleaned_up_to(it.log(topic)) is not None


def checkpoint(directory: Path) -> str:
    return (directory / "cleaner-offset-checkpoint").read_text().rstrip() + "\n"


async def test_the_dirtiest_log_is_compacted_first(tmp_path: Path, it: OneNode) -> None:
    it.topic("whole", 2, **COMPACT)
    it.topic("half", **COMPACT)
    it.topic("not", cleanup_policy="delete")
    cleaner = it.cleaner()
    assert not await cleaner.clean_dirtiest()
    fill(it, "half", b"a", b"b", b"c")
    assert await cleaner.clean_dirtiest()
    fill(it, "half", b"d", b"a", b"e", b"f")
    fill(it, "whole", b"a", b"a", partition=1)
    fill(it, "not", b"a", b"a")
    assert await cleaner.clean_dirtiest()
    assert checkpoint(tmp_path) == "0\n2\nhalf 0 3\nwhole 1 2\n"
    assert values(it.log("whole", 1)) == {1: (b"a", b"1")}
    assert await cleaner.clean_dirtiest()
    assert sorted(values(it.log("half"))) == [1, 2, 3, 4, 5, 6]
    assert not await cleaner.clean_dirtiest()
    assert sorted(values(it.log("not"))) == [0, 1]


async def test_the_cleaner_offset_survives_a_restart(tmp_path: Path) -> None:
    async with one_node(tmp_path, **SETTINGS) as it:
        it.topic("t", **COMPACT)
        fill(it, "t", b"a", b"a", b"b")
        assert await it.cleaner().clean_dirtiest()
    async with one_node(tmp_path, **SETTINGS) as it:
        assert sorted(values(it.log("t"))) == [1, 2]
        assert it.node.log_directory.cleaned_up_to(it.log("t")) == 3
        assert not await it.cleaner().clean_dirtiest()


async def test_the_cleaner_runs_by_the_clock(tmp_path: Path) -> None:
    async with one_node(tmp_path, log_cleaner_backoff_ms="1") as it:
        it.topic("t", **COMPACT)
        fill(it, "t", b"a", b"a")
        await until(lambda: is_clean(it, "t"))
        assert sorted(values(it.log("t"))) == [1]


async def test_the_cleaner_can_be_disabled(tmp_path: Path) -> None:
    settings = {"log_cleaner_enable": "false", "log_cleaner_backoff_ms": "0"}
    async with one_node(tmp_path, **settings) as it:
        it.topic("t", **COMPACT)
        fill(it, "t", b"a", b"a")
        tasks = [task for task in asyncio.all_tasks() if "Cleaner" in repr(task)]
        assert not tasks


OLD: dict[str, Any] = {"retention_ms": "1000", "segment_bytes": str(1 << 20)}


def fill_with_old(it: OneNode, topic: str) -> None:
    batch = build([(b"k", b"v")], timestamp_ms=START_MS - 10**7)
    it.log(topic).append(batch, now_ms=START_MS)


@pytest.mark.parametrize(
    ("by_the_clock", "gone"),
    [
        ("log_cleaner_backoff_ms", "both"),
        ("log_retention_check_interval_ms", "deleted"),
        ("log_initial_task_delay_ms", "deleted"),  # until then for the first time
    ],
)
async def test_old_segments_of_compacted_and_deleted_topics_go_by_the_cleaners_clock(
    by_the_clock: str, gone: str, tmp_path: Path
) -> None:
    """In Kafka logs that are compacted are the cleaner's alone, every fifteen seconds."""

    async with one_node(tmp_path, **{**SETTINGS, by_the_clock: "1"}) as it:
        policies = {"both": "compact,delete", "deleted": "delete", "compacted": "compact"}
        for topic in sorted(policies, key=gone.__eq__):  # looked at in this order
            it.topic(topic, cleanup_policy=policies[topic], **OLD)
            fill_with_old(it, topic)
        await until(lambda: it.log(gone).log_start_offset == 1)
        starts = {topic: it.log(topic).log_start_offset for topic in policies}
        assert starts == {"both": 0, "deleted": 0, "compacted": 0, gone: 1}


async def test_a_failed_deletion_of_old_segments_is_retried(
    tmp_path: Path, said: LogLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[int] = []
    really = retention.delete_old_segments

    def refuse_once(log: PartitionLog, now_ms: int) -> int:
        if not refused:
            refused.append(log.log_start_offset)
            raise OSError(5, "input/output error")
        return really(log, now_ms)

    monkeypatch.setattr(retention, "delete_old_segments", refuse_once)
    async with one_node(tmp_path, log_cleaner_backoff_ms="1") as it:
        it.topic("both", cleanup_policy="compact,delete", **OLD)
        fill_with_old(it, "both")
        await until(lambda: it.log("both").log_start_offset == 1)
        assert refused == [0]
        assert len(said.lines) == 1


def many(it: OneNode, topic: str) -> None:
    """More than is done in one step."""
    log = it.log(topic)
    for number in range(300):
        pairs = [(b"key %d" % (n % 50), b"%d" % number) for n in range(100)]
        log.append(build(pairs, timestamp_ms=START_MS), now_ms=START_MS)
    log.roll(START_MS)


def meanwhile(
    act: Callable[[OneNode], None], *, at_turn: int = 3
) -> Callable[..., Coroutine[Any, Any, OneNode]]:
    """Begin to compact, and do something when the cleaner has paused a few times."""

    async def run(it: OneNode) -> OneNode:
        round_ = asyncio.create_task(it.cleaner().clean_dirtiest())
        turns = 0
        while not round_.done():
            await asyncio.sleep(0)
            turns += 1
            if turns == at_turn:
                act(it)
        assert turns > at_turn, "it was over before"
        assert await round_
        return it

    return run


def files(it: OneNode, topic: str) -> list[str]:
    return sorted(path.name for path in Path(it.log(topic).directory).iterdir())


async def test_records_appended_during_a_compaction_stay(tmp_path: Path) -> None:
    def append(it: OneNode) -> None:
        fill(it, "t", b"key 1", b"key 1", b"new")

    async with one_node(tmp_path, **SETTINGS) as it:
        it.topic("t", **COMPACT)
        many(it, "t")
        await meanwhile(append)(it)
        left = values(it.log("t"))
        assert sorted(left) == [*range(29_950, 30_000), 30_000, 30_001, 30_002]


async def test_a_log_that_is_shortened_meanwhile_is_left_as_it_is(
    tmp_path: Path, said: LogLines
) -> None:
    def shorten(it: OneNode) -> None:
        it.log("t").delete_records(30_000)

    async with one_node(tmp_path, **SETTINGS) as it:
        it.topic("t", **COMPACT)
        many(it, "t")
        await meanwhile(shorten)(it)
        assert it.log("t").log_start_offset == 30_000
        assert not [name for name in files(it, "t") if name.endswith((".cleaned", ".swap"))]
        assert it.node.log_directory.cleaned_up_to(it.log("t")) is None
        assert said.lines == []


async def test_a_topic_that_is_deleted_meanwhile_leaves_nothing_in_its_successor(
    tmp_path: Path, said: LogLines
) -> None:
    def again(it: OneNode) -> None:
        it.node.controller.delete_topic("t")
        it.topic("t", **COMPACT)
        it.log("t").append(build([(b"k", b"v")], timestamp_ms=START_MS), now_ms=START_MS)

    async with one_node(tmp_path, **SETTINGS) as it:
        it.topic("t", **COMPACT)
        many(it, "t")
        await meanwhile(again)(it)
        assert values(it.log("t")) == {0: (b"k", b"v")}
        data = [name for name in files(it, "t") if name.startswith("0")]
        assert data == [f"{0:020d}.log"]
        assert said.lines == []


async def test_a_new_topic_of_an_old_name_is_not_clean(tmp_path: Path, it: OneNode) -> None:
    it.topic("t", **COMPACT)
    fill(it, "t", b"a", b"a")
    assert await it.cleaner().clean_dirtiest()
    it.node.controller.delete_topic("t")
    it.topic("t", **COMPACT)
    assert checkpoint(tmp_path) == "0\n0\n"
    fill(it, "t", b"b", b"b")
    assert await it.cleaner().clean_dirtiest()
    assert values(it.log("t")) == {1: (b"b", b"1")}


async def test_a_node_that_closes_meanwhile_leaves_the_log_whole(tmp_path: Path) -> None:
    async with one_node(tmp_path, log_cleaner_backoff_ms="0") as it:
        it.topic("t", **COMPACT)
        many(it, "t")
        await until(lambda: any(name.endswith(".cleaned") for name in files(it, "t")))
        directory = it.log("t").directory
    assert not any(name.endswith(".cleaned") for name in os.listdir(directory))
    async with one_node(tmp_path, **SETTINGS) as it:
        assert len(values(it.log("t"))) == 30_000
        assert not [name for name in files(it, "t") if name.endswith((".cleaned", ".swap"))]


def harmed(path: Path) -> bytes:
    """The content of the file after a bit is flipped."""
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    return bytes(data)


async def test_a_damaged_log_is_named_and_left_alone_and_others_are_compacted(
    it: OneNode, said: LogLines
) -> None:
    it.topic("harmed", **COMPACT)
    it.topic("sound", **COMPACT)
    for topic in ("harmed", "sound"):
        fill(it, topic, b"a", b"a")
    path = Path(it.log("harmed").directory, f"{0:020d}.log")
    data = harmed(path)
    cleaner = it.cleaner()
    assert await cleaner.clean_dirtiest()
    assert await cleaner.clean_dirtiest()
    assert not await cleaner.clean_dirtiest()
    assert values(it.log("sound")) == {1: (b"a", b"1")}
    (trouble,) = [line for line in said.lines if line[0] == "error"]
    assert trouble[2]["topic"] == "harmed"
    assert str(path) in trouble[2]["reason"]
    assert harmed(path)[70] == data[70] ^ 1, "it was as before"


def by_the_log() -> Refused:
    refused = Refused(Code.KAFKA_STORAGE_ERROR, "a read failed: no space left")
    refused.__cause__ = OSError(28, "no space left")
    return refused


@pytest.mark.parametrize("failure", [OSError(28, "no space left"), by_the_log()])
async def test_a_disk_that_refuses_is_tried_again_after_a_while(
    tmp_path: Path, said: LogLines, failure: Exception
) -> None:
    files = RefusingFiles()

    async with one_node(tmp_path, WORK_LIMITS, files, log_cleaner_backoff_ms="1") as it:
        it.topic("t", **COMPACT)
        fill(it, "t", b"a", b"a")
        files.failure, files.left = failure, 1
        await until(lambda: is_clean(it, "t"))
        assert values(it.log("t")) == {1: (b"a", b"1")}
        assert [line[0] for line in said.lines] == ["error", "debug"]
        assert "no space left" in said.lines[0][2]["reason"]


async def test_a_disk_that_refuses_does_not_keep_the_cleaner_busy(
    tmp_path: Path, said: LogLines
) -> None:
    files = RefusingFiles()

    async with one_node(tmp_path, WORK_LIMITS, files, **SETTINGS) as it:
        it.topic("t", **COMPACT)
        fill(it, "t", b"a", b"a")
        cleaner = it.cleaner()
        files.failure = OSError(28, "no space left")
        assert await cleaner.clean_dirtiest()
        assert not await cleaner.clean_dirtiest()
        files.failure = None
        assert files.refused == 1
        assert len(said.lines) == 1
        assert sorted(values(it.log("t"))) == [0, 1]


def test_the_broker_decides_how_dirty_a_log_may_be(tmp_path: Path) -> None:
    async def scene(ratio: str) -> bool:
        settings = {**SETTINGS, "log_cleaner_min_cleanable_ratio": ratio}
        async with one_node(tmp_path / ratio, **settings) as it:
            it.topic("t", **COMPACT)
            fill(it, "t", b"a")
            await it.cleaner().clean_dirtiest()
            fill(it, "t", b"a")
            return await it.cleaner().clean_dirtiest()

    assert asyncio.run(scene("0.4"))
    assert not asyncio.run(scene("0.6"))


async def test_two_logs_are_compacted_side_by_side_and_each_once(it: OneNode) -> None:
    for topic in ("one", "other"):
        it.topic(topic, **COMPACT)
        many(it, topic)
    cleaner = it.cleaner()
    rounds = [asyncio.create_task(cleaner.clean_dirtiest()) for _ in range(3)]
    both = False
    while not all(round_.done() for round_ in rounds):
        await asyncio.sleep(0)
        being_written = [
            topic
            for topic in ("one", "other")
            if any(name.endswith(".cleaned") for name in files(it, topic))
        ]
        both = both or len(being_written) == 2
    assert both, "one waited for the other"
    assert sorted([await round_ for round_ in rounds]) == [False, True, True]
    for topic in ("one", "other"):
        assert sorted(values(it.log(topic))) == [*range(29_950, 30_000)]


def test_how_many_work_side_by_side_may_change(tmp_path: Path) -> None:
    async def scene() -> None:
        settings = {"log_cleaner_backoff_ms": "1", "log_cleaner_threads": "2"}
        async with one_node(tmp_path, **settings) as it:

            def are_at_work(count: int) -> bool:
                tasks = [task for task in asyncio.all_tasks() if "Cleaner._run" in repr(task)]
                return len(tasks) == count

            assert are_at_work(2)
            for number in (1, 2, 3):
                wanted = {"log.cleaner.threads": str(number)}
                it.node.controller.set_configs(4, "", wanted)
                await until(partial(are_at_work, number))
            it.topic("t", **COMPACT)
            fill(it, "t", b"a", b"a")
            await until(lambda: is_clean(it, "t"))

    asyncio.run(scene())


def test_the_cleaner_respects_its_io_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes forward where the cleaner rests, and a little when it looks at it."""
    now_s, counted = 100.0, 0
    count = Throttle.count

    async def rest(wait_ms: float) -> None:
        nonlocal now_s
        now_s += wait_ms / 1000
        await asyncio.sleep(0)

    def look() -> float:
        nonlocal now_s
        now_s += 0.00005
        return now_s

    def count_too(self: Throttle, size_bytes: int) -> None:
        nonlocal counted
        counted += size_bytes
        count(self, size_bytes)

    async def took_s(limit: str) -> float:
        nonlocal now_s, counted
        settings = {"log_cleaner_enable": "false", "log_cleaner_io_max_bytes_per_second": limit}
        async with one_node(tmp_path / limit, **settings) as it:
            it.topic("t", **COMPACT)
            many(it, "t")
            size_bytes = it.log("t").size_bytes
            await asyncio.sleep(0)  # the other timed jobs rest by the clock that it has now
            with monkeypatch.context() as patch:
                patch.setattr(it.clock, "sleep_ms", rest)
                patch.setattr(it.clock, "monotonic_s", look)
                patch.setattr(Throttle, "count", count_too)
                started_s, counted = now_s, 0
                assert await it.cleaner().clean_dirtiest()
            assert 2 * size_bytes < counted < 3 * size_bytes, "it is read twice, and written"
            return now_s - started_s

    unlimited_s = asyncio.run(took_s("1e300"))
    took = asyncio.run(took_s("100000"))
    # Bytes read since the last check cause no rest.
    assert 0.8 * counted / 100_000 < took < counted / 100_000 + 0.4
    assert unlimited_s < took / 4


def test_the_throttle_rests_until_the_rate_is_right() -> None:
    throttle = Throttle(10.0)
    throttle.count(1000)
    assert throttle.pause_s(1000, 10.25) == 0, "too early to say"
    assert throttle.pause_s(1000, 10.5) == 0.5
    throttle.count(100)
    assert throttle.pause_s(1000, 12.0) == 0, "slower than it may"
    assert throttle.pause_s(1000, 13.0) == 0


async def test_a_batch_with_a_broken_record_is_compacted_or_named_once(
    it: OneNode, said: LogLines
) -> None:
    """An earlier release stored such batches."""

    for number, middle in enumerate(broken_records.NAMED.values()):
        topic = f"t{number}"
        it.topic(topic, **COMPACT)
        fill(it, topic, b"a", b"a")
        sent = bytearray(broken_records.batch(middle, codec=number % 2))
        it.log(topic).append(sent, now_ms=START_MS, origin=Origin.COORDINATOR)
        fill(it, topic, b"a")
    cleaner = it.cleaner()
    for _ in range(2):
        while await cleaner.clean_dirtiest():
            pass
    errors = [fields for level, _, fields in said.lines if level == "error"]
    named = [fields["topic"] for fields in errors]
    clean = [name for name in map("t{}".format, range(number + 1)) if is_clean(it, name)]
    assert sorted(named + clean) == sorted(f"t{each}" for each in range(number + 1))
    assert named, "some cannot be read"
    assert all("offset 2" in fields["reason"] for fields in errors)
