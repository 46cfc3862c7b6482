"""The log against a list: append and read, whatever the sizes, limits and restarts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ottla.protocol.batch import crc_is_right, headers_in, read_header
from ottla.protocol.errors import Code, Refused
from ottla.storage.appended import Origin
from ottla.storage.log import PartitionLog
from tests.storage.disk import Disk
from tests.storage.logs import (
    DIRECTORY,
    NOW_MS,
    batch,
    everything,
    open_log,
    payloads,
    ranges,
    sent,
    sent_by,
)


def test_offsets_are_given_in_the_order_of_appends(log: PartitionLog) -> None:
    assert log.append(batch(b"a", b"b"), now_ms=NOW_MS)[:2] == (0, 1)
    assert log.append(batch(b"c"), now_ms=NOW_MS)[:2] == (2, 2)
    assert (log.log_end_offset, log.high_watermark, log.last_stable_offset) == (3, 3, 3)
    assert ranges(log) == [(0, 1), (2, 2)]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_may_come_in_any_kind_of_buffer(kind: Any, log: PartitionLog) -> None:
    log.append(batch(b"a"), now_ms=NOW_MS)
    log.append(kind(batch(b"b")), now_ms=NOW_MS)
    (_, first), (header, second) = everything(log)
    assert header.base_offset == 1
    assert crc_is_right(second, 0, header)
    assert len(first) == len(second)


def test_the_leader_epoch_goes_into_the_batch_and_where_it_began_is_known() -> None:
    log = open_log()
    log.append(batch(b"a", b"b"), now_ms=NOW_MS)
    log.leader_epoch = 3
    log.append(batch(b"c"), now_ms=NOW_MS)
    assert [header.leader_epoch for header, _ in everything(log)] == [0, 3]
    asked = {epoch: log.offset_for_leader_epoch(epoch) for epoch in (-1, 0, 2, 3, 4)}
    assert asked == {-1: (-1, -1), 0: (0, 2), 2: (0, 2), 3: (3, 3), 4: (-1, -1)}


def test_an_epoch_with_deleted_records_ends_at_the_log_start_offset(log: PartitionLog) -> None:
    """Else a returning consumer would get an offset that no longer exists (KIP-320)."""
    log.append(batch(b"a", b"b"), now_ms=NOW_MS)
    log.leader_epoch = 3
    for _ in range(3):
        log.append(batch(), now_ms=NOW_MS)
    log.delete_records(3)  # the segment stays
    log.leader_epoch = 5
    assert [log.offset_for_leader_epoch(epoch) for epoch in (0, 3)] == [(0, 3), (3, 5)]


def test_an_epoch_is_on_disk_before_the_first_batch_that_carries_it(disk: Disk) -> None:
    log = open_log(disk)
    log.leader_epoch = 4
    log.append(batch(), now_ms=NOW_MS)
    assert disk.read("data/orders-0/leader-epoch-checkpoint").rstrip() == b"0\n1\n4 0"


def test_an_epoch_that_has_not_written_ends_at_the_end(log: PartitionLog) -> None:
    assert log.offset_for_leader_epoch(0) == (0, 0)
    log.append(batch(), now_ms=NOW_MS)
    log.leader_epoch = 2
    assert log.offset_for_leader_epoch(2) == (2, 1)


def test_an_offset_inside_a_batch_returns_the_whole_batch(log: PartitionLog) -> None:
    log.append(batch(b"a", b"b", b"c"), now_ms=NOW_MS)
    log.append(batch(b"d"), now_ms=NOW_MS)

    def bases(offset: int) -> list[int]:
        read = log.read(offset, max_bytes=1 << 20, up_to=4, min_one=True)
        return [header.base_offset for _, header in headers_in(read.records)]

    assert [bases(offset) for offset in range(5)] == [[0, 3], [0, 3], [0, 3], [3], []]


def test_a_first_batch_over_the_limit_is_returned_alone_or_not_at_all(log: PartitionLog) -> None:
    big = batch(b"x" * 500)
    log.append(big, now_ms=NOW_MS)
    log.append(batch(), now_ms=NOW_MS)
    alone = log.read(0, max_bytes=1, up_to=2, min_one=True)
    assert (len(alone.records), alone.next_offset) == (len(big), 1)
    nothing = log.read(0, max_bytes=len(big) - 1, up_to=2, min_one=False)
    assert nothing == (b"", 0)


def test_only_whole_batches_are_returned(log: PartitionLog) -> None:
    size = len(batch())
    for _ in range(10):
        log.append(batch(), now_ms=NOW_MS)
    for limit in range(size, 4 * size):
        read = log.read(3, max_bytes=limit, up_to=10, min_one=True)
        count = limit // size
        assert (len(read.records), read.next_offset) == (count * size, 3 + count)


def test_the_newest_batches_are_found_without_a_search_and_the_others_by_one(disk: Disk) -> None:
    log = open_log(disk)
    for number in range(700):
        log.append(batch(b"%d" % number, b"x"), now_ms=NOW_MS)
    for offset in [*range(0, 1400, 99), *range(1100, 1400)]:
        read = log.read(offset, max_bytes=1, up_to=1400, min_one=True)
        header = read_header(read.records)
        assert header.base_offset == offset - offset % 2
        assert read.next_offset == header.next_offset


def test_nothing_behind_up_to_is_returned(log: PartitionLog) -> None:
    for count in (2, 1, 3):
        log.append(batch(*[b"v"] * count), now_ms=NOW_MS)
    for up_to, expected in ((0, 0), (2, 2), (3, 3), (6, 6)):
        read = log.read(0, max_bytes=1 << 20, up_to=up_to, min_one=True)
        last = max((h.next_offset for _, h in headers_in(read.records)), default=0)
        assert (last, read.next_offset) == (expected, expected)


@pytest.mark.parametrize("offset", [-2, -1, 4, 1000])
def test_an_offset_that_the_log_does_not_have_is_out_of_range(offset: int) -> None:
    log = open_log()
    log.append(batch(b"a", b"b", b"c"), now_ms=NOW_MS)
    with pytest.raises(Refused) as refused:
        log.read(offset, max_bytes=100, up_to=3, min_one=True)
    assert refused.value.code == Code.OFFSET_OUT_OF_RANGE


def test_a_full_segment_is_followed_by_another(disk: Disk) -> None:
    log = open_log(disk, segment_bytes=150)
    for _ in range(5):
        log.append(batch(), now_ms=NOW_MS)
    names = [f"{offset:020d}.log" for offset in (0, 2, 4)]
    assert [name for name in disk.names_in("data/orders-0") if name.endswith(".log")] == names
    assert ranges(log) == [(offset, offset) for offset in range(5)]


def test_a_segment_ends_when_its_time_is_up() -> None:
    log = open_log(segment_ms=1000)
    for time_ms in (0, 1000, 1001, 1500):
        log.append(batch(timestamp_ms=NOW_MS + time_ms), now_ms=NOW_MS + time_ms)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


@pytest.mark.parametrize("byte", range(8))
def test_a_wrong_last_entry_of_the_newest_index_does_not_hide_the_end(byte: int) -> None:
    disk = Disk()
    log = open_log(disk, index_interval_bytes=0)
    for _ in range(4):
        log.append(batch(), now_ms=NOW_MS)
    log.close(clean=True)
    disk.files[f"{DIRECTORY}/{0:020d}.index"].data[-8 + byte] ^= 1
    log = open_log(disk, index_interval_bytes=0)
    assert (log.log_end_offset, ranges(log)) == (4, [(offset, offset) for offset in range(4)])
    assert len(log.segments) == 1


@pytest.mark.parametrize("clean", [True, False])
def test_after_a_start_the_bytes_between_entries_of_the_indexes_are_counted_anew(
    clean: bool, disk: Disk
) -> None:
    for _ in range(2):
        log = open_log(disk, clean=clean, index_interval_bytes=3 * len(batch()) - 1)
        for _ in range(3):
            log.append(batch(), now_ms=NOW_MS)
        log.close(clean=clean)
    log = open_log(disk, clean=clean, index_interval_bytes=3 * len(batch()) - 1)
    found = [] if clean else [(3, 3 * len(batch()))]
    assert log.segments[0].offset_index.entries() == found
    for _ in range(4):
        log.append(batch(), now_ms=NOW_MS)
    assert log.segments[0].offset_index.entries() == [*found, (9, 9 * len(batch()))]


def test_a_batch_with_a_refused_producer_still_rolls_a_due_segment() -> None:
    """As in Kafka, which makes room for a batch before it looks at its producer's state."""
    log = open_log(segment_ms=1000)
    log.append(sent_by(7, 0), now_ms=NOW_MS)
    late = batch(producer_id=7, producer_epoch=0, base_sequence=5, timestamp_ms=NOW_MS + 1001)
    with pytest.raises(Refused, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
        log.append(late, now_ms=NOW_MS)
    assert [segment.base_offset for segment in log.segments] == [0, 1]


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    log = open_log(segment_bytes=100)
    with pytest.raises(Refused) as refused:
        log.append(batch(b"x" * 100), now_ms=NOW_MS)
    assert refused.value.code == Code.RECORD_LIST_TOO_LARGE
    assert log.log_end_offset == 0


def test_batches_of_the_broker_have_no_sequence_numbers(log: PartitionLog) -> None:
    for _ in range(2):
        data = batch(producer_id=7, producer_epoch=1, transactional=True)
        log.append(data, now_ms=NOW_MS, origin=Origin.COORDINATOR)
    assert log.last_stable_offset == 0
    older = batch(producer_id=7, producer_epoch=0, transactional=True)
    with pytest.raises(Refused, match="INVALID_PRODUCER_EPOCH"):
        log.append(older, now_ms=NOW_MS, origin=Origin.COORDINATOR)


def test_an_unused_partition_has_no_open_file(tmp_path: Any, disk: Disk, log: PartitionLog) -> None:
    assert disk.names_in("data/orders-0") == []
    log.append(batch(), now_ms=NOW_MS)
    log.close(clean=True)
    again = open_log(disk)
    again.close(clean=True)
    assert ranges(again) == [(0, 0)], "a closed log opens its file when it is read"


def test_a_duplicate_is_answered_with_the_old_offsets_and_not_written(log: PartitionLog) -> None:
    log.append(sent_by(7, 0, 3), now_ms=NOW_MS)
    size = log.size_bytes
    assert log.append(sent_by(7, 0, 3), now_ms=NOW_MS) == (0, 2, NOW_MS, True)
    assert (log.size_bytes, log.log_end_offset) == (size, 3)


def test_records_deleted_are_gone_and_the_producer_is_still_known(disk: Disk) -> None:
    log = open_log(disk, segment_bytes=150)
    for sequence in range(5):
        log.append(sent_by(7, sequence), now_ms=NOW_MS)
    assert log.delete_records(3) == 3
    assert log.delete_records(1) == 3
    assert [segment.base_offset for segment in log.segments] == [2, 4]
    for offset in (0, 2):  # of the second one the segment is still there
        with pytest.raises(Refused, match="OFFSET_OUT_OF_RANGE"):
            log.read(offset, max_bytes=100, up_to=5, min_one=True)
    log.remove_deleted(NOW_MS)
    log.remove_deleted(NOW_MS + log.config.file_delete_delay_ms)
    assert not [name for name in disk.names_in("data/orders-0") if name.startswith("0" * 20)]
    for offset in (6, -5):
        with pytest.raises(Refused, match="OFFSET_OUT_OF_RANGE"):
            log.delete_records(offset)
    assert log.delete_records(5) == 5
    with pytest.raises(Refused, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
        log.append(sent_by(7, 9), now_ms=NOW_MS)
    assert log.append(sent_by(7, 5), now_ms=NOW_MS).base_offset == 5


class LogAgainstAList(RuleBasedStateMachine):
    """A log and the list of what was appended to it, through restarts of both kinds."""

    @initialize(segment_bytes=st.integers(400, 2000), interval=st.sampled_from([0, 100, 4096]))
    def begin(self, segment_bytes: int, interval: int) -> None:
        self.settings: dict[str, Any] = {
            "segment_bytes": segment_bytes,
            "index_interval_bytes": interval,
        }
        self.disk = Disk()
        self.log: PartitionLog = open_log(self.disk, **self.settings)
        self.batches: list[bytearray] = []
        self.firsts: list[int] = []
        self.end = 0

    @rule(count=st.integers(1, 5), size=st.integers(0, 40))
    def append(self, count: int, size: int) -> None:
        data = batch(*[b"x" * size] * count)
        self.batches.append(data)
        self.firsts.append(self.end)
        assert self.log.append(bytes(data), now_ms=NOW_MS).base_offset == self.end
        self.end += count

    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        self.log.close(clean=clean)
        self.disk = self.disk.after_kill()
        self.log = open_log(self.disk, clean=clean, **self.settings)

    @rule(data=st.data())
    def read_anywhere(self, data: st.DataObject) -> None:
        if not self.firsts:
            return
        offset = data.draw(st.integers(0, self.end - 1))
        read = self.log.read(offset, max_bytes=300, up_to=self.end, min_one=True)
        at = max(i for i, first in enumerate(self.firsts) if first <= offset)
        found = [read.records[p + 17 : p + h.size_bytes] for p, h in headers_in(read.records)]
        assert found
        assert found == sent(self.batches[at : at + len(found)])

    @invariant()
    def all_is_there(self) -> None:
        assert self.log.log_end_offset == self.end
        assert payloads(self.log) == sent(self.batches)


LogAgainstAList.TestCase.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)
TestLogAgainstAList = LogAgainstAList.TestCase


def test_a_header_can_be_read_where_a_batch_was_appended() -> None:
    data = batch(b"a")
    open_log().append(data, now_ms=NOW_MS)
    assert read_header(data).base_offset == 0
