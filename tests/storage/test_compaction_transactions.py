"""Compaction and producers: transactions of all ends, markers, the last word of each producer."""

from __future__ import annotations

import struct

import pytest

from ottla.protocol.batch import HAS_DELETE_HORIZON, build, read_header, seal
from ottla.protocol.errors import Refused
from ottla.storage.cleaning.cleanable import cleanable
from ottla.storage.cleaning.cleaned_transactions import CleanedTransactions
from ottla.storage.log import PartitionLog
from ottla.storage.producer_state import aborted as transaction_index
from ottla.storage.producer_state.aborted import AbortedTransaction
from ottla.storage.segments.segment import TRANSACTION_INDEX
from tests.protocol.placing import place
from tests.storage.compacting import committed, compacted, open_compacted, values
from tests.storage.disk import Disk
from tests.storage.logs import NOW_MS, batch, end_of, everything, open_log

DAY_MS = 86_400_000
_SEQUENCE = struct.Struct(">i")


def data(producer_id: int, *keys: bytes) -> bytearray:
    """A batch of a transaction; the value tells the producer. `put` numbers it."""
    return build(
        [(key, b"%d" % producer_id) for key in keys], timestamp_ms=NOW_MS,
        producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True,
    )  # fmt: skip


def put(log: PartitionLog, *batches: bytearray) -> None:
    for one in batches:
        if one[22] & 0x20:
            log.append_marker(one, now_ms=NOW_MS)
        else:
            known = log.producers.entry(read_header(one).producer_id)
            if known is not None:
                _SEQUENCE.pack_into(one, 53, known.last_sequence + 1)
                seal(one)
            log.append(one, now_ms=NOW_MS)


def rolled(log: PartitionLog, *batches: bytearray) -> None:
    put(log, *batches)
    log.roll(NOW_MS)


def shape(log: PartitionLog) -> list[tuple[int, int, str]]:
    """First offset, records and kind of each batch; H: it has a delete horizon."""
    return [
        (
            header.base_offset,
            header.record_count,
            ("marker" if header.is_control else "data")
            + ("H" if header.attributes & HAS_DELETE_HORIZON else ""),
        )
        for header, _ in everything(log)
    ]


def others(log: PartitionLog) -> None:
    """Another record of each producer, so that none of the older batches is its last."""
    put(log, data(1, b"p1"), data(2, b"p2"))
    put(log, end_of(1, commit=True), end_of(2, commit=True))


def opened(disk: Disk) -> PartitionLog:
    return open_compacted(disk, segment_bytes=10_000, delete_retention_ms=DAY_MS)


def test_aborted_records_go_and_supersede_nothing(disk: Disk) -> None:
    log = opened(disk)
    put(log, batch(b"old", key=b"a"), data(1, b"a", b"b"), end_of(1, commit=False))
    put(log, data(1, b"c"), end_of(1, commit=True))
    rolled(log, batch(b"x", key=b"end"))
    compacted(log, disk)
    assert values(log) == {0: (b"a", b"old"), 4: (b"c", b"1"), 6: (b"end", b"x")}
    assert shape(log)[1] == (3, 1, "marker"), "it stays while a reader may still have the data"


def test_an_abort_marker_goes_a_horizon_after_its_data(disk: Disk) -> None:
    log = opened(disk)
    put(log, data(1, b"a"), end_of(1, commit=False), data(1, b"b"), end_of(1, commit=True))
    rolled(log, batch(b"x", key=b"end"))
    aborted = log.aborted_transactions(0, 9)
    assert len(aborted) == 1
    compacted(log, disk)
    assert shape(log)[0] == (1, 1, "marker"), "its data are met for the last time"
    assert log.aborted_transactions(0, 9) == aborted
    compacted(log, disk)
    assert shape(log)[0] == (1, 1, "markerH")
    assert log.aborted_transactions(0, 9) == []
    compacted(log, disk, now_ms=NOW_MS + DAY_MS - 1)
    assert shape(log)[0] == (1, 1, "markerH")
    compacted(log, disk, now_ms=NOW_MS + DAY_MS)
    assert shape(log)[0] == (2, 1, "data")


def test_a_commit_marker_goes_a_horizon_after_the_last_of_its_data(disk: Disk) -> None:
    log = opened(disk)
    put(log, data(1, b"a"), end_of(1, commit=True), data(1, b"b"), end_of(1, commit=True))
    rolled(log, batch(b"new", key=b"a"))
    compacted(log, disk)
    assert shape(log)[0] == (1, 1, "marker")
    compacted(log, disk)
    assert shape(log)[0] == (1, 1, "markerH")
    compacted(log, disk, now_ms=NOW_MS + DAY_MS)
    assert shape(log) == [(2, 1, "data"), (3, 1, "marker"), (4, 1, "data")]


def test_nothing_from_an_open_transaction_on_is_touched(disk: Disk) -> None:
    log = open_compacted(disk, segment_bytes=80)
    put(log, batch(b"1", key=b"a"), batch(b"2", key=b"a"), batch(b"3", key=b"a"))
    put(log, data(1, b"a"), batch(b"4", key=b"a"), batch(b"5", key=b"a"))
    todo = cleanable(log, None, NOW_MS)
    assert todo is not None
    assert todo.end_offset == 3
    compacted(log, disk)
    assert sorted(values(log)) == [2, 3, 4, 5]
    rolled(log, end_of(1, commit=True), batch(b"6", key=b"a"))
    compacted(log, disk)
    assert values(log)[7] == (b"a", b"6")
    assert sorted(values(log)) == [7]


def test_a_transaction_that_was_decided_later_than_its_segment_ended(disk: Disk) -> None:
    log = open_compacted(disk, segment_bytes=110)
    put(log, batch(b"old", key=b"a"), data(1, b"a"), data(2, b"a"))
    put(log, end_of(1, commit=False), end_of(2, commit=True))
    others(log)
    log.roll(NOW_MS)
    compacted(log, disk)
    assert values(log)[2] == (b"a", b"2"), "the committed one is the newest"
    assert 0 not in values(log)
    assert 1 not in values(log)


@pytest.mark.parametrize("clean", [True, False])
def test_a_producers_last_batch_stays_for_its_sequence_number(clean: bool, disk: Disk) -> None:
    log = open_compacted(disk)
    for sequence in range(3):
        one = build(
            [(b"k", b"%d" % sequence)], timestamp_ms=NOW_MS, producer_id=7, producer_epoch=4,
            base_sequence=sequence,
        )  # fmt: skip
        log.append(one, now_ms=NOW_MS)
    put(log, batch(b"x", key=b"k"))
    log.roll(NOW_MS)
    compacted(log, disk)
    assert values(log) == {3: (b"k", b"x")}
    assert shape(log) == [(2, 0, "data"), (3, 1, "data")]
    log.close(clean=clean)
    for name in [name for name in disk.files if name.endswith(".snapshot")]:
        del disk.files[name]
    again = open_compacted(disk.after_kill(), clean=False)
    following = build(
        [(b"k", b"3")], timestamp_ms=NOW_MS, producer_id=7, producer_epoch=4, base_sequence=3
    )
    with pytest.raises(Refused, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
        again.append(
            build([(b"k", b"3")], timestamp_ms=NOW_MS, producer_id=7, producer_epoch=4,
                  base_sequence=9), now_ms=NOW_MS,
        )  # fmt: skip
    assert again.append(following, now_ms=NOW_MS).base_offset == 4


def test_the_last_batch_of_a_producer_stays_also_of_an_aborted_transaction(disk: Disk) -> None:
    log = opened(disk)
    put(log, data(1, b"a"), data(1, b"b", b"c"), end_of(1, commit=False))
    rolled(log, batch(b"x", key=b"end"))
    compacted(log, disk)
    assert shape(log) == [(1, 0, "data"), (3, 1, "marker"), (4, 1, "data")]
    disk = disk.after_kill()
    for name in [name for name in disk.files if name.endswith(".snapshot")]:
        del disk.files[name]
    known = open_compacted(disk, clean=False).producers.entry(1)
    assert known is not None
    assert known.last_sequence == 2


def test_a_marker_that_alone_records_a_producer_epoch_stays(disk: Disk) -> None:
    log = opened(disk)
    put(log, data(1, b"a"), end_of(1, commit=False, epoch=1))
    rolled(log, batch(b"x", key=b"end"))
    for _ in range(3):
        compacted(log, disk, now_ms=NOW_MS + DAY_MS * _)
    assert [each for each in shape(log) if each[2].startswith("marker")] == [(1, 0, "marker")]


@pytest.mark.parametrize("clean", [True, False])
def test_open_committed_and_aborted_transactions_are_the_same_after_a_restart(clean: bool) -> None:
    disk = Disk()
    log = open_compacted(disk, segment_bytes=200)
    for number in range(12):
        who = 1 + number % 3
        put(log, data(who, b"k%d" % (number % 5)), end_of(who, commit=number % 4 != 1))
    put(log, data(9, b"open"), batch(b"x", key=b"k1"))
    log.roll(NOW_MS)
    for _ in range(2):
        compacted(log, disk)
        aborted = log.aborted_transactions(0, log.log_end_offset)
        before, before_committed = everything(log), committed(log)
        stable = log.last_stable_offset
        log.close(clean=clean)
        disk = disk.after_kill()
        log = open_compacted(disk, segment_bytes=200, clean=clean)
        assert everything(log) == before
        assert log.last_stable_offset == stable == 24
        assert set(log.aborted_transactions(0, log.log_end_offset)) <= set(aborted)
        assert committed(log) == before_committed


def test_a_key_that_looks_like_a_markers_supersedes_no_marker(disk: Disk) -> None:
    log = opened(disk)
    put(log, data(1, b"a"), end_of(1, commit=True), data(1, b"b"), end_of(1, commit=True))
    put(log, batch(b"x", key=bytes(4)), batch(b"x", key=bytes(3) + b"\1"))
    rolled(log, batch(b"new", key=b"a"))
    compacted(log, disk)
    compacted(log, disk)
    assert shape(log)[0] == (1, 1, "markerH")


def test_markers_survive_a_change_to_deletion(disk: Disk) -> None:
    """What compaction left is read by a log that is not compacted any more."""
    log = opened(disk)
    put(log, data(1, b"a"), end_of(1, commit=False))
    others(log)
    rolled(log, batch(b"x", key=b"end"))
    compacted(log, disk)
    before = everything(log)
    log.close(clean=True)
    again = open_log(disk.after_kill(), segment_bytes=10_000)
    assert everything(again) == before


def test_each_new_segment_lists_the_aborted_transactions_that_end_in_it(disk: Disk) -> None:
    """Though one round makes several: readers look for them in each of these."""
    log = opened(disk)
    ends = []
    for producer_id in (1, 2, 3):
        filling = batch(b"x" * 7_000, key=b"%d" % producer_id)
        rolled(log, filling, data(producer_id, b"k"), end_of(producer_id, commit=False))
        ends.append(log.log_end_offset - 1)
    rolled(log, batch(b"y" * 7_000, key=b"end"))
    compacted(log, disk)
    assert len(log.segments) > 4, "each of the three is compacted by itself"
    told = log.aborted_transactions(0, log.log_end_offset)
    assert [(entry.producer_id, entry.last_offset) for entry in told] == [
        (producer_id, end) for producer_id, end in zip((1, 2, 3), ends, strict=True)
    ]
    for segment, producer_id in zip(log.segments, (1, 2, 3), strict=False):
        listed = transaction_index.decode(disk.read(segment.path(TRANSACTION_INDEX)))
        assert [entry.producer_id for entry in listed] == [producer_id]


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_of_an_emptied_transaction_is_removed_even_if_an_earlier_one_has_data(
    commit: bool,
) -> None:
    aborted = [] if commit else [AbortedTransaction(1, 0, 1, 1), AbortedTransaction(1, 5, 6, 6)]
    transactions = CleanedTransactions(aborted)
    for first_offset, has_data, is_over in ((0, True, False), (5, False, True)):
        if has_data:
            one = data(1, b"k")
            place(one, base_offset=first_offset, leader_epoch=0)
            assert transactions.batch(read_header(one)) is not commit
        marker = end_of(1, commit=commit)
        place(marker, base_offset=first_offset + 1, leader_epoch=0)
        assert transactions.marker(bytes(marker), read_header(marker)) is is_over
