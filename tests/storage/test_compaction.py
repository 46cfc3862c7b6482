"""Compaction of one log: what stays of it, record by record, and where."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, cast

import pytest

from ottla.protocol.batch import (
    HAS_DELETE_HORIZON,
    BatchHeader,
    Compression,
    build,
    headers_in,
    read_header,
)
from ottla.protocol.errors import Refused
from ottla.storage.cleaning.cleanable import cleanable
from ottla.storage.cleaning.compaction import Superseded, compact, groups_of
from ottla.storage.log import PartitionLog
from ottla.storage.log_config import LONG_MAX
from ottla.storage.segments.segment import Segment
from tests.storage.compacting import (
    COMPACT,
    compacted,
    log_of,
    open_compacted,
    packed,
    records,
    values,
)
from tests.storage.disk import Disk
from tests.storage.logs import (
    DIRECTORY,
    NOW_MS,
    batch,
    config,
    everything,
    max_timestamp,
    offset_for_timestamp,
    open_log,
)
from tests.wire.batches import batch as wire_batch

DAY_MS = 86_400_000


def headers(log: PartitionLog) -> list[BatchHeader]:
    return [header for header, _ in everything(log)]


def bases(log: PartitionLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_the_newest_record_of_each_key_stays_at_its_offset(disk: Disk) -> None:
    log = log_of(disk, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"), (b"b", b"2"))
    did = compacted(log, disk)
    assert did is not None
    assert (did.end_offset, did.records_before, did.records_after) == (5, 5, 3)
    assert values(log) == {2: (b"a", b"2"), 3: (b"c", b"1"), 4: (b"b", b"2")}
    assert (log.log_start_offset, log.log_end_offset) == (0, 5)


@pytest.mark.parametrize("clean", [True, False])
def test_a_compacted_log_is_the_same_after_a_restart(clean: bool, disk: Disk) -> None:
    log = log_of(disk, *[(b"k%d" % (number % 4), b"%d" % number) for number in range(30)])
    assert compacted(log, disk) is not None
    before = everything(log)
    log.close(clean=clean)
    again = open_compacted(disk.after_kill(), clean=clean)
    assert everything(again) == before
    assert (again.log_start_offset, again.log_end_offset) == (0, 30)
    assert bases(again) == bases(log)


def test_a_long_key_is_as_good_as_a_short_one(disk: Disk) -> None:
    long, other = b"x" * 100, b"x" * 99 + b"y"
    log = log_of(disk, (long, b"1"), (other, b"1"), (long, b"2"))
    compacted(log, disk)
    assert values(log) == {1: (other, b"1"), 2: (long, b"2")}


def test_a_record_without_a_key_goes(disk: Disk) -> None:
    log = open_log(disk, segment_bytes=250)
    log.append(batch(b"1", b"2"), now_ms=NOW_MS)
    log.append(batch(b"3", key=b"a"), now_ms=NOW_MS)
    log.roll(NOW_MS)
    log.config = config(cleanup_policy=COMPACT)
    compacted(log, disk)
    assert values(log) == {2: (b"a", b"3")}


def test_the_active_segment_is_not_touched(disk: Disk) -> None:
    log = log_of(disk, (b"a", b"1"), (b"a", b"2"))
    for value in (b"3", b"4"):
        log.append(batch(value, key=b"a"), now_ms=NOW_MS)
    compacted(log, disk)
    assert list(values(log)) == [1, 2, 3], "nobody looked yet whether a newer one is in there"


def test_a_batch_that_loses_records_keeps_its_offsets_sequence_and_times(disk: Disk) -> None:
    log = open_compacted(disk)
    sent = build(
        [(b"a", b"1"), (b"b", b"1"), (b"c", b"1")], timestamp_ms=NOW_MS, producer_id=7,
        producer_epoch=2, base_sequence=40,
    )  # fmt: skip
    log.append(sent, now_ms=NOW_MS)
    log.append(batch(b"2", key=b"a", timestamp_ms=NOW_MS + 5), now_ms=NOW_MS)
    log.roll(NOW_MS)
    compacted(log, disk)
    first = headers(log)[0]
    assert (first.base_offset, first.last_offset, first.record_count) == (0, 2, 2)
    assert (first.producer_id, first.producer_epoch, first.base_sequence) == (7, 2, 40)
    assert (first.base_timestamp_ms, first.max_timestamp_ms) == (NOW_MS, NOW_MS)
    assert [(r.offset, r.timestamp_ms) for r in records(log)] == [
        (1, NOW_MS), (2, NOW_MS), (3, NOW_MS + 5),
    ]  # fmt: skip


@pytest.mark.parametrize("codec", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_batch_that_loses_records_keeps_its_codec(codec: str, disk: Disk) -> None:
    log = open_compacted(disk, segment_bytes=10_000)
    sent = build([(b"a", b"1" * 500), (b"b", b"1" * 500)], timestamp_ms=NOW_MS)
    log.append(packed(sent, codec)[0], now_ms=NOW_MS)
    log.append(batch(b"2", key=b"a"), now_ms=NOW_MS)
    log.roll(NOW_MS)
    compacted(log, disk)
    assert values(log) == {1: (b"b", b"1" * 500), 2: (b"a", b"2")}
    expected = Compression.NONE if codec == "uncompressed" else Compression[codec.upper()]
    assert headers(log)[0].compression == expected
    assert headers(log)[0].size_bytes < 700


def test_the_times_of_a_compacted_batch_are_those_of_its_remaining_records(disk: Disk) -> None:
    log = open_compacted(disk)
    sent = wire_batch(
        [b"1", b"2", b"3"], keys=[b"a", b"b", b"c"], timestamp=NOW_MS, timestamp_deltas=[5, 0, 9]
    )
    log.append(sent, now_ms=NOW_MS)
    for key in (b"a", b"c"):
        log.append(batch(b"new", key=key), now_ms=NOW_MS)
    log.roll(NOW_MS)
    compacted(log, disk)
    first = headers(log)[0]
    assert (first.base_offset, first.last_offset, first.record_count) == (0, 2, 1)
    assert (first.base_timestamp_ms, first.max_timestamp_ms) == (NOW_MS, NOW_MS)
    assert records(log)[0][:2] == (1, NOW_MS)


def test_the_brokers_time_stays_the_time_of_a_batch(disk: Disk) -> None:
    log = open_compacted(disk, message_timestamp_type="LogAppendTime")
    sent = build([(b"a", b"1"), (b"b", b"1")], timestamp_ms=NOW_MS - 50)
    log.append(sent, now_ms=NOW_MS)
    log.append(batch(b"2", key=b"a"), now_ms=NOW_MS + 1)
    log.roll(NOW_MS)
    compacted(log, disk)
    first = headers(log)[0]
    assert first.is_log_append_time
    assert (first.base_timestamp_ms, first.max_timestamp_ms) == (NOW_MS, NOW_MS)
    assert [(r.offset, r.timestamp_ms) for r in records(log)] == [(1, NOW_MS), (2, NOW_MS + 1)]


def test_large_packed_batches_are_opened_and_packed_elsewhere(disk: Disk) -> None:
    """In whatever thread the caller has: a step of the loop would be too long."""
    log = open_compacted(disk, segment_bytes=1 << 20)
    noise = random.Random(1).randbytes(20_000)
    sent = build([(b"a", noise), (b"b", noise), (b"c", noise[::-1])], timestamp_ms=NOW_MS)
    log.append(packed(sent, "gzip")[0], now_ms=NOW_MS)
    log.append(batch(b"2", key=b"a"), now_ms=NOW_MS)
    log.roll(NOW_MS)
    todo = cleanable(log, None, NOW_MS)
    assert todo is not None
    handed_out = 0
    for blocking in compact(todo, disk, map_size_bytes=1 << 20, now_ms=NOW_MS):
        if blocking is not None:
            before = disk.operations
            blocking()
            handed_out += disk.operations == before
    assert handed_out == 5, "opened three times, packed once, and ended"
    assert values(log) == {1: (b"b", noise), 2: (b"c", noise[::-1]), 3: (b"a", b"2")}


def test_a_batch_that_loses_no_record_stays_byte_for_byte(disk: Disk) -> None:
    log = log_of(disk, *[(b"k%d" % number, b"v") for number in range(9)])
    before = everything(log)
    compacted(log, disk)
    assert everything(log) == before


# Tombstones


def test_a_tombstone_stays_until_its_horizon_and_the_value_goes_at_once(disk: Disk) -> None:
    log = log_of(disk, (b"a", b"1"), (b"a", None), (b"b", b"1"), delete_retention_ms=DAY_MS)
    compacted(log, disk)
    assert values(log) == {1: (b"a", None), 2: (b"b", b"1")}
    tombstone = headers(log)[0]
    assert tombstone.attributes & HAS_DELETE_HORIZON
    assert tombstone.base_timestamp_ms == NOW_MS + DAY_MS
    assert tombstone.max_timestamp_ms == NOW_MS
    assert records(log)[0].timestamp_ms == NOW_MS, "its own time is not the horizon"

    compacted(log, disk, now_ms=NOW_MS + DAY_MS - 1)
    assert headers(log)[0].base_timestamp_ms == NOW_MS + DAY_MS, "the horizon does not move"
    compacted(log, disk, now_ms=NOW_MS + DAY_MS)
    assert values(log) == {2: (b"b", b"1")}


def test_a_tombstone_may_stay_for_ever(disk: Disk) -> None:
    log = log_of(disk, (b"a", None), (b"b", b"1"), delete_retention_ms=LONG_MAX)
    compacted(log, disk)
    assert headers(log)[0].base_timestamp_ms == LONG_MAX
    compacted(log, disk, now_ms=NOW_MS + 10**9)
    assert records(log)[0][:3] == (0, NOW_MS, b"a")


def test_a_delete_horizon_stays_with_the_rest_of_its_batch(disk: Disk) -> None:
    log = open_compacted(disk, delete_retention_ms=DAY_MS)
    log.append(build([(b"a", None), (b"b", b"1")], timestamp_ms=NOW_MS), now_ms=NOW_MS)
    log.roll(NOW_MS)
    compacted(log, disk)
    log.append(batch(b"1", key=b"c"), now_ms=NOW_MS)
    log.roll(NOW_MS)
    compacted(log, disk, now_ms=NOW_MS + DAY_MS)
    assert values(log) == {1: (b"b", b"1"), 2: (b"c", b"1")}
    assert headers(log)[0].base_timestamp_ms == NOW_MS + DAY_MS
    assert records(log)[0].timestamp_ms == NOW_MS


def test_a_tombstone_that_is_not_the_newest_goes_at_once(disk: Disk) -> None:
    log = log_of(disk, (b"a", None), (b"a", b"1"))
    compacted(log, disk)
    assert values(log) == {1: (b"a", b"1")}


def test_a_tombstone_beyond_the_round_waits_whatever_its_horizon(disk: Disk) -> None:
    pairs = [(b"a", b"1"), (b"b", b"1"), (b"c", b"1"), (b"d", b"1"), (b"a", None)]
    log = log_of(disk, *pairs, segment_bytes=10_000, delete_retention_ms=0)
    for later_ms in (1, 2):
        did = compacted(log, disk, map_size_bytes=192 * 3, now_ms=NOW_MS + later_ms)
        assert did is not None
        assert did.end_offset == 3
        assert sorted(values(log)) == [0, 1, 2, 3, 4], "the value is still there"


# Rounds, and what they cover


def test_the_last_batch_of_a_round_stays_without_records(disk: Disk) -> None:
    log = log_of(disk, (b"b", b"1"), (b"a", None), delete_retention_ms=0)
    compacted(log, disk)
    compacted(log, disk)
    last = headers(log)[-1]
    assert (last.base_offset, last.last_offset, last.record_count) == (1, 1, 0)
    assert (last.base_timestamp_ms, last.max_timestamp_ms) == (-1, NOW_MS)
    assert values(log) == {0: (b"b", b"1")}


def test_small_segments_become_one_and_large_ones_stay_apart(disk: Disk) -> None:
    pairs = [(b"k", b"%03d" % number) for number in range(40)]
    log = log_of(disk, *pairs)
    before = bases(log)
    assert len(before) > 10
    compacted(log, disk)
    assert bases(log) == before, "each was as large as allowed"
    compacted(log, disk)
    assert bases(log) == [0, 40], "now they are almost empty"
    assert values(log) == {39: (b"k", b"039")}
    names = [name for name in disk.names_in(DIRECTORY) if not name.endswith(".deleted")]
    assert sorted(name for name in names if name.startswith("0")) == sorted(
        [f"{base:020d}{suffix}" for base in (0, 40) for suffix in (".log",)]
        + [f"{0:020d}.index", f"{0:020d}.timeindex", f"{40:020d}.snapshot"]
    )


def test_every_offset_can_be_read_and_every_time_found(disk: Disk) -> None:
    log = open_compacted(disk, index_interval_bytes=1)
    for number in range(40):
        data = batch(b"v", key=b"k%d" % (number % 7), timestamp_ms=NOW_MS + number)
        log.append(data, now_ms=NOW_MS)
    log.roll(NOW_MS)
    compacted(log, disk)
    compacted(log, disk)
    again = open_compacted(disk.after_kill(), clean=False, recovery_point=40)
    for each in (log, again):
        assert sorted(values(each)) == list(range(33, 40))
        for offset in range(40):
            read = each.read(offset, max_bytes=1, up_to=40, min_one=True)
            assert read_header(read.records).base_offset == max(offset, 33)
            found = offset_for_timestamp(each, NOW_MS + offset)
            assert found is not None
            assert (found.offset, found.timestamp_ms) == (max(offset, 33), NOW_MS + max(offset, 33))
        latest = max_timestamp(each)
        assert latest is not None
        assert latest.offset == 39


def test_a_read_may_end_where_records_are_missing(disk: Disk) -> None:
    pairs = [(b"a", b"1"), (b"b", b"1"), (b"c", b"1"), (b"c", b"2"), (b"d", b"1"), (b"e", b"1")]
    log = log_of(disk, *pairs, segment_bytes=210)
    assert bases(log) == [0, 3, 6]
    compacted(log, disk)
    for up_to, last in ((1, 0), (2, 1), (3, 1), (4, 1)):
        read = log.read(0, max_bytes=10_000, up_to=up_to, min_one=True)
        assert [header.base_offset for _, header in headers_in(read.records)][-1] == last


def test_files_left_by_a_failed_compaction_are_not_used(disk: Disk) -> None:
    log = log_of(disk, (b"a", b"1"), (b"a", b"2"))
    descriptor = disk.open(f"{DIRECTORY}/{0:020d}.log.cleaned")
    disk.append(descriptor, b"half a batch")
    disk.close(descriptor)
    compacted(log, disk)
    assert values(log) == {1: (b"a", b"2")}


def test_each_segment_keeps_the_snapshot_of_its_beginning(disk: Disk) -> None:
    log = log_of(disk, *[(b"k%d" % number, b"v") for number in range(9)])
    compacted(log, disk)
    compacted(log, disk)
    assert bases(log) == [0, 3, 6, 9]
    found = [name for name in disk.names_in(DIRECTORY) if name.endswith(".snapshot")]
    assert found == [f"{base:020d}.snapshot" for base in (3, 6, 9)]


def test_keys_beyond_the_size_of_the_map_wait_for_the_next_round(disk: Disk) -> None:
    log = log_of(disk, *[(b"k%d" % (number % 6), b"%d" % number) for number in range(12)])
    did = compacted(log, disk, map_size_bytes=192 * 4)
    assert did is not None
    assert did.end_offset == 4
    assert sorted(values(log)) == list(range(12)), "no key was seen twice"
    rounds = 0
    while did is not None and did.end_offset < 12:
        did = compacted(log, disk, cleaned_up_to=did.end_offset, map_size_bytes=192 * 4)
        rounds += 1
    assert sorted(values(log)) == list(range(6, 12))
    assert rounds == 2


def test_a_round_begins_where_the_last_one_ended(disk: Disk) -> None:
    log = log_of(disk, (b"a", b"1"), (b"b", b"1"))
    assert cleanable(log, None, NOW_MS) is not None
    assert cleanable(log, 2, NOW_MS) is None
    log.append(batch(b"2", key=b"a"), now_ms=NOW_MS)
    log.roll(NOW_MS)
    todo = cleanable(log, 2, NOW_MS)
    assert todo is not None
    assert (todo.first_dirty_offset, todo.end_offset) == (2, 3)
    assert todo.ratio == pytest.approx(1 / 3)
    compacted(log, disk, cleaned_up_to=2)
    assert values(log) == {1: (b"b", b"1"), 2: (b"a", b"2")}


@pytest.mark.parametrize("checkpointed", [99, -5])
def test_a_checkpoint_from_another_log_is_not_believed(checkpointed: int) -> None:
    log = log_of(Disk(), (b"a", b"1"))
    todo = cleanable(log, checkpointed, NOW_MS)
    assert todo is not None
    assert todo.first_dirty_offset == 0


def test_a_log_is_due_when_enough_of_it_is_dirty() -> None:
    log = log_of(Disk(), (b"a", b"1"), (b"b", b"1"), (b"c", b"1"), (b"d", b"1"))
    todo = cleanable(log, 3, NOW_MS)
    assert todo is not None
    assert (todo.ratio, todo.is_due) == (0.25, False)
    log.config = config(cleanup_policy=COMPACT, min_cleanable_dirty_ratio=0.2)
    assert todo.is_due


def test_a_log_is_due_when_a_record_has_waited_long_enough() -> None:
    log = log_of(Disk(), (b"a", b"1"), (b"b", b"1"), max_compaction_lag_ms=1000)
    log.config = config(
        cleanup_policy=COMPACT, max_compaction_lag_ms=1000, min_cleanable_dirty_ratio=1.0
    )
    for now_ms, is_due in ((NOW_MS + 1000, False), (NOW_MS + 1001, True)):
        todo = cleanable(log, None, now_ms)
        assert todo is not None
        assert todo.is_due is is_due


def test_the_lag_ends_the_active_segment_of_a_compacted_log() -> None:
    log = open_compacted(Disk(), max_compaction_lag_ms=1000, segment_bytes=10_000)
    log.append(batch(b"1", key=b"a"), now_ms=NOW_MS)
    log.append(batch(b"1", key=b"a", timestamp_ms=NOW_MS + 1000), now_ms=NOW_MS)
    assert bases(log) == [0]
    log.append(batch(b"1", key=b"a", timestamp_ms=NOW_MS + 1001), now_ms=NOW_MS)
    assert bases(log) == [0, 2]


def test_records_within_min_compaction_lag_stay(disk: Disk) -> None:
    log = open_compacted(disk, segment_bytes=75, min_compaction_lag_ms=1000)
    for number in range(4):
        data = batch(b"v", key=b"k", timestamp_ms=NOW_MS + 100 * number)
        log.append(data, now_ms=NOW_MS)
    log.roll(NOW_MS)
    assert cleanable(log, None, NOW_MS + 999) is None
    todo = cleanable(log, None, NOW_MS + 1100)
    assert todo is not None
    assert todo.end_offset == 2
    compacted(log, disk, now_ms=NOW_MS + 1100)
    assert sorted(values(log)) == [1, 2, 3]


def test_a_log_that_is_not_to_be_compacted_is_let_be() -> None:
    assert cleanable(log_of(Disk(), (b"a", b"1"), cleanup_policy={"delete"}), None, NOW_MS) is None
    assert cleanable(open_compacted(Disk()), None, NOW_MS) is None


# What goes wrong


@pytest.mark.parametrize("position", [7, 8, 17, 70, 90, 110, 134])
def test_a_damaged_batch_ends_the_round_and_nothing_has_changed(position: int, disk: Disk) -> None:
    log = log_of(disk, *[(b"k", b"%d" % number) for number in range(9)])
    path = f"{DIRECTORY}/{3:020d}.log"
    disk.files[path].data[position] ^= 1
    before = {name: bytes(file.data) for name, file in disk.files.items()}
    with pytest.raises(Refused, match=r"CORRUPT_MESSAGE.*0003\.log"):
        compacted(log, disk)
    assert {name: bytes(file.data) for name, file in disk.files.items()} == before


@pytest.mark.parametrize("clean", [True, False])
def test_segments_damaged_before_a_restart_are_not_compacted(clean: bool, disk: Disk) -> None:
    log = log_of(disk, *[(b"k", b"%d" % number) for number in range(9)])
    log.close(clean=True)
    disk = disk.after_kill()
    disk.files[f"{DIRECTORY}/{3:020d}.log"].data[134] ^= 1
    again = open_compacted(disk, clean=clean, recovery_point=9)
    with pytest.raises(Refused, match=r"CORRUPT_MESSAGE.*0003\.log"):
        compacted(again, disk)
    assert sorted(values_readable(again)) == [0, 1, 2]


def values_readable(log: PartitionLog) -> list[int]:
    """Offsets up to the damage."""
    read = log.read(0, max_bytes=10_000, up_to=3, min_one=True)
    return [header.base_offset for _, header in headers_in(read.records)]


@dataclass(frozen=True)
class SegmentSizes:
    """What groups_of reads of a segment."""

    base_offset: int
    next_offset: int
    size_bytes: int
    sizes_of_indexes: tuple[int, int] = (0, 0)

    def index_sizes(self) -> tuple[int, int]:
        return self.sizes_of_indexes


def part(*sizes: Any) -> Segment:
    return cast(Segment, SegmentSizes(*sizes))


def test_segments_are_joined_as_far_as_sizes_offsets_and_indexes_allow() -> None:
    def sizes(*parts: Any, **settings: Any) -> list[int]:
        return [len(group) for group in groups_of(parts, config(**settings))]

    three = [part(0, 10, 400), part(10, 20, 400), part(20, 30, 400)]
    assert sizes(*three, segment_bytes=1200) == [3]
    assert sizes(*three, segment_bytes=1199) == [2, 1]
    assert sizes(*three, segment_bytes=100) == [1, 1, 1]
    far = [part(0, 10, 1), part(10, 2**31, 1), part(2**31, 2**31 + 1, 1)]
    assert sizes(*far) == [2, 1]
    for index_sizes in ((40, 12), (8, 40)):
        indexed = [part(0, 10, 1, index_sizes), part(10, 20, 1, index_sizes), part(20, 30, 1)]
        assert sizes(*indexed, segment_index_bytes=80) == [3]
        assert sizes(*indexed, segment_index_bytes=79) == [1, 2]


def test_the_sizes_of_a_segments_indexes_are_those_on_disk() -> None:
    log = open_log(Disk(), index_interval_bytes=0)
    for number in range(4):
        log.append(batch(timestamp_ms=NOW_MS + number), now_ms=NOW_MS)
    assert log.segments[0].index_sizes() == (0, 0), "not written yet"
    log.roll(NOW_MS)
    assert log.segments[0].index_sizes() == (3 * 8, 3 * 12)


def test_segments_that_are_deleted_meanwhile_end_the_round(disk: Disk) -> None:
    log = log_of(disk, *[(b"k", b"%d" % number) for number in range(9)])
    todo = cleanable(log, None, NOW_MS)
    assert todo is not None
    steps = compact(todo, disk, map_size_bytes=1 << 20, now_ms=NOW_MS)
    while not any(name.endswith(".cleaned") for name in disk.names_in(DIRECTORY)):
        next(steps)
    log.delete_records(9)
    with pytest.raises(Superseded):
        for _ in steps:
            pass
    assert not [name for name in disk.names_in(DIRECTORY) if name.endswith((".cleaned", ".swap"))]
    assert (log.log_start_offset, log.log_end_offset) == (9, 9)


def test_replaced_files_are_deleted_after_the_last_possible_reader(disk: Disk) -> None:
    log = log_of(disk, (b"a", b"1"), (b"a", b"2"), file_delete_delay_ms=1000)
    compacted(log, disk)

    def deleted() -> list[str]:
        return [name for name in disk.names_in(DIRECTORY) if name.endswith(".deleted")]

    assert f"{0:020d}.log.deleted" in deleted()
    log.remove_deleted(NOW_MS + 50)
    log.remove_deleted(NOW_MS + 1049)
    assert deleted()
    log.remove_deleted(NOW_MS + 1050)
    assert not deleted()
