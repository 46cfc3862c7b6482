"""A batch from which records were taken out, as Kafka's MemoryRecords.filterTo leaves it.

Offsets, sequence numbers, producer, codec and the times of records stay; the header's record count,
base and max timestamp follow what is left. A batch that is only kept for its producer's sequence
number has no record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ..protocol.batch import (
    COMPRESSION_MASK,
    HAS_DELETE_HORIZON,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    Compression,
    seal,
)
from ..protocol.errors import Code, Refused
from ..protocol.varints import read_signed, signed

_NO_CRC: Final = 0


class Span(NamedTuple):
    """Where a record lies in its batch's payload, and what decides whether it stays.

    Attributes:
        start: of its length.
        rest: behind its timestamp.
        end: behind the record.
    """

    start: int
    rest: int
    end: int
    timestamp_delta_ms: int
    offset_delta: int
    key: bytes | None
    is_tombstone: bool


def spans_in(payload: bytes, record_count: int) -> Iterator[Span]:
    """The records of an opened payload, their values unread.

    Raises:
        Refused: INVALID_RECORD when it does not hold just so many records.
    """
    at = 0
    try:
        for _ in range(record_count):
            start = at
            size, at = read_signed(payload, at)
            end = at + size
            timestamp_delta_ms, rest = read_signed(payload, at + 1)
            offset_delta, at = read_signed(payload, rest)
            size, at = read_signed(payload, at)
            key = None
            if size >= 0:
                key = payload[at : at + size]
                at += size
            size, at = read_signed(payload, at)
            if not at + max(size, 0) < end <= len(payload):
                raise Refused(Code.INVALID_RECORD, "a record reaches beyond its batch")
            yield Span(start, rest, end, timestamp_delta_ms, offset_delta, key, size < 0)
            at = end
    except IndexError:
        raise Refused(Code.INVALID_RECORD, "a record is cut") from None
    if at != len(payload):
        raise Refused(Code.INVALID_RECORD, "bytes are left behind the last record")


def delete_horizon_ms(header: BatchHeader) -> int | None:
    """When the tombstones, or the marker, of a batch may go (KIP-534); None: not decided yet."""
    return header.base_timestamp_ms if header.attributes & HAS_DELETE_HORIZON else None


def payload_with(
    header: BatchHeader, payload: bytes, kept: Sequence[Span], horizon_ms: int | None
) -> tuple[BatchHeader, bytes]:
    """Only some of a batch's records, not compressed, and the header that goes with them.

    Args:
        kept: at least one, in their order.
        horizon_ms: the batch's delete horizon from now on; it is kept as the base timestamp.

    Returns:
        The header, in which length and CRC are left open, and the payload.
    """
    old_base_ms, max_ms = header.base_timestamp_ms, header.max_timestamp_ms
    if header.is_log_append_time:
        times = [max_ms] * len(kept)
    else:
        times = [old_base_ms + span.timestamp_delta_ms for span in kept]
        max_ms = max(times)
    base_ms = times[0] if horizon_ms is None else horizon_ms
    parts = []
    for span, time_ms in zip(kept, times, strict=True):
        if time_ms - base_ms == span.timestamp_delta_ms:
            parts.append(payload[span.start : span.end])
        else:
            body = b"\0" + signed(time_ms - base_ms) + payload[span.rest : span.end]
            parts += (signed(len(body)), body)
    attributes = header.attributes
    if horizon_ms is not None:
        attributes |= HAS_DELETE_HORIZON
    left = header._replace(
        attributes=attributes,
        base_timestamp_ms=base_ms,
        max_timestamp_ms=max_ms,
        record_count=len(kept),
    )
    return left, b"".join(parts)


def sealed(header: BatchHeader, packed: bytes) -> bytearray:
    """A batch of a header and a payload in its codec; length and CRC are filled in."""
    batch = bytearray(HEADER_SIZE) + packed
    header = header._replace(length=len(batch) - LOG_OVERHEAD, crc=_NO_CRC)
    HEADER.pack_into(batch, 0, *header)
    seal(batch)
    return batch


def emptied(header: BatchHeader) -> bytearray:
    """The batch without any record (DefaultRecordBatch.writeEmptyHeader)."""
    attributes = header.attributes & ~(COMPRESSION_MASK | HAS_DELETE_HORIZON) | Compression.NONE
    empty = header._replace(attributes=attributes, base_timestamp_ms=NO_TIMESTAMP, record_count=0)
    return sealed(empty, b"")
