"""A compaction that is stopped at any of its file operations: the log is the old one or the new."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ottla.protocol.batch import build
from ottla.protocol.records import Record
from ottla.storage.log import PartitionLog
from tests.storage.compacting import committed, compacted, open_compacted, values
from tests.storage.disk import Disk, PowerCut
from tests.storage.logs import DIRECTORY, NOW_MS, batch, end_of

END = 26


def some_history(disk: Disk) -> PartitionLog:
    """Superseded and aborted records, producers and tombstones, in segments that will be merged."""
    log = open_compacted(disk, segment_bytes=450, delete_retention_ms=1000)
    for number in range(5):
        sequence = 2 * number
        log.append(data(1, sequence, b"a", b"k%d" % number), now_ms=NOW_MS)
        log.append_marker(end_of(1, commit=number % 2 == 0), now_ms=NOW_MS)
        log.append(batch(b"plain", key=b"k%d" % (number % 2)), now_ms=NOW_MS)
    log.append(batch(None, key=b"k0"), now_ms=NOW_MS)
    for value in (b"1", b"2", b"3"):
        log.append(batch(value, key=b"b"), now_ms=NOW_MS)
    log.roll(NOW_MS)
    log.append(batch(b"active", key=b"b"), now_ms=NOW_MS)
    log.append(batch(b"active", key=b"c"), now_ms=NOW_MS)
    assert log.log_end_offset == END
    log.flush()
    return log


def data(producer_id: int, sequence: int, *keys: bytes) -> bytearray:
    return build(
        [(key, b"%d" % sequence) for key in keys], timestamp_ms=NOW_MS, producer_id=producer_id,
        producer_epoch=0, base_sequence=sequence, transactional=True,
    )  # fmt: skip


def newest(found: list[Record]) -> dict[bytes | None, bytes | None]:
    """The last value of each key for a reader from the start; a tombstone counts as no record."""
    by_key = {record.key: record.value for record in found}
    return {key: value for key, value in by_key.items() if value is not None}


def rounds(log: PartitionLog, disk: Disk) -> None:
    """Two, the second merges what the first made small and forgets what has had its time."""
    compacted(log, disk)
    compacted(log, disk, now_ms=NOW_MS + 2000)
    log.remove_deleted(NOW_MS)
    log.remove_deleted(NOW_MS + 10**9)


def operations() -> range:
    disk = Disk()
    log = some_history(disk)
    first = disk.operations + 1
    rounds(log, disk)
    assert [segment.base_offset for segment in log.segments][:1] == [0]
    return range(first, disk.operations + 1)


def check(disk: Disk, expected: dict[bytes | None, bytes | None], recovery_point: int) -> None:
    log = open_compacted(disk, segment_bytes=450, clean=False, recovery_point=recovery_point)
    assert newest(committed(log)) == expected
    assert (log.log_start_offset, log.log_end_offset) == (0, END)
    assert not [
        name
        for name in disk.names_in(DIRECTORY)
        if name.endswith((".cleaned", ".swap", ".deleted"))
    ]
    bases = [segment.base_offset for segment in log.segments]
    named = sorted(n for n in disk.names_in(DIRECTORY) if n.endswith(".log"))
    assert named == [f"{base:020d}.log" for base in bases]
    assert log.append(data(1, 10, b"next"), now_ms=NOW_MS).base_offset == END
    log.append_marker(end_of(1, commit=True), now_ms=NOW_MS)
    rounds(log, disk)
    assert newest(committed(log)) == {**expected, b"next": b"10"}


def expected_of(log: PartitionLog) -> dict[bytes | None, bytes | None]:
    return newest(committed(log))


OPERATIONS = operations()


def test_the_workload_is_worth_it(disk: Disk) -> None:
    log = some_history(disk)
    before, size = expected_of(log), len(log.segments)
    rounds(log, disk)
    assert expected_of(log) == before
    assert len(log.segments) < size
    assert len(values(log)) < 12
    assert len(OPERATIONS) > 60


@pytest.mark.parametrize(
    ("after", "recovery_point"),
    [(Disk.after_power_cut, 0), (Disk.after_power_cut, END), (Disk.after_kill, END)],
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_stop_at_any_operation_loses_nothing(
    operation: int, after: Callable[[Disk], Disk], recovery_point: int, disk: Disk
) -> None:
    log = some_history(disk)
    expected = expected_of(log)
    disk.cut_at = operation
    with pytest.raises(PowerCut):
        rounds(log, disk)
    check(after(disk), expected, recovery_point)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_that_fails_leaves_a_log_that_goes_on(operation: int, disk: Disk) -> None:
    log = some_history(disk)
    expected = expected_of(log)
    disk.fail_at = operation
    with pytest.raises(OSError, match="the disk failed"):
        rounds(log, disk)
    assert newest(committed(log)) == expected
    assert log.append(batch(b"on", key=b"later"), now_ms=NOW_MS).base_offset == END
    log.roll(NOW_MS)
    rounds(log, disk)
    assert newest(committed(log)) == {**expected, b"later": b"on"}
    log.close(clean=True)
    again = open_compacted(disk.after_kill(), segment_bytes=450)
    assert newest(committed(again)) == {**expected, b"later": b"on"}


def test_a_record_does_not_go_before_its_successor_is_on_disk() -> None:
    cut_at = 1
    while True:
        disk = Disk()
        log = open_compacted(disk, segment_bytes=80)
        log.append(batch(b"old", key=b"a"), now_ms=NOW_MS)
        log.roll(NOW_MS)
        log.flush()
        log.append(batch(b"new", key=b"a"), now_ms=NOW_MS)
        log.roll(NOW_MS)
        disk.cut_at = disk.operations + cut_at
        try:
            compacted(log, disk)
        except PowerCut:
            again = open_compacted(disk.after_power_cut(), clean=False)
            assert newest(committed(again)) in ({b"a": b"old"}, {b"a": b"new"})
            cut_at += 1
        else:
            break
    assert cut_at > 20
