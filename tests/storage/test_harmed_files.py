"""Files that are lost, or damaged in unsynced parts: the log serves the rest and reports the loss.

A start after an unclean end cuts off what a write left that did not come to its end, and says
nothing. A damaged batch that was complete before is cut off too, because what is
behind it is unknown. The log reports that.
"""

from __future__ import annotations

from typing import Any

import pytest

from ottla.protocol.batch import headers_in
from ottla.protocol.errors import Refused
from ottla.storage.disk.damage import Damage
from ottla.storage.log import PartitionLog
from tests.storage.disk import Disk
from tests.storage.logs import DIRECTORY, NOW_MS, batch, open_log, ranges

SETTINGS: dict[str, Any] = {"segment_bytes": 210}  # three batches
FILE = f"{DIRECTORY}/{0:020d}.log"


def killed(count: int = 2) -> Disk:
    disk = Disk()
    log = open_log(disk, **SETTINGS)
    for _ in range(count):
        log.append(batch(b"v"), now_ms=NOW_MS)
    return disk.after_kill()


def opened(disk: Disk, *, clean: bool = False) -> tuple[PartitionLog, list[Damage]]:
    told: list[Damage] = []
    return open_log(disk, clean=clean, report=told.append, **SETTINGS), told


def positions(disk: Disk) -> list[int]:
    return [position for position, _ in headers_in(disk.read(FILE))]


def test_the_end_of_a_write_that_was_cut_short_is_cut_off_without_a_word() -> None:
    whole = killed()
    first, second = positions(whole)
    for size in range(second, whole.size(FILE)):
        for zeros in (0, 100):
            disk = whole.after_kill()
            del disk.files[FILE].data[size:]
            if zeros and size > second + 45:
                continue  # it looks like a whole batch: see below
            disk.files[FILE].data.extend(bytes(zeros))
            log, told = opened(disk)
            assert ranges(log) == [(0, 0)]
            assert disk.size(FILE) == second > first
            assert told == []


def test_a_flipped_bit_in_the_last_batch_is_logged_when_the_batch_is_cut_off() -> None:
    whole = killed()
    _, second = positions(whole)
    for position in range(second, whole.size(FILE)):
        for bit in range(8):
            disk = whole.after_kill()
            disk.files[FILE].data[position] ^= 1 << bit
            log, told = opened(disk)
            if position in range(second + 12, second + 16):  # the leader epoch is no matter
                continue
            assert ranges(log) == [(0, 0)]
            (damage,) = told
            assert (damage.file, damage.position, damage.first_offset) == (FILE, second, 1)
            assert "cut off" in damage.why


def test_files_removed_with_a_damaged_one_are_logged() -> None:
    disk = killed(8)
    disk.files[FILE].data[30] ^= 1
    log, told = opened(disk)
    assert ranges(log) == []
    (damage,) = told
    assert "2 more files" in damage.why
    assert (damage.file, damage.first_offset, damage.end_offset) == (FILE, 0, 6)


def test_a_missing_segment_is_reported_and_no_reader_skips_it(disk: Disk) -> None:
    log = open_log(disk, **SETTINGS)
    for _ in range(8):
        log.append(batch(b"v"), now_ms=NOW_MS)
    log.close(clean=True)
    disk = disk.after_kill()
    del disk.files[f"{DIRECTORY}/{3:020d}.log"]
    log, told = opened(disk, clean=True)
    read = log.read(0, max_bytes=10_000, up_to=8, min_one=True)
    assert read.next_offset == 3
    assert log.read(1, max_bytes=10_000, up_to=8, min_one=True).next_offset == 3
    with pytest.raises(Refused, match=f"{FILE}: the file ends too early"):
        log.read(3, max_bytes=10_000, up_to=8, min_one=True)
    (damage,) = told
    assert (damage.first_offset, damage.end_offset) == (3, 6)
    assert log.read(6, max_bytes=10_000, up_to=8, min_one=True).next_offset == 8
