"""What compaction and older brokers leave behind is no damage; what cannot be so is."""

from __future__ import annotations

import pytest

from ottla.storage.inspection.partition_inspection import inspect_partition
from ottla.storage.log import PartitionLog
from ottla.storage.producer_state import aborted
from ottla.storage.producer_state.aborted import AbortedTransaction
from tests.storage.compacting import COMPACT, compacted, open_compacted, values
from tests.storage.disk import Disk
from tests.storage.logs import DIRECTORY, NOW_MS, batch, end_of, open_log

TXNINDEX = f"{DIRECTORY}/{0:020}.txnindex"


def damages(disk: Disk, *, may_have_gaps: bool = True) -> list[str]:
    report = inspect_partition(DIRECTORY, files=disk, may_have_gaps=may_have_gaps)
    found = [damage.why or "" for damage in report.damages]
    report.close()
    return found


def put(disk: Disk, path: str, content: bytes) -> None:
    if path.rpartition("/")[2] in disk.names_in(DIRECTORY):
        disk.remove(path)
    descriptor = disk.open(path)
    disk.append(descriptor, content)
    disk.close(descriptor)


def send(log: PartitionLog, key: bytes, sequence: int, *, transactional: bool = False) -> None:
    sent = batch(
        b"v" * 20, key=key, producer_id=5, producer_epoch=0, base_sequence=sequence,
        transactional=transactional,
    )  # fmt: skip
    log.append(sent, now_ms=NOW_MS)


def test_a_snapshot_knows_a_batch_that_compaction_removed(disk: Disk) -> None:
    log = open_compacted(disk, segment_bytes=170)
    for sequence, key in enumerate((b"a", b"b", b"b", b"c")):
        send(log, key, sequence)
        if sequence:
            log.roll(NOW_MS)
    compacted(log, disk)
    assert list(values(log)) == [0, 2, 3]
    assert f"{2:020}.snapshot" in disk.names_in(DIRECTORY)
    assert damages(disk) == []


def test_a_snapshot_that_is_behind_its_data_is_damage(disk: Disk) -> None:
    log = open_compacted(disk)
    send(log, b"a", 0)
    log.roll(NOW_MS)
    snapshot = disk.read(f"{DIRECTORY}/{1:020}.snapshot")
    send(log, b"a", 1)
    log.roll(NOW_MS)
    put(disk, f"{DIRECTORY}/{2:020}.snapshot", snapshot)
    assert damages(disk) == ["the state of producer 5 differs from the data"]


def log_of_transactions(disk: Disk, *, commit: bool) -> PartitionLog:
    """A transaction at 0 to 1, a newer record behind it, and an empty active segment."""
    log = open_compacted(disk, segment_bytes=1_000)
    send(log, b"a", 0, transactional=True)
    log.append_marker(end_of(5, commit=commit), now_ms=NOW_MS)
    send(log, b"a", 1)
    log.roll(NOW_MS)
    return log


def test_the_index_lists_a_transaction_whose_records_compaction_removed(disk: Disk) -> None:
    log = log_of_transactions(disk, commit=False)
    index = disk.read(TXNINDEX)
    compacted(log, disk)
    put(disk, TXNINDEX, index)  # as Kafka, and a later segment, may keep it
    assert damages(disk) == []
    assert damages(disk, may_have_gaps=False) != []


WRONG = {"committed": (5, 0, 1), "of another producer": (6, 0, 1), "without a marker": (5, 0, 2)}


@pytest.mark.parametrize("case", WRONG)
def test_an_entry_for_a_transaction_that_was_not_aborted_is_damage(case: str, disk: Disk) -> None:
    log_of_transactions(disk, commit=True)
    entry = AbortedTransaction(*WRONG[case], 3)
    put(disk, TXNINDEX, aborted.encode([entry]))
    assert damages(disk) == ["an entry is for a transaction that was not aborted"]


@pytest.mark.parametrize("clean", [True, False])
def test_a_log_that_was_compacted_earlier_may_lack_offsets_at_the_end_of_a_segment(
    clean: bool, disk: Disk
) -> None:
    log = open_compacted(disk, segment_bytes=220)
    for number, key in enumerate((b"a", b"b", b"b", b"c")):
        log.append(batch(b"%d" % number * 20, key=key), now_ms=NOW_MS)
        if number % 2:
            log.roll(NOW_MS)
    compacted(log, disk)
    kept = list(values(log))
    assert kept == [0, 2, 3]
    log.close(clean=clean)
    reported: list[object] = []
    log = open_log(disk, clean=clean, was_compacted=True, report=reported.append)
    assert list(values(log)) == kept
    assert [segment.base_offset for segment in log.segments] == [0, 2, 4]
    log.segments[0].refuse_if_damaged()
    assert reported == []
    assert log.config.cleanup_policy != COMPACT
