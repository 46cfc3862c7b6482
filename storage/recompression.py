"""Batches for topics that want another codec than the producer's (`compression.type`).

The batch is written as if it were new (Kafka's LogValidator): its base time is that of its first
record, and its attributes are those that mean something. Offsets, times and sequence numbers stay.
"""

from __future__ import annotations

from typing import Final

from ..protocol.batch import (
    COMPRESSION_MASK,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    Bytes,
    Compression,
    seal,
)
from ..protocol.compression import compressed
from ..protocol.errors import Code, Refused
from ..protocol.records import payload_of
from ..protocol.varints import read_signed, signed

PRODUCER: Final = "producer"

_CODECS: Final = {"uncompressed": Compression.NONE} | {
    codec.name.lower(): codec for codec in Compression if codec is not Compression.NONE
}


def recompressed(
    records: Bytes, header: BatchHeader, compression_type: str, level: int | None = None
) -> tuple[Bytes, BatchHeader]:
    """The batch in the codec of a `compression.type`; itself when it is in it already.

    Args:
        level: for the codec; None: Kafka's default. What comes in the codec keeps the level it has.

    Raises:
        Refused: CORRUPT_MESSAGE when its records do not decompress; UNKNOWN_SERVER_ERROR, Kafka's,
            when its first record's time is negative.
    """
    codec = _CODECS[compression_type]
    if header.attributes & COMPRESSION_MASK == codec:
        return records, header
    payload = bytes(payload_of(records, 0, header))
    _, at = read_signed(payload, 0)
    shift_ms, _ = read_signed(payload, at + 1)
    base_timestamp_ms = header.base_timestamp_ms + shift_ms
    if base_timestamp_ms < 0 and base_timestamp_ms != NO_TIMESTAMP:
        raise Refused(Code.UNKNOWN_SERVER_ERROR, f"Invalid negative timestamp {base_timestamp_ms}")
    if shift_ms:
        payload = _counted_from(shift_ms, payload, header.record_count)
    batch = bytearray(HEADER_SIZE) + compressed(codec, payload, level)
    header = header._replace(
        length=len(batch) - LOG_OVERHEAD,
        attributes=header.attributes & (LOG_APPEND_TIME | TRANSACTIONAL) | codec,
        base_timestamp_ms=base_timestamp_ms,
    )
    HEADER.pack_into(batch, 0, *header)
    seal(batch)
    return batch, header


def _counted_from(shift_ms: int, payload: bytes, record_count: int) -> bytes:
    """The records of a payload that was checked, their times counted from so much later."""
    parts: list[bytes] = []
    end = 0
    for _ in range(record_count):
        size, at = read_signed(payload, end)
        end = at + size
        delta_ms, rest = read_signed(payload, at + 1)
        body = payload[at : at + 1] + signed(delta_ms - shift_ms) + payload[rest:end]
        parts += (signed(len(body)), body)
    return b"".join(parts)
