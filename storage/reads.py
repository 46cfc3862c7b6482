"""What a reader of a log asks for, and what it gets: a little at once, much as a `FileRange`."""

from __future__ import annotations

import sys
from typing import Final, NamedTuple, Protocol

from ..protocol.batch import HEADER, HEADER_SIZE, LOG_OVERHEAD

ALL: Final = sys.maxsize
_NEAR_BYTES: Final = 1 << 12  # between two entries of an index there is about so much


class ReadLimits(NamedTuple):
    """How much is to be found.

    Attributes:
        max_bytes: of whole batches.
        up_to: an offset between batches, as high watermark and last stable offset are; nothing at
            or behind it is found.
        min_one: find the first batch even when it is larger than `max_bytes`.
        at_once: what is larger than this is not read but given as a `FileRange`.
    """

    max_bytes: int
    up_to: int
    min_one: bool = True
    at_once: int = ALL


class Found(NamedTuple):
    """What was found: whole batches as they lie in the log, and the offset behind the last one.

    The records are a view where less was wanted than was read: a copy costs a third of a Fetch.
    """

    records: bytes | memoryview | FileRange
    next_offset: int


class Read(NamedTuple):
    """What was found, all of it in memory."""

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


class FileRange:
    """A stretch of a data file that is read when it is sent, in parts, and not when it is found.

    Readers that do not read would else fill the memory. The file stays open to the range when its
    segment is deleted or compacted meanwhile, or its whole topic; where it is only one of too many
    open files it is closed, and opened again at the next part.

    Args:
        segment: whose file; it is told when nobody has the range any more.
        position: where the range begins in the file.
        size_bytes: how long it is.
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

    def part(self, start: int, size_bytes: int) -> bytes:
        """`size_bytes` of it from `start` on; both must lie in it.

        Raises:
            OSError: the file cannot be read, or is shorter than it was.
        """
        position = self._position + start
        data = self._segment.read_at(size_bytes, position)
        if len(data) != size_bytes:
            raise OSError(f"the file has {len(data)} bytes at {position}, and had {size_bytes}")
        return data


def position_from(segment: DataFile, start: int, offset: int) -> int | None:
    """Where the first batch begins whose last offset is at or behind `offset`; None: there is none.

    Args:
        start: where a batch begins that lies before, as an index has it: near.
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
            return None  # not a batch: the file was changed by somebody else
        if fields[0] + fields[6] >= offset:
            return position
        position += fields[1] + LOG_OVERHEAD
    return None


def part_of(segment: DataFile, position: int, offset: int, limits: ReadLimits) -> Found:
    """From a position on `max_bytes` of data, of which there are more, cut behind a whole batch.

    Args:
        offset: what is told when the first batch is too large.
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
            raise OSError(f"no batch begins at {at}: the file was changed by somebody else")
        end = at + fields[1] + LOG_OVERHEAD
        if end > limit:
            break
        at = end
    if at == position:
        return _first_alone(segment, position, offset, limits)
    return segment.range(position, at, fields[0], limits.at_once)


def _first_alone(segment: DataFile, position: int, offset: int, limits: ReadLimits) -> Found:
    """The batch at a position, which is larger than `max_bytes`."""
    if not limits.min_one:
        return Found(b"", offset)
    fields = HEADER.unpack_from(segment.read_at(HEADER_SIZE, position))
    end = position + fields[1] + LOG_OVERHEAD
    return segment.range(position, end, fields[0] + fields[6] + 1, limits.at_once)
