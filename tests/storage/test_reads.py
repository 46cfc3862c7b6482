"""Much is read when it is sent: the same bytes, whatever became of the log meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ottla.storage.disk.open_files import OpenFiles
from ottla.storage.log import PartitionLog
from ottla.storage.segments.reads import FileRange, Found, ReadLimits
from tests.storage.compacting import compacted, log_of
from tests.storage.disk import CountingDisk, Disk
from tests.storage.logs import DIRECTORY, NOW_MS, batch, open_log

SMALL = 300  # of segments, so that there are a few


def filled(disk: Disk, count: int = 12, **settings: Any) -> PartitionLog:
    """A log of batches of one to three records of rising sizes."""
    log = open_log(disk, segment_bytes=SMALL, **settings)
    for number in range(count):
        log.append(batch(*[b"v" * number] * (1 + number % 3)), now_ms=NOW_MS)
    return log


def whole(found: Found) -> tuple[bytes, int]:
    """Read in parts of seven bytes, if it is read later."""
    records = found.records
    if not isinstance(records, FileRange):
        return bytes(records), found.next_offset
    size = len(records)
    parts = [records.part(at, min(7, size - at)) for at in range(0, size, 7)]
    return b"".join(parts), found.next_offset


def unverified(disk: Disk) -> PartitionLog:
    filled(disk).close(clean=True)
    return open_log(disk.after_kill(), segment_bytes=SMALL)


def with_gaps(disk: Disk) -> PartitionLog:
    pairs = [(b"k%d" % (number % 4), b"v" * number) for number in range(20)]
    log = log_of(disk, *pairs, segment_bytes=SMALL)
    compacted(log, disk)
    return log


LOGS: dict[str, Callable[[Disk], PartitionLog]] = {
    "new": filled,
    "unverified": unverified,
    "compacted": lambda disk: with_gaps(disk),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_deferred_read_returns_the_same_bytes_as_an_immediate_one(name: str) -> None:
    log, twin = LOGS[name](Disk()), LOGS[name](Disk())
    sizes = [1, 60, 61, 70, 100, 150, 200, 290, 300, 1000]
    for offset in range(log.log_start_offset, log.log_end_offset):
        for up_to in {log.log_end_offset, max(log.log_end_offset - 4, 0)}:
            for max_bytes in sizes:
                for min_one in (True, False):
                    limits = ReadLimits(max_bytes, up_to, min_one)
                    at_once, later = (
                        twin.find(offset, limits),
                        log.find(offset, limits._replace(at_once=0)),
                    )
                    assert whole(later) == whole(at_once), (offset, limits)
                    assert isinstance(later.records, FileRange) == (len(at_once.records) > 0)


def test_only_reads_above_the_limit_are_deferred() -> None:
    log = filled(Disk())
    size = len(log.find(0, ReadLimits(1000, 12)).records)
    assert isinstance(log.find(0, ReadLimits(1000, 12, at_once=size - 1)).records, FileRange)
    assert isinstance(log.find(0, ReadLimits(1000, 12, at_once=size)).records, bytes)


def test_a_deferred_read_reads_only_a_few_headers_first() -> None:
    disk = CountingDisk()
    log = open_log(disk, index_interval_bytes=4096)
    for _ in range(300):
        log.append(batch(bytes(1000)), now_ms=NOW_MS)
    before = disk.bytes_read
    found = log.find(0, ReadLimits(200_000, 300, at_once=0))
    assert 198_000 < len(found.records) <= 200_000
    assert disk.bytes_read - before < 20_000


ENDS: dict[str, Callable[[Disk, PartitionLog], None]] = {
    "its records are deleted": lambda _, log: _delete(log),
    "its topic is deleted": lambda disk, log: _close_and_remove(disk, log),
}


def _delete(log: PartitionLog) -> None:
    log.delete_records(log.log_end_offset)
    log.remove_deleted(NOW_MS)
    log.remove_deleted(NOW_MS + 10_000_000)


def _close_and_remove(disk: Disk, log: PartitionLog) -> None:
    log.close(clean=False)
    for path in [path for path in disk.files if path.startswith(f"{DIRECTORY}/")]:
        disk.remove(path)


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("name", ENDS)
def test_a_pending_answer_survives_the_removal_of_its_file(name: str, is_open: bool) -> None:
    disk = Disk()
    log = filled(disk)
    expected = whole(log.find(0, ReadLimits(SMALL, 12)))
    later = log.find(0, ReadLimits(SMALL, 12, at_once=0))
    if not is_open:  # it was one of too many open files
        log.segments[0].close_for_now()
    ENDS[name](disk, log)
    assert whole(later) == expected
    opened = len(disk.opened)
    del later
    assert len(disk.opened) == opened - 1, "the file is closed with the last range of it"


def test_a_file_with_two_ranges_stays_open_until_both_are_gone(disk: Disk) -> None:
    log = filled(disk)
    expected = whole(log.find(0, ReadLimits(SMALL, 12)))
    one, two = (log.find(0, ReadLimits(SMALL, 12, at_once=0)) for _ in range(2))
    _delete(log)
    del one
    assert whole(two) == expected


def test_too_many_open_files_are_closed_under_a_range_and_opened_again() -> None:
    few = OpenFiles(limit=2)
    disk = Disk(open_files=few)
    log, twin = filled(disk), filled(Disk(open_files=few))
    found, offset = [], 0
    while offset < log.log_end_offset:
        found.append(log.find(offset, ReadLimits(SMALL, 1000, at_once=0)))
        offset = found[-1].next_offset
    assert len(found) > 3
    assert len(disk.opened) <= 2
    offset = 0
    for later in found:
        assert whole(later) == whole(twin.find(offset, ReadLimits(SMALL, 1000)))
        offset = later.next_offset
    assert len(disk.opened) <= 2


def test_a_file_that_became_shorter_is_an_error_and_not_fewer_bytes(disk: Disk) -> None:
    log = filled(disk)
    later = log.find(0, ReadLimits(SMALL, 12, at_once=0))
    assert isinstance(later.records, FileRange)
    del disk.files[log.segments[0].path(".log")].data[50:]
    assert len(later.records.part(0, 50)) == 50
    with pytest.raises(OSError, match="the file has 30 bytes at position 20, not 31"):
        later.records.part(20, 31)
