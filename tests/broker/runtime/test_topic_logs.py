"""The logs of many new partitions: created beside requests, or on demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from ottla.broker.runtime.work_limits import WORK_LIMITS
from ottla.metadata.catalog import ResourceType
from ottla.protocol.errors import Code
from ottla.storage.disk.files import RealFiles
from tests.broker.one_node import OneNode, one_node, until

pytestmark = pytest.mark.real_time

MANY = 160
LAST = MANY - 1


def made(it: OneNode, topic: str = "t") -> set[int]:
    """The partitions that have a log."""
    return {log.partition for log in it.node.log_directory.logs() if log.topic == topic}


@asynccontextmanager
async def with_many_new(directory: Path) -> AsyncIterator[OneNode]:
    async with one_node(directory) as it:
        it.topic("t", MANY)
        yield it


async def turns_of_the_loop() -> None:
    for _ in range(MANY):
        await asyncio.sleep(0)


async def test_the_logs_of_many_new_partitions_are_made_while_others_have_their_turns(
    tmp_path: Path,
) -> None:
    async with with_many_new(tmp_path) as it:
        seen = [len(made(it))]
        async with asyncio.timeout(10):
            while seen[-1] < MANY:
                await asyncio.sleep(0)
                seen.append(len(made(it)))
        assert seen[0] == WORK_LIMITS.logs_made_at_once
        assert seen[-1] == MANY
        steps = [now - before for before, now in pairwise(seen)]
        assert max(steps) <= WORK_LIMITS.logs_made_in_a_turn


async def test_many_topics_that_follow_each_other_share_the_limit(it: OneNode) -> None:
    before = len(list(it.node.log_directory.logs()))
    for number in range(MANY):
        it.topic(f"t{number}", 1)
    logs = it.node.log_directory.logs
    assert len(list(logs())) - before == WORK_LIMITS.logs_made_at_once
    await until(lambda: len(list(logs())) - before == MANY)
    it.topic("next", 1)
    assert made(it, "next") == {0}


async def test_partitions_that_come_to_a_topic_wait_for_their_logs_too(it: OneNode) -> None:
    it.topic("t", 3)
    it.node.controller.create_partitions("t", MANY)
    assert 3 < len(made(it)) < MANY
    await until(lambda: len(made(it)) == MANY)


async def test_a_pending_log_is_created_on_demand(tmp_path: Path) -> None:
    async with with_many_new(tmp_path) as it:
        assert LAST not in made(it)
        it.append("t", b"a", partition=LAST)
        log = it.log("t", LAST)
        await until(lambda: len(made(it)) == MANY)
        assert it.log("t", LAST) is log
        assert log.log_end_offset == 1


async def test_a_log_that_waited_has_the_settings_that_hold_when_it_is_made(tmp_path: Path) -> None:
    async with with_many_new(tmp_path) as it:
        settings = {"segment.bytes": "1048577"}
        it.node.controller.set_configs(ResourceType.TOPIC, "t", settings)
        assert LAST not in made(it)
        assert it.log("t", LAST).config.segment_bytes == 1048577


async def test_a_topic_that_is_deleted_gets_no_more_logs(tmp_path: Path) -> None:
    async with with_many_new(tmp_path) as it:
        it.node.controller.delete_topic("t")
        it.topic("u", MANY)
        await until(lambda: len(made(it, "u")) == MANY)
        assert not made(it)
        assert it.node.open_log_of("t", LAST) is None


async def test_logs_that_waited_at_a_stop_are_made_by_the_next_start(tmp_path: Path) -> None:
    async with with_many_new(tmp_path) as it:
        it.append("t", b"a", partition=LAST - 1)
        waited = set(range(MANY)) - made(it)
    await turns_of_the_loop()
    assert not (tmp_path / f"t-{LAST}").exists()
    async with one_node(tmp_path) as it:
        assert waited
        assert made(it) == set(range(MANY))
        assert it.log("t", LAST - 1).log_end_offset == 1


class LackingFiles(RealFiles):
    """There is no memory for one directory, for the first time."""

    lacks: str | None = None

    def make_directory(self, directory: str, /) -> None:
        if self.lacks is not None and directory.endswith(self.lacks):
            self.lacks = None
            raise MemoryError
        super().make_directory(directory)


async def test_a_log_without_memory_is_made_later_and_keeps_no_other_from_it(
    tmp_path: Path,
) -> None:
    files = LackingFiles()
    async with one_node(tmp_path, WORK_LIMITS, files) as it:
        files.lacks = "/t-120"
        it.topic("t", MANY)
        await until(lambda: LAST in made(it))
        assert made(it) == set(range(MANY)) - {120}
        it.append("t", b"a", partition=120)
        assert it.log("t", 120).log_end_offset == 1


async def test_a_log_that_cannot_be_made_does_not_keep_the_others_from_it(
    tmp_path: Path, it: OneNode
) -> None:
    (tmp_path / "t-120").write_text("in the way")
    it.topic("t", MANY)
    await until(lambda: LAST in made(it))
    assert made(it) == set(range(MANY)) - {120}
    assert it.node.why_missing("t", 120) == Code.KAFKA_STORAGE_ERROR
