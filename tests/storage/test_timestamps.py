"""Offsets by time: the first record of a time or later, and the latest of all (KIP-79, KIP-734)."""

from __future__ import annotations

import struct
from bisect import bisect_left
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.protocol.batch import HEADER, HEADER_SIZE, Compression, seal
from ottla.protocol.compression import compressed
from ottla.storage.log import PartitionLog
from ottla.storage.segments.time_search import load_times_in_steps
from tests.storage.disk import CountingDisk, Disk
from tests.storage.logs import (
    DIRECTORY,
    NOW_MS,
    batch,
    end_of,
    in_transaction,
    max_timestamp,
    offset_for_timestamp,
    open_log,
)


def timed(*times_ms: int, codec: Compression = Compression.NONE) -> bytearray:
    """A batch of records of these times; base timestamp 0."""
    payload = b""
    for delta, time_ms in enumerate(times_ms):
        body = b"\0" + varint(time_ms) + varint(delta) + b"\x01\x01\0"
        payload += varint(len(body)) + body
    data = bytearray(HEADER_SIZE) + compressed(codec, payload)
    count = len(times_ms)
    HEADER.pack_into(
        data, 0, 0, len(data) - 12, 0, 2, 0, codec, count - 1, 0, max(times_ms), -1, -1, -1, count
    )
    seal(data)
    return data


def varint(value: int) -> bytes:
    zigzag, out = value << 1, b""
    while zigzag > 0x7F:
        out, zigzag = out + struct.pack("B", zigzag & 0x7F | 0x80), zigzag >> 7
    return out + struct.pack("B", zigzag)


@pytest.mark.parametrize("codec", list(Compression))
def test_a_time_is_found_inside_a_batch(codec: Compression, log: PartitionLog) -> None:
    log.append(timed(1000, 1100, 1200, codec=codec), now_ms=NOW_MS)
    asked = {time_ms: offset_for_timestamp(log, time_ms) for time_ms in (0, 1000, 1050, 1101, 1201)}
    assert asked == {
        0: (0, 1000, 0), 1000: (0, 1000, 0), 1050: (1, 1100, 0), 1101: (2, 1200, 0), 1201: None,
    }  # fmt: skip


def test_the_latest_is_the_first_record_that_has_the_largest_time(log: PartitionLog) -> None:
    assert max_timestamp(log) is None
    for start in (1000, 9000, 2000):
        log.append(timed(start, start + 5, start + 2, start + 5), now_ms=NOW_MS)
    assert max_timestamp(log) == (5, 9005, 0)


def test_the_brokers_time_is_every_records_time() -> None:
    log = open_log(message_timestamp_type="LogAppendTime")
    log.append(timed(1, 2), now_ms=NOW_MS)
    log.append(timed(3, 4), now_ms=NOW_MS + 10)
    assert offset_for_timestamp(log, NOW_MS + 1) == (2, NOW_MS + 10, 0)
    assert max_timestamp(log) == (2, NOW_MS + 10, 0)


def test_a_marker_has_a_time_too(log: PartitionLog) -> None:
    log.append(in_transaction(7, 0), now_ms=NOW_MS)
    log.append_marker(end_of(7, commit=True), now_ms=NOW_MS)
    assert offset_for_timestamp(log, NOW_MS) == (0, NOW_MS, 0)
    assert offset_for_timestamp(log, NOW_MS + 1) is None


def test_deleted_records_are_not_found_by_time(log: PartitionLog) -> None:
    log.append(timed(1000, 1100, 1200), now_ms=NOW_MS)
    log.delete_records(2)
    assert offset_for_timestamp(log, 0) == (2, 1200, 0)


def test_the_first_segment_that_reaches_a_time_answers_alone() -> None:
    """As in Kafka, also where what is that late in it has been deleted."""
    log = open_log(segment_bytes=180)
    for times in ((5000,), (1000,), (6000,)):
        log.append(timed(*times), now_ms=NOW_MS)
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    log.delete_records(1)
    assert offset_for_timestamp(log, 1000) == (1, 1000, 0)
    assert offset_for_timestamp(log, 3000) is None
    assert offset_for_timestamp(log, 5001) == (2, 6000, 0)


def test_records_without_a_time_are_as_late_as_their_file(disk: Disk) -> None:
    log = open_log(disk, segment_bytes=100)
    for disk.now_ms, time_ms in ((3000, -1), (9000, 5000)):
        log.append(batch(timestamp_ms=time_ms), now_ms=NOW_MS)
    assert len(log.segments) == 2
    assert offset_for_timestamp(log, 3000) is None
    assert offset_for_timestamp(log, 3001) == (1, 5000, 0)


def test_a_wrong_last_time_index_entry_is_corrected_by_the_next_stop(disk: Disk) -> None:
    """It is found before what is appended behind it makes it look right."""
    log = open_log(disk, index_interval_bytes=0)
    for time_ms in (1000, 9000, 2000, 2000):
        log.append(timed(time_ms), now_ms=NOW_MS)
    log.close(clean=True)
    index = disk.files[f"{DIRECTORY}/{0:020d}.timeindex"]
    assert index.data[-12:-4] == struct.pack(">q", 9000)
    index.data[-12:-4] = struct.pack(">q", 9000 - 4096)
    log = open_log(disk, index_interval_bytes=0)
    for time_ms in (6000, 6000):
        log.append(timed(time_ms), now_ms=NOW_MS)
    log.roll(NOW_MS)
    log.close(clean=True)
    log = open_log(disk)
    assert max_timestamp(log) == (1, 9000, 0)
    assert offset_for_timestamp(log, 7000) == (1, 9000, 0)


def test_unordered_times_are_verified_in_steps_at_the_first_lookup() -> None:
    """Such a file must be read completely once, but in steps beside requests."""
    disk = CountingDisk()
    for _ in range(2):
        log = open_log(disk, segment_bytes=100_000, index_interval_bytes=1000)
        for _ in range(1000):
            log.append(timed(5000), now_ms=NOW_MS)
        log.roll(NOW_MS)
        log.close(clean=True)
    disk.bytes_read = 0
    log = open_log(disk, segment_bytes=100_000)
    opened = disk.bytes_read
    log.read(log.log_start_offset, max_bytes=1, up_to=log.log_end_offset, min_one=True)
    assert max(opened, disk.bytes_read - opened) <= 1 << 18, "more than a piece of a file"
    steps = list(load_times_in_steps(log.segments, 6000))
    assert len(steps) > 20
    read = disk.bytes_read
    assert offset_for_timestamp(log, 6000) is None
    assert offset_for_timestamp(log, 5000) == (0, 5000, 0)
    assert disk.bytes_read - read < 1 << 18


def test_a_segment_that_takes_appends_while_its_times_are_checked_keeps_its_indexes() -> None:
    disk = Disk()
    log = open_log(disk, index_interval_bytes=0)
    for _ in range(200):
        log.append(timed(5000), now_ms=NOW_MS)
    log.close(clean=True)
    log = open_log(disk, index_interval_bytes=0)
    (active,) = log.segments
    for number, _ in enumerate(active.load_times_in_steps()):
        log.append(timed(6000 + number), now_ms=NOW_MS)
    assert number >= 1
    assert len(active.offset_index) == 199 + number  # the first one behind a start has none
    assert offset_for_timestamp(log, 6000) == (200, 6000, 0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=4), min_size=1, max_size=12),
    st.sampled_from([0, 100, 4096]),
    st.sampled_from([170, 400, 1 << 20]),
    st.booleans(),
)
def test_any_time_leads_to_the_first_record_that_is_not_older(
    times: list[list[int]], interval: int, segment_bytes: int, restarted: bool
) -> None:
    disk = Disk()
    sizes: dict[str, Any] = {"index_interval_bytes": interval, "segment_bytes": segment_bytes}
    log = open_log(disk, **sizes)
    for batch_times in times:
        log.append(timed(*batch_times), now_ms=NOW_MS)
    if restarted:
        log.close(clean=True)
        log = open_log(disk.after_kill(), **sizes)
    records = [time_ms for batch_times in times for time_ms in batch_times]
    latest_so_far = list(accumulate(records, max))
    for time_ms in range(52):
        found = offset_for_timestamp(log, time_ms)
        offset = bisect_left(latest_so_far, time_ms)
        expected = (offset, records[offset], 0) if offset < len(records) else None
        assert found == expected
    assert max_timestamp(log) == (records.index(max(records)), max(records), 0)


def test_without_records_no_time_is_found(log: PartitionLog) -> None:
    assert offset_for_timestamp(log, 0) is None
    log.append(batch(), now_ms=NOW_MS)
    assert offset_for_timestamp(log, 0) == (0, NOW_MS, 0)
