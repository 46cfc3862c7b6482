"""When a broker writes a snapshot of its metadata, and what can go wrong with it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ottla.broker.runtime.work_limits import WORK_LIMITS
from ottla.storage.inspection.directory_inspection import inspect_directory
from tests.broker.one_node import OneNode, one_node, until
from tests.broker.refusing_files import RefusingFiles
from tests.log_lines import LogLines

pytestmark = pytest.mark.real_time

OFTEN = {
    "metadata_log_max_record_bytes_between_snapshots": "500",
    "metadata_max_retention_bytes": "1",
}
PLACE = "__cluster_metadata-0"


@pytest.fixture
def said(log_lines: LogLines) -> LogLines:
    return log_lines.of("metadata")


def snapshots(directory: Path, suffix: str = ".checkpoint") -> list[str]:
    return sorted(path.name for path in (directory / PLACE).glob(f"*{suffix}"))


def topics(it: OneNode, first: int, count: int) -> None:
    for number in range(first, first + count):
        it.topic(f"topic-{number}")


async def test_decisions_bring_one_and_the_next_start_needs_no_more(tmp_path: Path) -> None:
    async with one_node(tmp_path, **OFTEN) as it:
        await until(lambda: bool(snapshots(tmp_path)))
        first = snapshots(tmp_path)
        topics(it, 0, 10)
        await until(lambda: first[0] not in snapshots(tmp_path))
        assert len(snapshots(tmp_path)) > 0, "it went because another one is there"
        topics(it, 10, 1)
        expected = set(it.node.catalog.topics)
    async with one_node(tmp_path) as it:
        assert set(it.node.catalog.topics) == expected


async def test_a_few_topics_cause_no_snapshot_by_default(tmp_path: Path) -> None:
    async with one_node(tmp_path) as it:
        topics(it, 0, 20)
        await asyncio.sleep(0.01)
    assert snapshots(tmp_path) == []


async def test_records_written_during_a_snapshot_are_kept(tmp_path: Path) -> None:
    async with one_node(tmp_path, **OFTEN) as it:
        for number in range(100):
            topics(it, number, 1)
            await asyncio.sleep(0)
        await until(lambda: bool(snapshots(tmp_path)))
    async with one_node(tmp_path) as it:
        assert len(it.node.catalog.topics) == 100


async def test_a_broker_that_stops_meanwhile_leaves_nothing_half_done(tmp_path: Path) -> None:
    async with one_node(tmp_path, **OFTEN) as it:
        topics(it, 0, 50)
        await asyncio.sleep(0)
    assert snapshots(tmp_path, ".part") == []
    async with one_node(tmp_path) as it:
        assert len(it.node.catalog.topics) == 50


async def test_a_failed_snapshot_is_logged_and_retried_after_the_next_record(
    tmp_path: Path, said: LogLines
) -> None:
    files = RefusingFiles()

    async with one_node(tmp_path) as it:
        await asyncio.sleep(0.01)
    async with one_node(tmp_path, WORK_LIMITS, files, **OFTEN) as it:
        files.failure = OSError(28, "no space left")
        await until(lambda: bool(said.lines))
        files.failure = None
        level, _, fields = said.lines[0]
        assert (level, "no space left" in fields["reason"]) == ("error", True)
        assert snapshots(tmp_path) == []
        topics(it, 0, 10)
        await until(lambda: bool(snapshots(tmp_path)))


async def test_a_damaged_snapshot_is_found_by_an_inspection_of_the_directory(
    tmp_path: Path,
) -> None:
    async with one_node(tmp_path, **OFTEN):
        await until(lambda: bool(snapshots(tmp_path)))
    assert inspect_directory(str(tmp_path)).damages == []
    (name,) = snapshots(tmp_path)
    path = tmp_path / PLACE / name
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    assert [damage.file for damage in inspect_directory(str(tmp_path)).damages] == [str(path)]
