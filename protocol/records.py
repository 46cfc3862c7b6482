"""Reads the records inside a batch, decompressing them if needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .batch import HEADER_SIZE, BatchHeader, Bytes, Compression
from .errors import Code, Refused
from .named_tuple import NamedTuple
from .opening import pieces
from .varints import read_signed, read_size

_HEADER_KEY: Final = "the key of a header"
_HEADER_VALUE: Final = "the value of a header"

Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """One record as a consumer reads it; a value of None is a tombstone."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


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
            contain exactly the records that the header declares; it names the first wrong field.
    """
    raw = memoryview(data)[position + HEADER_SIZE : position + header.size_bytes]
    if header.compression == Compression.NONE:
        yield from records_of(raw, header)
    else:
        yield from _packed_records(raw, header)


def records_of(payload: Bytes, header: BatchHeader, first: int = 0) -> Iterator[Record]:
    """The records of a payload that is not compressed any more.

    Args:
        first: index of its first record in the batch.

    Raises:
        Refused: INVALID_RECORD: it does not contain exactly the records that the header declares.
    """
    at = 0
    for index in range(first, first + header.record_count):
        try:
            size, at = read_size(payload, at)
            end = at + size
            if size < 0 or end > len(payload):
                raise _Broken(f"its size is {size}, and {len(payload) - at} bytes are left")
            record, at = _record(payload, at, end, header)
            if at != end:
                raise _Broken(f"its size is {size}, and its fields have {size + at - end} bytes")
        except IndexError:
            raise _named(header, index, "the batch ends inside it") from None
        except _Broken as broken:
            raise _named(header, index, str(broken)) from None
        except Refused as refused:
            raise _named(header, index, refused.why) from None
        yield record
    if at != len(payload):
        raise _too_long(header)


class _Broken(Exception):
    """A record cannot be read."""


def _named(header: BatchHeader, index: int, why: str | None) -> Refused:
    batch = f"record {index} of the batch at offset {header.base_offset}"
    return Refused(Code.INVALID_RECORD, f"{batch} is broken: {why}")


def _too_long(header: BatchHeader) -> Refused:
    batch = f"the batch at offset {header.base_offset}"
    return Refused(Code.INVALID_RECORD, f"{batch} is broken: bytes are left behind the last record")


def _packed_records(raw: Bytes, header: BatchHeader) -> Iterator[Record]:
    """Decompress one piece at a time, plus the bytes of the next record."""
    opened, one = pieces(header.compression, raw), header._replace(record_count=1)
    payload, at = b"", 0
    for index in range(header.record_count):
        while (end := _end_of_record(payload, at)) is None or end > len(payload):
            wanted_bytes = len(payload) + 1 if end is None else end
            try:
                payload, at = _filled(payload[at:], wanted_bytes - at, opened), 0
            except _Broken as broken:
                raise _named(header, index, str(broken)) from None
        yield from records_of(payload[at:end], one, index)
        at = end
    if at < len(payload) or any(opened):
        raise _too_long(header)


def _end_of_record(payload: bytes, at: int) -> int | None:
    """The position behind the record; None if its size is cut."""
    try:
        size, body = read_size(payload, at)
    except (IndexError, Refused):
        return None
    return body + max(size, 0)


def _filled(payload: bytes, size_bytes: int, opened: Iterator[bytes]) -> bytes:
    """`payload` continued to at least `size_bytes` bytes."""
    parts, missing_bytes = [payload], size_bytes - len(payload)
    while missing_bytes > 0:
        piece = next(opened, None)
        if piece is None:
            raise _Broken("the batch ends inside it")
        parts.append(piece)
        missing_bytes -= len(piece)
    return b"".join(parts)


def _record(payload: Bytes, at: int, end: int, header: BatchHeader) -> tuple[Record, int]:
    """The record at a position, which should end at `end`, and the position behind its fields."""
    at += 1  # attributes: unused
    timestamp_delta, at = read_signed(payload, at)
    offset_delta, at = read_size(payload, at)
    key, at = _nullable_bytes(payload, at, end, "its key")
    value, at = _nullable_bytes(payload, at, end, "its value")
    header_count, at = read_size(payload, at)
    if header_count < 0:
        raise _Broken(f"it has {header_count} headers")
    headers: list[Header] = []
    for _ in range(header_count):
        name, at = _nullable_bytes(payload, at, end, _HEADER_KEY)
        if name is None:
            raise _Broken("a header has no key")
        content, at = _nullable_bytes(payload, at, end, _HEADER_VALUE)
        headers.append((name.decode(errors="replace"), content))
    offset = header.base_offset + offset_delta
    return Record(offset, header.time_ms(timestamp_delta), key, value, tuple(headers)), at


def _nullable_bytes(payload: Bytes, at: int, end: int, field: str) -> tuple[bytes | None, int]:
    size, at = read_size(payload, at)
    if size < 0:
        return None, at
    if at + size > end:
        raise _Broken(f"{field} has {size} bytes, and {max(end - at, 0)} bytes are left")
    return bytes(payload[at : at + size]), at + size
