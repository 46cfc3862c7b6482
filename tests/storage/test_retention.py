"""What `retention.ms` and `retention.bytes` leave over: whole segments, oldest first."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.storage.cleaning.retention import delete_old_segments
from ottla.storage.log import PartitionLog
from tests.storage.disk import Disk
from tests.storage.logs import DIRECTORY, NOW_MS, batch, end_of, in_transaction, open_log, ranges


def five_segments(disk: Disk | None = None, **settings: Any) -> PartitionLog:
    """One batch in each, a second apart; the last one is the active segment."""
    log = open_log(disk, segment_bytes=100, **settings)
    for number in range(5):
        log.append(batch(timestamp_ms=NOW_MS + 1000 * number, key=b"k"), now_ms=NOW_MS)
    return log


@pytest.mark.parametrize(
    ("waited_ms", "left"), [(0, 5), (1000, 5), (1001, 4), (3500, 2), (5000, 1), (5001, 0)]
)
def test_segments_go_when_their_newest_record_is_too_old(waited_ms: int, left: int) -> None:
    log = five_segments(retention_ms=1000)
    assert delete_old_segments(log, NOW_MS + waited_ms) == 5 - left
    assert len(ranges(log)) == left
    assert (log.log_start_offset, log.log_end_offset) == (5 - left, 5)


def test_an_old_segment_behind_a_young_one_stays() -> None:
    log = open_log(segment_bytes=100, retention_ms=1000)
    for time_ms in (9000, 0, 9000):
        log.append(batch(timestamp_ms=NOW_MS + time_ms), now_ms=NOW_MS)
    assert delete_old_segments(log, NOW_MS + 9500) == 0


@pytest.mark.parametrize(("waited_ms", "left"), [(1000, 2), (1001, 1), (1501, 0)])
def test_records_without_a_time_are_as_old_as_their_file(waited_ms: int, left: int) -> None:
    disk = Disk()
    log = open_log(disk, segment_bytes=100, retention_ms=1000)
    for disk.now_ms in (NOW_MS, NOW_MS + 500):
        log.append(batch(timestamp_ms=-1), now_ms=NOW_MS)
    delete_old_segments(log, NOW_MS + waited_ms)
    assert len(ranges(log)) == left


@pytest.mark.parametrize("left", [5, 4, 2, 1])
def test_segments_go_while_enough_bytes_are_left(left: int) -> None:
    size = len(batch(key=b"k"))
    log = five_segments(retention_bytes=left * size, retention_ms=-1)
    assert delete_old_segments(log, NOW_MS + 10**9) == 5 - left
    log.config = five_segments(retention_bytes=left * size - 1, retention_ms=-1).config
    assert delete_old_segments(log, NOW_MS) == 0, "less than that would be left"


def test_a_log_with_compaction_only_keeps_old_segments() -> None:
    log = five_segments(cleanup_policy=frozenset({"compact"}), retention_ms=1, retention_bytes=1)
    assert delete_old_segments(log, NOW_MS + 10**9) == 0


def test_an_emptied_log_goes_on_where_it_was_also_after_a_restart(disk: Disk) -> None:
    log = five_segments(disk, retention_ms=1000)
    assert delete_old_segments(log, NOW_MS + 10**9) == 5
    again = open_log(disk.after_kill(), clean=False)
    assert (again.log_start_offset, again.log_end_offset) == (5, 5)
    assert again.append(batch(), now_ms=NOW_MS).base_offset == 5
    files = {name for name in disk.names_in(DIRECTORY) if name.endswith((".log", ".index"))}
    assert files == {f"{5:020d}.log"}


def test_aborted_transactions_of_deleted_segments_are_forgotten() -> None:
    log = open_log(segment_bytes=200, retention_bytes=0, retention_ms=-1)
    for number in range(4):
        log.append(in_transaction(7, number), now_ms=NOW_MS)
        log.append_marker(end_of(7, commit=False), now_ms=NOW_MS)
    aborted = log._aborted
    assert len(aborted.ended_in(0, log.log_end_offset)) == 4
    assert delete_old_segments(log, NOW_MS) > 0
    left = aborted.ended_in(0, log.log_end_offset)
    assert left == aborted.ended_in(log.log_start_offset, log.log_end_offset)
    assert len(left) < 4
