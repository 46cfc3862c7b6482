"""Aborted transactions recorded before a restart are compared with the data, once."""

from __future__ import annotations

import pytest

from ottla.storage.log import PartitionLog
from ottla.storage.producer_state.aborted import AbortedTransaction, AbortedTransactions
from ottla.storage.producer_state.transaction_check import TransactionCheck
from tests.storage.disk import CountingDisk, Disk
from tests.storage.logs import NOW_MS, batch, end_of, in_transaction, open_log

LONG = 500


def with_a_long_transaction(disk: Disk, *, commit: bool) -> PartitionLog:
    """Opened again after a clean stop; its marker is at `LONG`."""
    log = open_log(disk, segment_bytes=10_000)
    for sequence in range(LONG):
        log.append(in_transaction(7, sequence), now_ms=NOW_MS)
    log.append_marker(end_of(7, commit=commit), now_ms=NOW_MS)
    log.append(batch(), now_ms=NOW_MS)
    log.close(clean=True)
    return open_log(disk, segment_bytes=10_000)


@pytest.mark.parametrize("commit", [True, False])
def test_a_long_transaction_is_followed_to_its_marker_once(commit: bool) -> None:
    disk = CountingDisk()
    log = with_a_long_transaction(disk, commit=commit)
    steps = list(log.check_in_steps(0, 200, committed=True))
    assert len(steps) >= LONG // 128
    expected = [] if commit else [(7, 0, LONG, LONG + 1)]
    disk.bytes_read = 0
    for offset in range(0, LONG, 10):
        assert list(log.aborted_transactions(offset, offset + 9)) == expected
    assert disk.bytes_read == 0


def test_readers_of_records_that_are_not_committed_do_not_wait_for_it() -> None:
    log = with_a_long_transaction(Disk(), commit=True)
    assert len(list(log.check_in_steps(0, 200, committed=False))) <= 1


def test_stretches_that_were_compared_are_known_and_those_between_are_not() -> None:
    log = open_log()
    for sequence in range(0, 12, 2):
        log.append(in_transaction(7, sequence, 2), now_ms=NOW_MS)
        log.append_marker(end_of(7, commit=True), now_ms=NOW_MS)
    check, aborted = TransactionCheck(log.log_end_offset), AbortedTransactions()
    for first, last in ((9, 10), (0, 1)):  # each goes as far as its marker
        assert check.agrees(log.segments, aborted, first, last)
    known = [offset for offset in range(18) if check.is_known(offset, offset)]
    assert known == [0, 1, 2, 9, 10, 11]
    assert check.agrees(log.segments, aborted, 3, 8)
    assert check.is_known(0, 11)
    assert check.agrees(log.segments, aborted, 12, 17)
    assert check.is_known(0, 17)
    assert check.is_known(5, 10**9), "what is newer needs no comparison"


@pytest.mark.parametrize(
    ("wrong", "commit"),
    [
        ((7, 20, 30, 31), True),  # some of it is hidden
        ((7, 3, 10**6, 31), True),
        ((7, 20, LONG, LONG + 1), False),  # some of it is not
        ((8, 0, LONG, LONG + 1), False),
        ((7, 0, LONG, 2**62), False),  # a reader would stop looking there
    ],
)
def test_an_index_that_hides_other_batches_than_the_markers_say_does_not_agree(
    wrong: tuple[int, int, int, int], commit: bool
) -> None:
    log = with_a_long_transaction(Disk(), commit=commit)
    check = TransactionCheck(log.log_end_offset)
    assert not check.agrees(log.segments, AbortedTransactions([AbortedTransaction(*wrong)]), 5, 6)
