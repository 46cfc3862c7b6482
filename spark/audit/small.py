"""Rows of small log directories, in plain Python: for tests without Spark, numpy and pyarrow.

`rows.py` reads the same rows by columns, in parts that Spark distributes; a test compares both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ...audit.coordinator import STATE_TOPIC
from ...audit.decode import batch_row, coordinator_records, offset_records
from ...audit.offsets import OFFSETS_TOPIC
from ...audit.rows import AbortedEntry, LogBatch, LogRow, SegmentStart
from ...audit.rules import Finding
from ...audit.whole import Logs
from ...protocol.batch import CRC_START, HEADER_SIZE, LOG_OVERHEAD, MAGIC, BatchHeader, read_header
from ...protocol.checksum import crc32c
from ...protocol.errors import Refused
from ...storage.producer_state.aborted import decode as decode_index
from ..kafka_log.files import OpenFile, read_whole
from ..kafka_log.listing import METADATA_TOPIC, Partition, Segment, partitions_in

INDEX: Final = "txnindex"
NO_PARTITIONS: Final = "{} has no partitions: the data directory of a broker was expected"
_LEAST_LENGTH: Final = HEADER_SIZE - LOG_OVERHEAD
_WINDOW_BYTES: Final = 1 << 20
_MAGIC_AT: Final = 16
_SEGMENT_OFFSETS: Final = 1 << 31  # offsets in an index are relative numbers of 32 bits


class _Whole(NamedTuple):
    """A valid batch, with its bytes."""

    position: int
    header: BatchHeader
    data: bytes


class _Damaged(NamedTuple):
    """Bytes that are no valid batch."""

    position: int
    end: int


def read_logs(directory: str) -> Logs:
    """All rows of a directory.

    Raises:
        OSError: it cannot be read.
        ValueError: it has no partition, or no library opens its URI.
    """
    logs = Logs()
    partition = None
    for partition in partitions_in(directory):
        if partition.topic != METADATA_TOPIC:
            _read_partition(partition, logs)
    if partition is None:
        raise ValueError(NO_PARTITIONS.format(directory))
    return logs


def _read_partition(partition: Partition, logs: Logs) -> None:
    for segment in partition.segments:
        logs.rows += _rows(segment, _decode(_batches(segment), partition, logs))


def _decode(
    found: Iterator[_Whole | _Damaged], partition: Partition, logs: Logs
) -> Iterator[_Whole | _Damaged]:
    """The same, with the records of the internal topics added to the logs."""
    number = partition.partition
    for each in found:
        yield each
        if isinstance(each, _Damaged):
            continue
        try:
            if partition.topic == STATE_TOPIC:
                for row in coordinator_records(number, each.header, each.data):
                    if isinstance(row, Finding):
                        logs.unreadable.append(row)
                    else:
                        logs.states.append(row)
            elif partition.topic == OFFSETS_TOPIC:
                logs.offsets += offset_records(number, each.header, each.data)
        except Refused:
            continue  # the rules of batches report it


def _rows(segment: Segment, found: Iterator[_Whole | _Damaged]) -> Iterator[LogRow]:
    place = (segment.topic, segment.partition)
    base = segment.base_offset
    yield SegmentStart(*place, base, segment.has(INDEX), segment.is_last)
    content = read_whole(segment.store, segment.beside(INDEX)) if segment.has(INDEX) else b""
    entries = sorted(decode_index(content or b""), key=lambda entry: entry.last_offset)
    next_offset = base
    for each in found:
        if isinstance(each, _Damaged):
            is_torn = segment.is_last and each.end >= segment.size_bytes
            if not is_torn:
                yield LogBatch(
                    *place, next_offset, next_offset,
                    crc_ok=False, segment=base, position=each.position,
                )  # fmt: skip
            continue
        next_offset = each.header.last_offset + 1
        while entries and entries[0].last_offset <= each.header.base_offset:
            yield AbortedEntry(*place, *entries.pop(0))
        row = batch_row(*place, each.header, each.data)
        yield row._replace(segment=base, position=each.position)
    for entry in entries:
        yield AbortedEntry(*place, *entry)


def _batches(segment: Segment) -> Iterator[_Whole | _Damaged]:
    """The valid batches of a file, and the bytes between them; none of a deleted file."""
    try:
        file = segment.store.open(segment.path)
    except FileNotFoundError:
        return
    try:
        position, end = 0, segment.size_bytes
        while position < end:
            found = _valid(file, position, end)
            if found is not None:
                yield found
                position += len(found.data)
                continue
            behind = _behind_damage(file, position, segment)
            if behind < end or file.read_at(position, end - position).strip(b"\0"):
                yield _Damaged(position, behind)  # else it is the reserved end of the file
            position = behind
    finally:
        file.close()


def _valid(file: OpenFile, position: int, end: int) -> _Whole | None:
    """The batch at a position, if its header is plausible and its CRC right."""
    head = file.read_at(position, HEADER_SIZE)
    claimed = _claimed(head, position)
    if claimed is None or claimed > end:
        return None
    data = file.read_at(position, claimed - position)
    header = read_header(data)
    if len(data) != claimed - position or crc32c(memoryview(data)[CRC_START:]) != header.crc:
        return None
    return _Whole(position, header, data)


def _claimed(head: bytes, position: int) -> int | None:
    """Where the batch would end, by its header; None if the header is none."""
    if len(head) < HEADER_SIZE:
        return None
    header = read_header(head)
    if header.magic != MAGIC or header.length < _LEAST_LENGTH:
        return None
    return position + LOG_OVERHEAD + header.length


def _behind_damage(file: OpenFile, position: int, segment: Segment) -> int:
    """Where the next valid batch begins, or the end of the file."""
    end = segment.size_bytes
    head = file.read_at(position, HEADER_SIZE)
    claimed = _claimed(head, position)
    if claimed is not None and claimed < end:
        found = _valid(file, claimed, end)
        if found is not None and found.header.base_offset == read_header(head).last_offset + 1:
            return claimed
    limit = segment.end_offset or segment.base_offset + _SEGMENT_OFFSETS
    start = position + 1
    while start + HEADER_SIZE <= end:
        window = file.read_at(start, min(_WINDOW_BYTES, end - start))
        at = window.find(MAGIC, _MAGIC_AT)
        while 0 <= at <= len(window) - HEADER_SIZE + _MAGIC_AT:
            candidate = start + at - _MAGIC_AT
            found = _valid(file, candidate, end)
            if found is not None and segment.base_offset <= found.header.base_offset < limit:
                return candidate
            at = window.find(MAGIC, at + 1)
        start += max(1, len(window) - HEADER_SIZE + 1)
    return end
