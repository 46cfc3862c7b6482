"""A moment without threads or memory: one line, and the next attempt works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.upkeep.background import Background
from ottla.storage.log import PartitionLog
from tests.broker.one_node import one_node, until
from tests.log_lines import LogLines

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


@pytest.mark.parametrize("lack", LACKS, ids=repr)
async def test_a_flush_without_a_thread_is_refused_and_the_next_one_works(
    tmp_path: Path, lack: Exception, log_lines: LogLines
) -> None:
    async with one_node(tmp_path) as it:
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
        assert fields["remedy"].startswith("the process lacks threads or memory")
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
    tmp_path: Path, lack: Exception
) -> None:
    async with one_node(tmp_path) as it:
        it.topic("orders", 3)
        background: Background = it.node.cluster._background
        visited: list[int] = []

        def job(log: PartitionLog) -> Iterator[None]:
            if log.topic == "orders":
                visited.append(log.partition)
                if log.partition == 1 and visited.count(1) == 1:
                    raise lack
            yield

        going = asyncio.ensure_future(background._over_all_logs(1, 1, job))
        await until(lambda: visited.count(1) > 1 and visited.count(2) > 1)
        going.cancel()
        assert visited[:3] == [0, 1, 2]
