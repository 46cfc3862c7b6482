"""Reads the records inside a batch, decompressing them if needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .batch import HEADER_SIZE, BatchHeader, Bytes, Compression
from .errors import Code, Refused
from .opening import pieces
from .varints import read_signed, read_size

Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """One record as a consumer reads it; a value of None is a tombstone."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def payload_of(data: Bytes, position: int, header: BatchHeader) -> Bytes:
    """The payload of the batch at `position`, decompressed; a view if it is not compressed.

    Raises:
        Refused: CORRUPT_MESSAGE if it does not decompress.
    """
    raw = memoryview(data)[position + HEADER_SIZE : position + header.size_bytes]
    if header.compression == Compression.NONE:
        return raw
    return decompressed(header.compression, raw)


def decompressed(codec: int, raw: Bytes) -> bytes:
    """`raw` decompressed, as a whole.

    Args:
        codec: a `Compression` other than NONE.

    Raises:
        Refused: CORRUPT_MESSAGE.
    """
    return b"".join(pieces(codec, raw))


def records_in(data: Bytes, position: int, header: BatchHeader) -> Iterator[Record]:
    """The records of the batch at `position`, in order.

    Raises:
        Refused: CORRUPT_MESSAGE if the payload does not decompress, INVALID_RECORD if it does not
            contain exactly the records that the header declares.
    """
    raw = memoryview(data)[position + HEADER_SIZE : position + header.size_bytes]
    if header.compression == Compression.NONE:
        yield from _records(raw, header)
    else:
        yield from _packed_records(raw, header)


def _records(payload: Bytes, header: BatchHeader) -> Iterator[Record]:
    at = 0
    try:
        for _ in range(header.record_count):
            size, at = read_size(payload, at)
            end = at + size
            if size < 0 or end > len(payload):
                raise Refused(Code.INVALID_RECORD, "a record reaches beyond its batch")
            record, at = _record(payload, at, header)
            if at != end:
                raise Refused(Code.INVALID_RECORD, "a record is not as long as it says")
            yield record
    except IndexError as broken:
        raise Refused(Code.INVALID_RECORD, f"a record is cut: {broken}") from None
    if at != len(payload):
        raise Refused(Code.INVALID_RECORD, "bytes are left behind the last record")


def _packed_records(raw: Bytes, header: BatchHeader) -> Iterator[Record]:
    """Decompress one piece at a time, plus the bytes of the next record."""
    opened, one = pieces(header.compression, raw), header._replace(record_count=1)
    payload, at = b"", 0
    for _ in range(header.record_count):
        while (end := _end_of_record(payload, at)) is None or end > len(payload):
            wanted_bytes = len(payload) + 1 if end is None else end
            payload, at = _filled(payload[at:], wanted_bytes - at, opened), 0
        yield from _records(payload[at:end], one)
        at = end
    if at < len(payload) or any(opened):
        raise Refused(Code.INVALID_RECORD, "bytes are left behind the last record")


def _end_of_record(payload: bytes, at: int) -> int | None:
    """The position behind the record; None if its size is cut."""
    try:
        size, body = read_size(payload, at)
    except IndexError:
        return None
    return body + max(size, 0)


def _filled(payload: bytes, size_bytes: int, opened: Iterator[bytes]) -> bytes:
    """`payload` continued to at least `size_bytes` bytes."""
    parts, missing_bytes = [payload], size_bytes - len(payload)
    while missing_bytes > 0:
        piece = next(opened, None)
        if piece is None:
            raise Refused(Code.INVALID_RECORD, "a record is cut")
        parts.append(piece)
        missing_bytes -= len(piece)
    return b"".join(parts)


def _record(payload: Bytes, at: int, header: BatchHeader) -> tuple[Record, int]:
    """The record at a position, and the position behind it."""
    at += 1  # attributes: unused
    timestamp_delta, at = read_signed(payload, at)
    offset_delta, at = read_size(payload, at)
    key, at = _nullable_bytes(payload, at)
    value, at = _nullable_bytes(payload, at)
    header_count, at = read_size(payload, at)
    if header_count < 0:
        raise Refused(Code.INVALID_RECORD, "a negative number of headers")
    headers: list[Header] = []
    for _ in range(header_count):
        name, at = _nullable_bytes(payload, at)
        content, at = _nullable_bytes(payload, at)
        if name is None:
            raise Refused(Code.INVALID_RECORD, "a header without a key")
        headers.append((name.decode(errors="replace"), content))
    if header.is_log_append_time:
        timestamp_ms = header.max_timestamp_ms
    else:
        timestamp_ms = header.base_timestamp_ms + timestamp_delta
    offset = header.base_offset + offset_delta
    return Record(offset, timestamp_ms, key, value, tuple(headers)), at


def _nullable_bytes(payload: Bytes, at: int) -> tuple[bytes | None, int]:
    size, at = read_size(payload, at)
    if size < 0:
        return None, at
    if at + size > len(payload):
        raise Refused(Code.INVALID_RECORD, "a record's field reaches beyond its batch")
    return bytes(payload[at : at + size]), at + size
