"""Record batches of format v2 (KIP-98) over any bytes-like object.

The header is read with one `unpack_from`; records are read only if needed
(compaction, compacted topics, timestamps, tools). Only `seal` changes bytes, in a bytearray of the
caller's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Final

from .checksum import crc32c
from .java_integers import wrapped_long
from .named_tuple import NamedTuple
from .varints import signed

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE: Final = HEADER.size
LOG_OVERHEAD: Final = 12  # base offset and length, which `length` does not count
CRC_POSITION: Final = 17
CRC_START: Final = 21  # the CRC covers everything from the attributes on
MAGIC: Final = 2
NO_PRODUCER_ID: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
NO_PRODUCER: Final = (NO_PRODUCER_ID, -1)
"""The producer's id and epoch of a batch without idempotence."""
MAX_SEQUENCE: Final = 0x7FFFFFFF

COMPRESSION_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
HAS_DELETE_HORIZON: Final = 0x40

HEAD: Final = struct.Struct(">qiibI")
"""The part of a header that its CRC does not cover."""
COVERED: Final = struct.Struct(">hiqqqhii")
"""The rest of the header."""
HEAD_START: Final = struct.Struct(">qii")
"""Base offset, length and leader epoch, which the log sets."""
_LENGTH: Final = struct.Struct(">i")
_CRC: Final = struct.Struct(">I")

Bytes = bytes | bytearray | memoryview


class Compression(IntEnum):
    """The low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class BatchHeader(NamedTuple):
    """The 61 bytes of a batch's header, field by field in their order (DefaultRecordBatch).

    Attributes:
        length: of the batch in bytes, without `base_offset` and `length`.
        crc: CRC-32C of everything from `attributes` on.
        attributes: 16 bits: `Compression`, timestamp type, transactional, control, delete horizon.
        base_timestamp_ms: of the first record, or the delete horizon.
        producer_id, producer_epoch, base_sequence: -1 without idempotence.
    """

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """The size of the whole batch, header included."""
        return self.length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return next_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def compression(self) -> int:
        """A `Compression`, or 5 to 7, which are undefined."""
        return self.attributes & COMPRESSION_MASK

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME)

    def time_ms(self, timestamp_delta_ms: int) -> int:
        """The timestamp of a record. It wraps beyond 2^63-1, as in Java."""
        if self.attributes & LOG_APPEND_TIME:
            return self.max_timestamp_ms
        return wrapped_long(self.base_timestamp_ms + timestamp_delta_ms)


def next_sequence(sequence: int, delta: int) -> int:
    """The sequence number `delta` records after `sequence`; it wraps at 2^31-1 to 0."""
    return (sequence + delta) & MAX_SEQUENCE


def read_header(data: Bytes, position: int = 0) -> BatchHeader:
    """The header of the batch at `position`, unchecked.

    Raises:
        struct.error: fewer than 61 bytes are left.
    """
    # A third of the time of `_make`; each append does it.
    return tuple.__new__(BatchHeader, HEADER.unpack_from(data, position))


def headers_in(data: Bytes) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each whole batch in `data`; stops at a cut last batch.

    It checks neither the CRC nor the records.
    """
    position, end = 0, len(data)
    while position + HEADER_SIZE <= end:
        header = read_header(data, position)
        after = position + header.size_bytes
        if header.length < HEADER_SIZE - LOG_OVERHEAD or after > end:
            return
        yield position, header
        position = after


def crc_is_right(data: Bytes, position: int, header: BatchHeader) -> bool:
    """Whether the CRC of the batch's bytes equals the one in its header."""
    end = position + header.size_bytes
    return crc32c(memoryview(data)[position + CRC_START : end]) == header.crc


def seal(data: bytearray, position: int = 0) -> None:
    """Compute the CRC of the batch at `position` again and write it into its header."""
    (length,) = _LENGTH.unpack_from(data, position + 8)
    covered = memoryview(data)[position + CRC_START : position + LOG_OVERHEAD + length]
    _CRC.pack_into(data, position + CRC_POSITION, crc32c(covered))


Pair = tuple[bytes | None, bytes | None]
"""Key and value of a record; a value of None is a tombstone."""


_NULL: Final = signed(-1)
_length: Final = lru_cache(maxsize=1024)(signed)
"""`signed` for lengths: those of a coordinator's records are the same again and again."""


def _record(offset_delta: int, record: Pair, headers: bytes = b"\0") -> bytes:
    key, value = record
    body = b"\0\0" + (signed(offset_delta) if offset_delta else b"\0")
    body += _NULL if key is None else _length(len(key)) + key
    body += _NULL if value is None else _length(len(value)) + value
    body += headers
    return _length(len(body)) + body


def spans(records: Sequence[Pair], *, max_bytes: int) -> Iterator[slice]:
    """Divide records into as few runs as possible, so that `build` makes a batch of each.

    Args:
        max_bytes: largest batch, with its header. A larger record is a run of its own.
    """
    first, size_bytes = 0, HEADER_SIZE
    for index, record in enumerate(records):
        record_bytes = len(_record(index - first, record))
        if index > first and size_bytes + record_bytes > max_bytes:
            yield slice(first, index)
            first, size_bytes = index, HEADER_SIZE
            record_bytes = len(_record(0, record))
        size_bytes += record_bytes
    if records:
        yield slice(first, len(records))


class Framed:
    """Encoded records of a batch; `build` only joins them.

    A decision of 10,000 records is encoded in slices between other requests, and appended in one
    turn of the event loop. Framing takes 1 us a record.
    """

    __slots__ = ("_frames",)

    def __init__(self) -> None:
        self._frames: list[bytes] = []

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, record: Pair) -> None:
        """Add the next record."""
        self._frames.append(_record(len(self._frames), record))

    def add_with_headers(self, record: Pair, headers: Sequence[tuple[str, bytes]]) -> int:
        """Add the next record, which has headers; return its size in the batch, in bytes."""
        encoded = signed(len(headers))
        for name, value in headers:
            key = name.encode()
            encoded += signed(len(key)) + key + signed(len(value)) + value
        self._frames.append(_record(len(self._frames), record, encoded))
        return len(self._frames[-1])

    def remove_last(self) -> None:
        """Remove the record that was added last."""
        self._frames.pop()

    def joined(self) -> bytes:
        """All records, as behind the header of a batch."""
        return b"".join(self._frames)


def build(
    records: Sequence[Pair] | Framed,
    *,
    timestamp_ms: int,
    base_offset: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = 0,
) -> bytearray:
    """An uncompressed batch of (key, value) records of one timestamp, for the broker's own logs.

    Args:
        records: at least one; a value of None is a tombstone.
        timestamp_ms: timestamp of each record.
        base_offset: offset of the first record; the log sets it at the append.
        producer_id, producer_epoch, base_sequence: of an idempotent producer, else -1.
        leader_epoch: of the partition; the log sets it at the append.

    Returns:
        The whole batch, with its CRC.
    """
    attributes = (TRANSACTIONAL if transactional else 0) | (CONTROL if control else 0)
    producer = producer_id, producer_epoch
    data, _ = build_with_header(records, timestamp_ms, attributes, producer, base_sequence)
    if base_offset or leader_epoch:
        HEAD_START.pack_into(data, 0, base_offset, len(data) - LOG_OVERHEAD, leader_epoch)
    return data


def build_with_header(
    records: Sequence[Pair] | Framed,
    timestamp_ms: int,
    attributes: int = 0,
    producer: tuple[int, int] = NO_PRODUCER,
    base_sequence: int = NO_SEQUENCE,
) -> tuple[bytearray, BatchHeader]:
    """As `build`, the batch at offset 0 and its header, which the log need not read again.

    Args:
        attributes: those of the header.
        producer: id and epoch of an idempotent producer.
    """
    count = len(records)
    after_crc = (
        attributes, count - 1, timestamp_ms, timestamp_ms, *producer, base_sequence, count,
    )  # fmt: skip
    covered = COVERED.pack(*after_crc)
    if isinstance(records, Framed):
        covered += records.joined()
    elif count == 1:  # as most decisions of a coordinator have
        covered += _record(0, records[0])
    else:
        covered += b"".join([_record(delta, record) for delta, record in enumerate(records)])
    up_to_crc = (0, HEAD.size - LOG_OVERHEAD + len(covered), 0, MAGIC, crc32c(covered))
    data = bytearray(HEAD.pack(*up_to_crc))
    data += covered
    return data, tuple.__new__(BatchHeader, up_to_crc + after_crc)
