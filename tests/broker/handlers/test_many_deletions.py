"""DeleteTopics of many topics or partitions: few appends, and directories renamed in slices."""

from __future__ import annotations

import asyncio
import math
from itertools import pairwise
from pathlib import Path

import pytest

from ottla.broker.events import MetadataDecisionAppended
from ottla.broker.runtime.work_limits import WORK_LIMITS
from ottla.broker.scheduling.turns import set_slice_s
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from tests.broker.one_node import OneNode, one_node, until

pytestmark = pytest.mark.real_time

MANY = 60
ALL_AT_ONCE = WORK_LIMITS._replace(logs_made_at_once=MANY)
NOT_LATER = ALL_AT_ONCE._replace(logs_wait_ms=10_000)


async def delete(it: OneNode, *names: str) -> list[Code]:
    fields = {"topic_names": list(names), "timeout_ms": 1000}
    answer = await it.ask(ApiKey.DELETE_TOPICS, 5, **fields)
    return [Code(each["error_code"]) for each in answer["responses"]]


def directories(path: Path) -> list[str]:
    """The directories of partitions that are not renamed."""
    return [each.name for each in path.glob("t*-*") if "." not in each.name]


async def dropped(it: OneNode, name: str = "t") -> asyncio.Task[list[Code]]:
    """A deletion whose record is written and whose directories are not renamed yet."""
    set_slice_s(0.0)
    deletion = asyncio.create_task(delete(it, name))
    await until(lambda: name not in it.node.catalog.topics)
    return deletion


async def test_the_topics_of_a_slice_are_deleted_by_few_batches(tmp_path: Path) -> None:
    set_slice_s(math.inf)
    async with one_node(tmp_path) as it:
        names = [f"t{number}" for number in range(MANY)]
        for name in names:
            it.topic(name)
        decisions: list[MetadataDecisionAppended] = []
        it.node.events.add(
            lambda event: (
                decisions.append(event) if isinstance(event, MetadataDecisionAppended) else None
            )
        )
        assert await delete(it, *names, "missing") == [
            Code.UNKNOWN_TOPIC_OR_PARTITION, *[Code.NONE] * MANY
        ]  # fmt: skip
        assert [len(each.records) for each in decisions] == [25, 25, 10]
        assert not directories(tmp_path)


async def test_the_directories_of_a_large_topic_are_renamed_in_slices(tmp_path: Path) -> None:
    async with one_node(tmp_path, NOT_LATER) as it:
        it.topic("t", MANY)
        deletion = await dropped(it)
        left = [len(directories(tmp_path))]
        while not deletion.done():
            await asyncio.sleep(0)
            left.append(len(directories(tmp_path)))
        assert await deletion == [Code.NONE]
        assert left[-1] == 0
        assert max(before - after for before, after in pairwise(left)) == 1


async def test_if_the_append_fails_no_topic_of_the_batch_is_deleted(
    tmp_path: Path, it: OneNode
) -> None:
    it.topic("t", 2)
    it.topic("t1")
    (tmp_path / ".lock").unlink()
    assert await delete(it, "t", "t1") == [Code.KAFKA_STORAGE_ERROR] * 2
    assert list(it.node.catalog.topics) == ["t", "t1"]
    assert len(directories(tmp_path)) == 3


async def test_a_deleted_topic_has_no_logs_though_its_directories_are_there(tmp_path: Path) -> None:
    async with one_node(tmp_path, NOT_LATER) as it:
        it.topic("t", MANY)
        it.append("t", b"a", partition=MANY - 1)
        deletion = await dropped(it)
        assert directories(tmp_path)
        assert it.node.open_log_of("t", MANY - 1) is None
        assert not [log for log in it.node.log_directory.logs() if log.topic == "t"]
        await deletion


async def test_a_new_topic_of_the_name_does_not_get_the_files_of_the_deleted_one(
    tmp_path: Path,
) -> None:
    async with one_node(tmp_path, NOT_LATER) as it:
        it.topic("t", MANY)
        for partition in range(MANY):
            it.append("t", b"a", partition=partition)
        deletion = await dropped(it)
        it.topic("t", MANY)
        logs = [it.log("t", partition) for partition in range(MANY)]
        assert [log.log_end_offset for log in logs] == [0] * MANY
        assert await deletion == [Code.NONE]
        assert [it.log("t", partition) for partition in range(MANY)] == logs
        assert len(directories(tmp_path)) == MANY


async def test_the_directories_are_renamed_though_the_client_is_gone(tmp_path: Path) -> None:
    async with one_node(tmp_path, ALL_AT_ONCE) as it:
        it.topic("t", MANY)
        deletion = await dropped(it)
        deletion.cancel()
        assert directories(tmp_path)
        await until(lambda: not directories(tmp_path))


async def test_a_stop_renames_the_directories_that_are_left(tmp_path: Path) -> None:
    async with one_node(tmp_path, NOT_LATER) as it:
        it.topic("t", MANY)
        deletion = await dropped(it)
        assert directories(tmp_path)
        deletion.cancel()
    assert not directories(tmp_path)


async def test_after_a_crash_the_next_start_sets_the_directories_aside(tmp_path: Path) -> None:
    it = OneNode(tmp_path, {}, limits=NOT_LATER)
    it.topic("t", MANY)
    it.append("t", b"a")
    deletion = await dropped(it)
    deletion.cancel()
    assert directories(tmp_path)
    it.node.close(clean=False)
    async with one_node(tmp_path) as again:
        assert not again.node.catalog.topics
        assert not directories(tmp_path)
        again.topic("t")
        assert again.log("t").log_end_offset == 0
