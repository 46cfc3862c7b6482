"""Parameters and results of a read from a log.

A large result is a `FileRange`: its bytes stay in the file until they are sent.
"""

from __future__ import annotations

import sys
from typing import Final, Protocol

from ...protocol.batch import HEADER, HEADER_SIZE, LOG_OVERHEAD
from ...protocol.named_tuple import NamedTuple

ALL: Final = sys.maxsize
_NEAR_BYTES: Final = 1 << 12  # about the distance of two index entries


class ReadLimits(NamedTuple):
    """The limits of a read.

    Attributes:
        max_bytes: limit for whole batches.
        up_to: an offset between batches, such as high watermark or last stable offset; the read
            ends before it.
        min_one: return the first batch even if it is larger than `max_bytes`.
        at_once: a larger result is not read but returned as a `FileRange`.
    """

    max_bytes: int
    up_to: int
    min_one: bool = True
    at_once: int = ALL


class Found(NamedTuple):
    """Whole batches as stored in the log, and the offset behind the last one.

    The records are a view if more was read than requested: a copy costs a third of a Fetch.
    """

    records: bytes | memoryview | FileRange
    next_offset: int


class Read(NamedTuple):
    """The same, all of it in memory."""

    records: bytes | memoryview
    next_offset: int


class DataFile(Protocol):
    """What a read uses of a segment."""

    @property
    def size_bytes(self) -> int: ...

    def read_at(self, size_bytes: int, position: int) -> bytes:
        """At most so many bytes of the data file. Raises OSError."""

    def indexed_batch(self, position: int) -> int:
        """Where a batch begins: the last one of the index at or before a position, or the first."""

    def range(self, position: int, end: int, next_offset: int, at_once: int) -> Found:
        """The batches between two positions, read if they are no more than `at_once` bytes."""

    def begin_reading(self) -> None:
        """Keep the file open for a range."""

    def end_reading(self) -> None:
        """The range is not used any more."""


class SearchedFile(DataFile, Protocol):
    """What a search for an offset uses of a segment."""

    @property
    def next_offset(self) -> int: ...
    def position_of(self, offset: int) -> int | None:
        """Position of the first batch whose last offset is at or behind `offset`."""


class FileRange:
    """A range of a data file that is read in parts while it is sent.

    Otherwise clients that do not read their answers would fill the memory. The file stays open for
    the range if its segment, or its whole topic, is deleted or compacted meanwhile. If it is only
    one of too many open files, it is closed, and the next part opens it again.

    Args:
        segment: the segment of the file; it is notified when the range is no longer used.
        position: start of the range in the file.
        size_bytes: length of the range.
    """

    __slots__ = ("_position", "_segment", "_size_bytes")

    def __init__(self, segment: DataFile, position: int, size_bytes: int) -> None:
        self._segment = segment
        self._position = position
        self._size_bytes = size_bytes
        segment.begin_reading()

    def __len__(self) -> int:
        return self._size_bytes

    def __del__(self) -> None:
        self._segment.end_reading()

    def slice(self, start: int, size_bytes: int) -> FileRange:
        """A range within this one."""
        return FileRange(self._segment, self._position + start, size_bytes)

    def part(self, start: int, size_bytes: int) -> bytes:
        """`size_bytes` of the range from `start` on, which must lie in it.

        Raises:
            OSError: the file cannot be read, or has become shorter.
        """
        position = self._position + start
        data = self._segment.read_at(size_bytes, position)
        if len(data) != size_bytes:
            raise OSError(
                f"the file has {len(data)} bytes at position {position}, not {size_bytes}"
            )
        return data


def position_from(segment: DataFile, start: int, offset: int) -> int | None:
    """Position of the first batch whose last offset is at or behind `offset`; None: no such batch.

    Args:
        start: position of an earlier batch nearby, from the index.
    """
    position, end = start, segment.size_bytes
    chunk, chunk_start = b"", 0
    while position + HEADER_SIZE <= end:
        at = position - chunk_start
        if at + HEADER_SIZE > len(chunk):
            chunk_start, at = position, 0
            chunk = segment.read_at(min(_NEAR_BYTES, end - position), position)
        fields = HEADER.unpack_from(chunk, at)
        if fields[1] < HEADER_SIZE - LOG_OVERHEAD:
            return None  # not a batch: another process changed the file
        if fields[0] + fields[6] >= offset:
            return position
        position += fields[1] + LOG_OVERHEAD
    return None


def find_in(segment: SearchedFile, offset: int, limits: ReadLimits) -> Found | None:
    """`Segment.find` for data that needs no verification."""
    position = segment.position_of(offset)
    if position is None:
        return None
    max_bytes, up_to, _, at_once = limits
    if up_to >= segment.next_offset:
        end = segment.size_bytes
        next_offset = segment.next_offset
    else:
        found = segment.position_of(up_to)
        end = segment.size_bytes if found is None else found  # None: compaction left a gap there
        next_offset = up_to
        if end <= position:
            return Found(b"", offset)
    if end - position <= max_bytes:
        return segment.range(position, end, next_offset, at_once)
    return part_of(segment, position, offset, limits)


def part_of(segment: DataFile, position: int, offset: int, limits: ReadLimits) -> Found:
    """At most `max_bytes` from a position on, cut behind a whole batch; there must be more data.

    Args:
        offset: the offset of the result if the first batch is too large.
    """
    max_bytes = limits.max_bytes
    if max_bytes > limits.at_once:
        return _part_by_headers(segment, position, offset, limits)
    data = segment.read_at(max_bytes if max_bytes > HEADER_SIZE else HEADER_SIZE, position)
    fields = HEADER.unpack_from(data)
    if fields[1] + LOG_OVERHEAD > max_bytes:
        return _first_alone(segment, position, offset, limits)
    at = max(segment.indexed_batch(position + max_bytes) - position, 0)
    while at + HEADER_SIZE <= len(data):
        fields = HEADER.unpack_from(data, at)
        if at + fields[1] + LOG_OVERHEAD > max_bytes:
            return Found(memoryview(data)[:at], fields[0])
        at += fields[1] + LOG_OVERHEAD
    (next_offset, *_) = HEADER.unpack_from(segment.read_at(HEADER_SIZE, position + at))
    return Found(memoryview(data)[:at], next_offset)


def _part_by_headers(segment: DataFile, position: int, offset: int, limits: ReadLimits) -> Found:
    limit = position + limits.max_bytes
    at = max(segment.indexed_batch(limit), position)
    while True:
        fields = HEADER.unpack_from(segment.read_at(HEADER_SIZE, at))
        if fields[1] < HEADER_SIZE - LOG_OVERHEAD:
            raise OSError(f"no batch begins at {at}: another process changed the file")
        end = at + fields[1] + LOG_OVERHEAD
        if end > limit:
            break
        at = end
    if at == position:
        return _first_alone(segment, position, offset, limits)
    return segment.range(position, at, fields[0], limits.at_once)


def _first_alone(segment: DataFile, position: int, offset: int, limits: ReadLimits) -> Found:
    """The batch at a position, if it is larger than `max_bytes`."""
    if not limits.min_one:
        return Found(b"", offset)
    fields = HEADER.unpack_from(segment.read_at(HEADER_SIZE, position))
    end = position + fields[1] + LOG_OVERHEAD
    return segment.range(position, end, fields[0] + fields[6] + 1, limits.at_once)
