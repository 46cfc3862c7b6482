"""A disk that is full, broken or changed by another process: refusals, and kept data."""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from ottla.protocol.errors import Code, Refused
from ottla.storage.cleaning.retention import delete_old_segments
from ottla.storage.disk.files import Bytes
from ottla.storage.log import PartitionLog
from ottla.storage.segments.segment import file_name
from tests.storage.disk import Disk
from tests.storage.logs import (
    DIRECTORY,
    NOW_MS,
    batch,
    end_of,
    in_transaction,
    max_timestamp,
    offset_for_timestamp,
    open_log,
    payloads,
    sent,
    sent_by,
)

DATA = f"{DIRECTORY}/{file_name(0, '.log')}"


class SmallDisk(Disk):
    """A disk of so many bytes: of what does not fit a part is written, as systems do.

    Attributes:
        capacity_bytes: of all files together.
        tells: whether a write that does not fit is an error or comes back short.
    """

    def __init__(self, capacity_bytes: int = 1 << 30, *, tells: bool = True) -> None:
        super().__init__()
        self.capacity_bytes = capacity_bytes
        self.tells = tells

    def append(self, descriptor: int, data: Bytes, /) -> int:
        room = self.capacity_bytes - sum(len(file.data) for file in self.files.values())
        if len(data) <= room:
            return super().append(descriptor, data)
        super().append(descriptor, memoryview(data)[: max(room, 0)])
        if self.tells:
            raise OSError(errno.ENOSPC, "No space left on device")
        return max(room, 0)

    def rename(self, source: str, target: str, /) -> None:
        self.files.pop(target, None)
        super().rename(source, target)


def refused(append: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as told:
        append()
    assert told.value.code == Code.KAFKA_STORAGE_ERROR
    return told.value


@pytest.mark.parametrize("tells", [True, False])
def test_a_full_disk_refuses_and_undoes_an_append_until_space_is_free(tells: bool) -> None:
    disk = SmallDisk(tells=tells)
    log = open_log(disk)
    kept = [sent_by(7, sequence) for sequence in range(3)]
    log.append(kept[0], now_ms=NOW_MS)
    used = sum(len(file.data) for file in disk.files.values())
    for room in range(1, len(kept[1])):  # however much of it fits
        disk.capacity_bytes = used + room
        told = refused(lambda: log.append(bytearray(kept[1]), now_ms=NOW_MS))
        assert "Errno 28" in (told.why or "")
        assert len(disk.files[DATA].data) == len(kept[0]), "half a batch was left behind"
        assert log.log_end_offset == 1
    disk.capacity_bytes = 1 << 30
    for one in kept[1:]:  # the same sequence numbers: nothing of the refused ones was noted
        log.append(one, now_ms=NOW_MS)
    assert payloads(log) == sent(kept)
    assert payloads(open_log(disk.after_kill(), clean=False)) == sent(kept)


def test_whatever_finds_no_room_while_segments_roll_nothing_acknowledged_is_lost() -> None:
    """Each capacity ends the room somewhere else: in data, indexes, snapshots, epochs."""
    for capacity_bytes in range(0, 1_500, 7):
        disk = SmallDisk(capacity_bytes)
        log = open_log(disk, segment_bytes=250)
        acknowledged: list[bytearray] = []
        for step in range(12):
            if step == 8:
                disk.capacity_bytes = 1 << 30
            one = batch(b"step %d" % step)
            try:
                log.append(one, now_ms=NOW_MS)
            except Refused:
                assert step < 8, "there is room again"
            else:
                acknowledged.append(one)
        assert payloads(log) == sent(acknowledged), capacity_bytes
        again = open_log(disk.after_kill(), clean=False, segment_bytes=250)
        assert payloads(again) == sent(acknowledged), capacity_bytes
        log.close(clean=True)
        again = open_log(disk.after_kill(), segment_bytes=250)
        assert payloads(again) == sent(acknowledged), capacity_bytes


def test_a_refused_marker_leaves_the_transaction_open_and_can_be_written_later() -> None:
    disk = SmallDisk()
    log = open_log(disk)
    log.append(in_transaction(7, 0), now_ms=NOW_MS)
    disk.capacity_bytes = 0
    refused(lambda: log.append_marker(end_of(7, commit=False), now_ms=NOW_MS))
    assert log.last_stable_offset == 0
    disk.capacity_bytes = 1 << 30
    log.append_marker(end_of(7, commit=False), now_ms=NOW_MS)
    assert log.last_stable_offset == 2
    assert len(log.aborted_transactions(0, 1)) == 1


def test_a_write_error_is_taken_back_and_the_next_append_is_tried(disk: Disk) -> None:
    log = open_log(disk)
    log.append(batch(b"kept"), now_ms=NOW_MS)
    disk.fail_at = disk.operations + 1  # half of it is written
    refused(lambda: log.append(batch(b"lost"), now_ms=NOW_MS))
    log.append(batch(b"next"), now_ms=NOW_MS)
    assert payloads(log) == sent([batch(b"kept"), batch(b"next")])
    assert log.failure is None


class Untruncatable(Disk):
    """Fails a write, and then to take it back."""

    fails = False

    def append(self, descriptor: int, data: Bytes, /) -> int:
        if self.fails:
            super().append(descriptor, memoryview(data)[: len(data) // 2])
            raise OSError(errno.EIO, "Input/output error")
        return super().append(descriptor, data)

    def truncate(self, descriptor: int, size_bytes: int, /) -> None:
        if self.fails:
            raise OSError(errno.EIO, "Input/output error")
        super().truncate(descriptor, size_bytes)


def test_an_append_that_cannot_be_undone_stops_appends_until_a_restart_cuts_it_off() -> None:
    disk = Untruncatable()
    log = open_log(disk)
    log.append(batch(b"kept"), now_ms=NOW_MS)
    disk.fails = True
    refused(lambda: log.append(batch(b"lost"), now_ms=NOW_MS))
    disk.fails = False
    told = refused(lambda: log.append(batch(b"later"), now_ms=NOW_MS))
    assert "the end of the log is unknown" in (told.why or "")
    with pytest.raises(OSError, match="the end of the log is unknown"):
        log.roll(NOW_MS)  # or the half batch would be in the middle of the log
    assert payloads(log) == sent([batch(b"kept")])
    with pytest.raises(OSError, match="the end of the log is unknown"):
        log.close(clean=True)
    again = open_log(disk.after_kill(), clean=False)
    again.append(batch(b"later"), now_ms=NOW_MS)
    assert payloads(again) == sent([batch(b"kept"), batch(b"later")])


def a_log_of_three_segments(disk: Disk) -> PartitionLog:
    log = open_log(disk, segment_bytes=200)
    while len(log.segments) < 3:
        log.append(batch(), now_ms=NOW_MS)
    for segment in log.segments:
        segment.close()
    return log


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_data_file_that_goes_missing_is_named_and_the_others_are_read(is_cut: bool) -> None:
    disk = Disk()
    log = a_log_of_three_segments(disk)
    if is_cut:
        del disk.files[DATA].data[10:]
    else:
        del disk.files[DATA]
    limits: dict[str, Any] = {"max_bytes": 1000, "up_to": log.high_watermark, "min_one": True}
    told = refused(lambda: log.read(0, **limits))
    assert DATA in (told.why or "")
    assert is_cut or DATA not in disk.files, "an empty one in its place would look like a log"
    second = log.segments[1].base_offset
    assert log.read(second, **limits).records
    log.append(batch(b"still"), now_ms=NOW_MS)


def test_an_unreadable_file_refuses_lookups_by_time_too(disk: Disk) -> None:
    log = a_log_of_three_segments(disk)

    def broken(_descriptor: int, _size_bytes: int, _position: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    disk.read_at = broken  # type: ignore[method-assign]  # the test changes its fake disk
    for ask in (lambda: offset_for_timestamp(log, NOW_MS), lambda: max_timestamp(log)):
        assert "Input/output" in (refused(ask).why or "")


class Flaky(Disk):
    """Fails one read of a data file."""

    fails_in = 0

    def read_at(self, descriptor: int, size_bytes: int, position: int, /) -> bytes:
        self.fails_in -= 1
        if self.fails_in == 0:
            raise OSError(errno.EIO, "Input/output error")
        return super().read_at(descriptor, size_bytes, position)


def flaky(disk: Disk, *, without: tuple[str, ...] = ()) -> Flaky:
    copy, made = disk.after_kill(), Flaky()
    made.files = {p: file for p, file in copy.files.items() if not p.endswith(without)}
    made.directories = copy.directories
    return made


def asked(log: PartitionLog) -> list[object]:
    """Its records by time and by offset."""
    times = range(NOW_MS - 1, NOW_MS + 8)
    return [
        *(offset_for_timestamp(log, time_ms) for time_ms in times),
        max_timestamp(log),
        *(log.aborted_transactions(first, log.log_end_offset - 1) for first in range(0, 14, 3)),
        payloads(log),
        delete_old_segments(log, NOW_MS),
        log.log_start_offset,
    ]


@pytest.mark.parametrize("without", [(), (".index",), (".timeindex",), (".txnindex",)])
def test_a_failed_read_changes_no_later_answer(without: tuple[str, ...], disk: Disk) -> None:
    log = open_log(disk, segment_bytes=300, index_interval_bytes=80)
    for number in range(14):
        log.append(batch(timestamp_ms=NOW_MS + number // 2), now_ms=NOW_MS)
        if number % 4 == 1:
            log.append(in_transaction(7, number // 4), now_ms=NOW_MS)
            log.append_marker(end_of(7, commit=number > 9), now_ms=NOW_MS)
    assert len(log.segments) > 3
    log.close(clean=True)
    expected = asked(open_log(flaky(disk, without=without)))
    assert expected[-2:] == [0, 0]
    for fails_in in range(1, 200):
        harmed = flaky(disk, without=without)
        log = open_log(harmed)
        harmed.fails_in = fails_in
        with suppress(Refused):
            asked(log)
            break  # it got to its end
        assert asked(log) == expected, fails_in
    assert fails_in > 10
