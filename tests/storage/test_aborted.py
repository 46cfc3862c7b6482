"""What readers of committed records may see: the last stable offset, and what was aborted."""

from __future__ import annotations

import struct

from ottla.storage.log import PartitionLog
from ottla.storage.producer_state.aborted import (
    AbortedTransaction,
    AbortedTransactions,
    decode,
    encode,
)
from tests.storage.disk import Disk
from tests.storage.logs import DIRECTORY, NOW_MS, batch, end_of, in_transaction, open_log


def test_the_last_stable_offset_is_where_the_oldest_open_transaction_begins() -> None:
    log = open_log()
    seen = []
    for step in (
        batch(), in_transaction(1, 0, 2), in_transaction(2, 0), batch(),
        end_of(2, commit=True), in_transaction(2, 1), end_of(1, commit=False),
        end_of(2, commit=True),
    ):  # fmt: skip
        add = log.append_marker if step[22] & 0x20 else log.append
        add(step, now_ms=NOW_MS)
        seen.append((log.last_stable_offset, log.high_watermark))
    assert seen == [(1, 1), (1, 3), (1, 4), (1, 5), (1, 6), (1, 7), (6, 8), (9, 9)]


def test_a_log_that_begins_inside_an_open_transaction_is_stable_up_to_its_first_batch() -> None:
    """As in Kafka: that is before where the log begins."""
    log = open_log()
    for sequence in (0, 5):
        log.append(in_transaction(1, sequence, 5), now_ms=NOW_MS)
    log.append(batch(*[b"v"] * 3), now_ms=NOW_MS)
    stable = {}
    for offset in (3, 5, 6, 11, 13):
        log.delete_records(offset)
        stable[offset] = log.last_stable_offset
        assert log.read(offset, max_bytes=1, up_to=stable[offset], min_one=True).records == b""
    assert stable == {3: 0, 5: 5, 6: 5, 11: 10, 13: 13}
    log.append_marker(end_of(1, commit=True), now_ms=NOW_MS)
    assert log.last_stable_offset == 14


def test_a_marker_without_a_transaction_aborts_nothing(log: PartitionLog) -> None:
    log.append_marker(end_of(1, commit=False), now_ms=NOW_MS)
    assert (log.last_stable_offset, log.aborted_transactions(0, 10)) == (1, [])


def test_an_aborted_transaction_carries_the_stable_offset_of_its_time(log: PartitionLog) -> None:
    for producer_id in (1, 2, 3):
        log.append(in_transaction(producer_id, 0), now_ms=NOW_MS)
    for producer_id, commit in ((2, False), (1, True), (3, False)):
        log.append_marker(end_of(producer_id, commit=commit), now_ms=NOW_MS)
    assert log.aborted_transactions(0, 6) == [(2, 1, 3, 0), (3, 2, 5, 6)]


def test_a_read_lists_the_aborted_transactions_that_overlap_it(log: PartitionLog) -> None:
    for sequence in range(3):  # data at 0, 2, 4; aborts at 1, 3, 5
        log.append(in_transaction(7, sequence), now_ms=NOW_MS)
        log.append_marker(end_of(7, commit=False), now_ms=NOW_MS)

    def firsts(first: int, last: int) -> list[int]:
        return [aborted.first_offset for aborted in log.aborted_transactions(first, last)]

    assert [firsts(0, 0), firsts(0, 1), firsts(0, 2), firsts(0, 5)] == [[0], [0], [0, 2], [0, 2, 4]]
    assert [firsts(2, 2), firsts(3, 4), firsts(5, 5), firsts(6, 9)] == [[2], [2, 4], [4], []]
    log.delete_records(2)
    assert firsts(0, 9) == [2, 4]


def test_a_long_transaction_is_found_behind_short_ones_that_ended_before() -> None:
    aborted = AbortedTransactions([AbortedTransaction(1, 5, 6, 0), AbortedTransaction(2, 0, 9, 10)])
    assert [entry.producer_id for entry in aborted.between(0, 4)] == [2]
    assert [entry.producer_id for entry in aborted.between(5, 6)] == [1, 2]
    assert [entry.producer_id for entry in aborted.between(7, 8)] == [2]


def test_one_that_is_known_is_not_added_again() -> None:
    one, two = AbortedTransaction(1, 0, 1, 2), AbortedTransaction(1, 2, 3, 4)
    aborted = AbortedTransactions([two])
    for entry in (two, one, one):
        aborted.add(entry)
    assert aborted.between(0, 9) == [one, two]


def test_the_index_of_a_segment_has_the_transactions_aborted_in_it(disk: Disk) -> None:
    log = open_log(disk, segment_bytes=200)
    for sequence in range(2):
        log.append(in_transaction(7, sequence), now_ms=NOW_MS)
        log.append_marker(end_of(7, commit=False), now_ms=NOW_MS)
    log.close(clean=True)
    entry = struct.pack(">hqqqq", 0, 7, 0, 1, 2)
    assert disk.read(f"{DIRECTORY}/{0:020d}.txnindex") == entry
    second = [name for name in disk.names_in(DIRECTORY) if name.endswith(".txnindex")][1:]
    assert second == [f"{2:020d}.txnindex"]


def test_a_cut_entry_is_left_out() -> None:
    entries = [AbortedTransaction(1, 0, 1, 2), AbortedTransaction(2, 3, 4, 5)]
    content = encode(entries)
    assert decode(content) == entries
    assert decode(content[:-1]) == entries[:1]
