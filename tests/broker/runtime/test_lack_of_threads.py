"""A moment without threads or memory: one line, and the next attempt works."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.runtime.work_limits import WORK_LIMITS
from ottla.broker.upkeep.background import Background, _repeat
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.storage.disk.files import RealFiles
from ottla.storage.log import PartitionLog
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode, one_node, until
from tests.clocks import LoopClock
from tests.log_lines import LogLines
from tests.storage.logs import batch

pytestmark = pytest.mark.real_time

LACKS = [RuntimeError("can't start new thread"), MemoryError("no memory")]


class NoThreads(ThreadPoolExecutor):
    """Takes work and cannot start a thread for it, as the library's does then."""

    def __init__(self, lack: Exception) -> None:
        super().__init__(1)
        self.lack: Exception | None = lack
        self.taken: list[Callable[..., Any]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        if self.lack is None:
            return super().submit(fn, *args, **kwargs)
        self.taken.append(fn)
        raise self.lack


class LackingFiles(RealFiles):
    """Files for which something lacks.

    Attributes:
        of_opens, of_syncs: what they raise; None: they work.
    """

    def __init__(self) -> None:
        self.of_opens: Exception | None = None
        self.of_syncs: Exception | None = None

    def open(self, path: str, /) -> int:
        if self.of_opens is not None:
            raise self.of_opens
        return super().open(path)

    def sync(self, descriptor: int, /) -> None:  # type: ignore[override]  # os takes more
        if self.of_syncs is not None:
            raise self.of_syncs
        os.fdatasync(descriptor)


@pytest.mark.parametrize("lack", LACKS, ids=repr)
async def test_a_flush_without_a_thread_is_refused_and_the_next_one_works(
    it: OneNode, lack: Exception, log_lines: LogLines
) -> None:
    it.topic("orders", flush_messages="1")
    log, flushes = it.log("orders"), it.node.flushes
    pool = flushes._pool = NoThreads(lack)
    it.append("orders", b"x")
    refused = await flushes.flushed(log)
    assert refused is not None
    assert log.failure is None
    assert not flushes.is_busy
    ((level, event, fields),) = log_lines.of("flushes").lines
    assert (level, event) == ("error", "a log cannot be flushed")
    assert (fields["topic"], fields["reason"]) == ("orders", str(lack))
    assert fields["remedy"].startswith("the process lacks threads, memory or open files")
    pool.lack = None
    it.append("orders", b"y")
    assert await flushes.flushed(log) is None
    assert log.recovery_point == 2
    for work in pool.taken:  # a thread that starts later finds it
        work()
    assert log.recovery_point == 2
    it.append("orders", b"z")
    assert await flushes.flushed(log) is None


@pytest.mark.parametrize("lack", [*LACKS, OSError(5, "Input/output error")], ids=repr)
async def test_a_timed_job_that_fails_for_one_log_goes_on_with_the_others(
    it: OneNode, lack: Exception
) -> None:
    it.topic("orders", 3)
    background: Background = it.node.cluster._background
    visited: list[int] = []

    def job(log: PartitionLog) -> Iterator[None]:
        if log.topic == "orders":
            visited.append(log.partition)
            if log.partition == 1 and visited.count(1) == 1:
                raise lack
        yield

    going = asyncio.ensure_future(
        _repeat("a job", it.clock, 1, 1, partial(background._over_all_logs, job))
    )
    await until(lambda: visited.count(1) > 1 and visited.count(2) > 1)
    going.cancel()
    assert visited[:3] == [0, 1, 2]


async def test_a_flush_that_cannot_open_a_file_is_refused_and_the_next_one_works(
    tmp_path: Path, log_lines: LogLines
) -> None:
    files = LackingFiles()
    async with one_node(tmp_path, WORK_LIMITS, files) as it:
        it.topic("orders", flush_messages="1")
        log, flushes = it.log("orders"), it.node.flushes
        it.append("orders", b"x")
        assert await flushes.flushed(log) is None
        log.roll(START_MS)  # so that a flush has other files to open
        files.of_opens = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        it.append("orders", b"y")
        assert await flushes.flushed(log) is not None
        files.of_opens = None
        assert log.failure is None
        ((_, _, fields),) = log_lines.of("flushes").lines
        assert fields["remedy"].startswith("the process lacks threads, memory or open files")
        it.append("orders", b"z")
        assert await flushes.flushed(log) is None
        assert log.recovery_point == 3


async def test_a_flush_that_lacks_memory_in_its_thread_is_refused_and_the_next_one_works(
    tmp_path: Path, log_lines: LogLines
) -> None:
    files = LackingFiles()
    async with one_node(tmp_path, WORK_LIMITS, files) as it:
        it.topic("orders", flush_messages="1")
        log, flushes = it.log("orders"), it.node.flushes
        files.of_syncs = MemoryError()
        it.append("orders", b"x")
        assert await flushes.flushed(log) is not None
        files.of_syncs = None
        assert log.failure is None
        assert not flushes.is_busy
        ((_, event, fields),) = log_lines.of("flushes").lines
        assert (event, fields["reason"]) == ("a log cannot be flushed", "MemoryError")
        it.append("orders", b"y")
        assert await flushes.flushed(log) is None
        assert log.recovery_point == 2


@pytest.mark.parametrize("lack", LACKS, ids=repr)
async def test_checkpoints_without_a_thread_are_logged_once_and_written_the_next_time(
    tmp_path: Path, it: OneNode, log_lines: LogLines, lack: Exception
) -> None:
    it.topic("orders")
    it.append("orders", b"x", b"y")
    pool = NoThreads(lack)
    asyncio.get_running_loop().set_default_executor(pool)
    parts = [{"partition_index": 0, "offset": 1}]
    topics = [{"name": "orders", "partitions": parts}]
    answer = await it.ask(ApiKey.DELETE_RECORDS, 2, topics=topics, timeout_ms=1000)
    (told,) = answer["topics"][0]["partitions"]
    assert told["error_code"] == Code.KAFKA_STORAGE_ERROR
    background: Background = it.node.cluster._background
    await background._write_checkpoints()
    lines = [line for line in log_lines.lines if line[0] == "error"]
    assert [event for _, event, _ in lines] == [
        "the new start offsets of logs cannot be saved",
        "the checkpoints cannot be written",
    ]
    assert all(str(lack) in fields["reason"] for _, _, fields in lines)
    pool.lack = None
    answer = await it.ask(ApiKey.DELETE_RECORDS, 2, topics=topics, timeout_ms=1000)
    (told,) = answer["topics"][0]["partitions"]
    assert (told["error_code"], told["low_watermark"]) == (Code.NONE, 1)
    for work in pool.taken:  # a thread that starts later finds it
        work()
    assert starts_in(tmp_path) == ["orders 0 1"]


async def test_a_timed_job_goes_on_after_any_exception(log_lines: LogLines) -> None:
    times = 0

    async def job() -> None:
        nonlocal times
        times += 1
        if times == 1:
            raise MemoryError
        if times == 2:
            raise KeyError("orders")

    going = asyncio.ensure_future(_repeat("retention", LoopClock(), 1, 1, job))
    await until(lambda: times >= 3)
    going.cancel()
    assert log_lines.of("background").lines == [
        ("error", "a timed job fails", {"job": "retention", "reason": "MemoryError"}),
        ("error", "a timed job fails", {"job": "retention", "reason": "'orders'"}),
    ]


@pytest.mark.parametrize("lack", LACKS, ids=repr)
async def test_a_log_that_could_not_be_compacted_for_lack_of_resources_is_compacted_later(
    tmp_path: Path, log_lines: LogLines, lack: Exception
) -> None:
    settings = {"log_cleaner_backoff_ms": "1"}
    async with one_node(tmp_path, **settings) as it:
        it.topic("table", cleanup_policy="compact", min_cleanable_dirty_ratio="0")
        log = it.log("table")
        pool = NoThreads(lack)
        asyncio.get_running_loop().set_default_executor(pool)
        for _ in range(2):
            log.append(batch(b"v", key=b"k"), now_ms=START_MS)
            log.roll(START_MS)
        await until(lambda: bool(log_lines.of("cleaner").lines))
        assert log_lines.of("cleaner").lines[0][1] == "the cleaner cannot compact a log now"
        pool.lack = None
        await until(lambda: it.node.log_directory.cleaned_up_to(log) == 2)


def starts_in(directory: Path) -> list[str]:
    lines = (directory / "log-start-offset-checkpoint").read_text().splitlines()
    return [line.strip() for line in lines[2:]]
