"""A data directory, or a file in it, that is removed while the broker runs."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.upkeep.directory_watch import INTERVAL_S, LOGS_IN_A_LOOK, DirectoryWatch
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import build
from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog
from tests.broker.fakes import START_MS
from tests.broker.one_node import OneNode
from tests.clocks import LoopClock
from tests.log_lines import LogLines

BATCH = bytes(build([(None, b"v")], timestamp_ms=START_MS))


@asynccontextmanager
async def one_harmed_node(
    directory: Path, on_directory_gone: Callable[[str], None] | None = None
) -> AsyncIterator[OneNode]:
    """A node that cannot be closed well."""
    it = OneNode(directory, {}, on_directory_gone=on_directory_gone)
    try:
        yield it
    finally:
        with pytest.raises(OSError, match="was not closed cleanly"):
            it.node.close()


async def produced(it: OneNode, topic: str) -> Code:
    parts = [{"index": 0, "records": BATCH}]
    answer = await it.ask(
        ApiKey.PRODUCE, 7, transactional_id=None, acks=-1, timeout_ms=1000,
        topic_data=[{"name": topic, "partition_data": parts}],
    )  # fmt: skip
    return Code(answer["responses"][0]["partition_responses"][0]["error_code"])


class FailingDirectory:
    """A directory on a disk that cannot always say whether it is there."""

    path = "/data"

    def __init__(self, *answers: bool | OSError) -> None:
        self.answers = [*answers]

    def exists(self) -> bool:
        answer = self.answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    def logs(self) -> Iterator[PartitionLog]:
        return iter(())


async def test_a_failing_disk_does_not_end_the_watch() -> None:
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, context: faults.append(context["exception"])
    )
    failure = OSError(errno.EIO, os.strerror(errno.EIO))
    directory: Any = FailingDirectory(True, failure, True, False)
    gone: list[str] = []
    watch = DirectoryWatch(directory, LoopClock(), gone.append)
    watch.start()
    await asyncio.sleep(3.5 * INTERVAL_S)
    assert faults == [failure]
    assert not gone
    await asyncio.sleep(3 * INTERVAL_S)
    assert gone == ["/data"]
    assert not directory.answers, "after that it looks no more"


@pytest.mark.parametrize("how", ["removed", "renamed", "replaced"])
async def test_a_removed_directory_is_noticed_at_the_next_check_and_logged_once(
    tmp_path: Path, how: str
) -> None:
    data = tmp_path / "data"
    gone: list[str] = []
    async with one_harmed_node(data, gone.append) as it:
        it.topic("orders")
        await asyncio.sleep(3 * INTERVAL_S)
        assert not gone
        data.rename(tmp_path / "away") if how == "renamed" else shutil.rmtree(data)
        if how == "replaced":
            data.mkdir()
        await asyncio.sleep(INTERVAL_S)
        assert gone == [str(data)]
        await asyncio.sleep(3 * INTERVAL_S)
        assert gone == [str(data)]


async def test_nothing_is_made_in_a_directory_that_is_gone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with one_harmed_node(data) as it:
        topic = it.topic("orders")
        shutil.rmtree(data)
        with pytest.raises(Refused, match="KAFKA_STORAGE_ERROR"):
            it.topic("late")
        with pytest.raises(Refused, match="KAFKA_STORAGE_ERROR"):
            it.node.controller.create_partitions("orders", 3)
        with pytest.raises(FileNotFoundError, match=str(data)):
            it.node.log_directory.open_log(
                "orders", 1, topic_id=topic.topic_id, config=it.log("orders").config, now_ms=0
            )
        assert not data.exists()


@pytest.mark.parametrize("what", ["file", "directory"])
async def test_a_removed_file_stops_appends_to_its_partition_only(
    tmp_path: Path, what: str, log_lines: LogLines
) -> None:
    gone: list[str] = []
    async with one_harmed_node(tmp_path, gone.append) as it:
        watch = it.node.cluster.directory_watch
        for topic in ("harmed", "well"):
            it.topic(topic)
            assert await produced(it, topic) is Code.NONE
        if what == "file":
            (tmp_path / f"harmed-0/{0:020d}.log").unlink()
        else:
            shutil.rmtree(tmp_path / "harmed-0")
        assert watch.look()
        assert watch.look()
        assert await produced(it, "harmed") is Code.KAFKA_STORAGE_ERROR
        assert await produced(it, "well") is Code.NONE
        assert not gone
        events = [event for _, event, _ in log_lines.of("storage").lines]
        assert events.count("a data file was removed while the broker runs") == 1


async def test_all_logs_are_looked_at_in_turn(tmp_path: Path) -> None:
    async with one_harmed_node(tmp_path) as it:
        count = LOGS_IN_A_LOOK + 1
        it.topic("many", count)
        for partition in range(count):
            it.append("many", b"v", partition=partition)
        watch = it.node.cluster.directory_watch
        (tmp_path / f"many-{count - 1}/{0:020d}.log").unlink()
        for _ in range(2):
            assert watch.look()
        failed = [index for index in range(count) if it.log("many", index).failure]
        assert failed == [count - 1]
