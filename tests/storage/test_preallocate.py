"""`preallocate`: a segment takes its room at once and gives back what it did not need.

A segment that Apache Kafka preallocated and was killed on ends in zeros; nothing is lost by them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ottla.storage.disk.damage import Damage
from ottla.storage.disk.files import RealFiles
from ottla.storage.disk.reservation import reserve
from ottla.storage.log import LogServices, PartitionLog
from ottla.storage.recovery.recovery import Stop
from tests.storage.disk import Disk
from tests.storage.logs import DIRECTORY, NOW_MS, batch, config, everything, open_log

SEGMENT_BYTES = 1 << 20
FIRST = f"{0:020}.log"
NAME = "t-0"
BLOCK = 512


def opened(directory: Path, *, clean: bool, preallocate: bool = True) -> PartitionLog:
    (directory / NAME).mkdir(exist_ok=True)
    return PartitionLog(
        LogServices(RealFiles(), str(directory)),
        "t",
        0,
        config=config(preallocate=preallocate, segment_bytes=SEGMENT_BYTES),
        stop=Stop(clean),
        now_ms=NOW_MS,
    )


def room(path: Path) -> int:
    """The size of the file on disk, in bytes."""
    return path.stat().st_blocks * BLOCK


@pytest.fixture(autouse=True)
def can_reserve(tmp_path: Path) -> None:
    descriptor = RealFiles().open(str(tmp_path / "try"))
    try:
        reserve(descriptor, 4096)
    except OSError as refused:
        pytest.skip(f"this file system sets no room aside: {refused}")
    finally:
        os.close(descriptor)


def test_a_segment_takes_its_room_at_once_and_its_file_ends_with_its_data(tmp_path: Path) -> None:
    log = opened(tmp_path, clean=True)
    data = batch(b"v" * 100)
    log.append(data, now_ms=NOW_MS)
    assert room(tmp_path / NAME / FIRST) >= SEGMENT_BYTES
    assert (tmp_path / NAME / FIRST).stat().st_size == len(data)
    log.roll(NOW_MS)
    assert room(tmp_path / NAME / FIRST) <= 4096, "the room that was not needed is given back"
    assert room(tmp_path / NAME / f"{1:020}.log") >= SEGMENT_BYTES
    log.append(data, now_ms=NOW_MS)
    log.close(clean=True)
    assert room(tmp_path / NAME / f"{1:020}.log") <= 4096


def test_without_the_setting_nothing_is_taken(tmp_path: Path) -> None:
    log = opened(tmp_path, clean=True, preallocate=False)
    log.append(batch(b"v"), now_ms=NOW_MS)
    assert room(tmp_path / NAME / FIRST) <= 4096
    log.close(clean=True)


def test_a_kill_loses_nothing_and_preallocated_space_is_released(tmp_path: Path) -> None:
    log = opened(tmp_path, clean=True)
    log.append(batch(b"v"), now_ms=NOW_MS)
    log.close(clean=False)  # as a kill leaves it
    assert room(tmp_path / NAME / FIRST) >= SEGMENT_BYTES
    again = opened(tmp_path, clean=False)
    assert again.log_end_offset == 1
    again.append(batch(b"w"), now_ms=NOW_MS)
    again.close(clean=True)
    assert room(tmp_path / NAME / FIRST) <= 4096
    assert [header.base_offset for header, _ in everything(opened(tmp_path, clean=True))] == [0, 1]


def test_a_disk_that_sets_no_room_aside_is_written_to_all_the_same(disk: Disk) -> None:
    disk.reserve = _refuse  # type: ignore[method-assign]  # the test changes its fake disk
    log = open_log(disk, preallocate=True)
    log.append(batch(b"v"), now_ms=NOW_MS)
    log.roll(NOW_MS)
    log.append(batch(b"v"), now_ms=NOW_MS)
    assert log.log_end_offset == 2


def _refuse(descriptor: int, size_bytes: int, /) -> None:
    raise OSError(95, "not supported")


@pytest.mark.parametrize("synced", [0, 1, 2], ids=["nothing", "some", "all"])
def test_zeros_behind_the_data_are_cut_off_after_a_kill(synced: int, disk: Disk) -> None:
    log = open_log(disk)
    for _ in range(2):
        log.append(batch(b"v" * 50), now_ms=NOW_MS)
    path = f"{DIRECTORY}/{FIRST}"
    left = disk.after_kill()
    whole = left.size(path)
    left.files[path].data += bytes(SEGMENT_BYTES - whole)
    damages: list[Damage] = []
    again = open_log(left, clean=False, recovery_point=synced, report=damages.append)
    assert again.log_end_offset == 2
    assert damages == []
    again.append(batch(b"w"), now_ms=NOW_MS)
    assert len(everything(again)) == 3
    assert left.size(path) < 2 * whole
