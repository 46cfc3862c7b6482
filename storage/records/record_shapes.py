"""Checks records that differ in the length of their values only, at half of the usual cost.

Most producers send records without headers, and with keys of one length or none. A table has the
length of the value for each size of such records, so that one call reads a record, and a few
comparisons check it. Their numbers have one or two bytes.
"""

from __future__ import annotations

import struct
from array import array
from functools import cache
from typing import Final

from ...protocol.batch import Bytes
from ...protocol.named_tuple import NamedTuple

_SMALLEST, _LARGEST = 1 << 6, (1 << 13) - 1  # numbers of two bytes, that are not negative
_NEVER: Final = -1
_LARGEST_REST: Final = 1 << 8


class Alike(NamedTuple):
    """The result of a walk over records of one shape.

    Attributes:
        right_count: number of records that are right.
        at: the position behind them.
        zigzags: their timestamp deltas, as they are encoded, and perhaps that of the next record.
        have_keys: no key is null.
    """

    right_count: int
    at: int
    zigzags: set[int]
    have_keys: bool


class _Tables(NamedTuple):
    """Numbers of two bytes, as `struct` reads them in little-endian order.

    Attributes:
        encoded: by the number; at other places `_NEVER`, also at small negative ones.
        steps: by the encoded size of a record: the bytes to the next one; 0 if it is none.
    """

    encoded: array[int]
    steps: array[int]


class _Shape(NamedTuple):
    """What records have in common.

    Attributes:
        reader: of the byte before a record, and of its size, timestamp delta, offset delta, and the
            lengths of its key and value.
        time_bits: those of the timestamp delta that tell its number of bytes, and their values.
        offset_bytes: 1 or 2.
        key: its length, as it is encoded.
        short, middle: the same, if size and value have one byte, and if the value has.
        rest_bytes: the size of a record, with its own bytes, without those of the value.
    """

    reader: struct.Struct
    short: struct.Struct
    middle: struct.Struct
    time_bits: tuple[int, int]
    offset_bytes: int
    key: int
    rest_bytes: int


def walk_over_alike(payload: Bytes, at: int, most: int, first: int) -> Alike:
    """Check the records that have the shape of the one at `at`, in order of their offsets.

    Args:
        at: not 0. No record is right if the byte before it is not 0: the number of headers of
            the record before.
        most: the largest number of records.
        first: the offset delta that the first record must have.
    """
    shape = _shape_at(payload, at)
    if shape is None:
        return Alike(0, at, set(), have_keys=True)
    encoded, steps = _tables()
    if shape.offset_bytes == 1:
        offsets: range | array[int] = range(first << 1, min(first + most, _SMALLEST) << 1, 2)
    else:
        offsets = encoded[first : min(first + most, _LARGEST + 1)]
    read, key_size, rest_bytes = shape.reader.unpack_from, shape.key, shape.rest_bytes
    time_mask, time_bits = shape.time_bits
    times: set[int] = set()
    before = start = at - 1
    last_ms, count = _NEVER, 0
    try:
        for offset in offsets:
            headers, size, delta_ms, offset_delta, key, value = read(payload, start)
            step = steps[size]
            if value != encoded[step - rest_bytes]:
                step, headers, delta_ms, offset_delta, key = _shorter(payload, start, shape)
            if offset_delta != offset or headers or key != key_size:
                break
            if delta_ms != last_ms:
                if delta_ms & time_mask != time_bits:
                    break
                times.add(delta_ms)
                last_ms = delta_ms
            before = start
            start += step
            count += 1
    except (IndexError, struct.error):
        pass  # the record is cut, or its size is wrong
    if count and (start >= len(payload) or payload[start]):
        start = before  # the last one is cut, or has headers
        count -= 1
    if time_mask > 0x80:
        times = {number & 0x7F | number >> 8 << 7 for number in times}
    return Alike(count, start + 1, times, have_keys=key_size != 1)


def _shorter(payload: Bytes, start: int, shape: _Shape) -> tuple[int, int, int, int, int]:
    """The fields of a record whose value has less than 64 bytes.

    Returns:
        The bytes to the next record, the byte before the record, the timestamp delta, the offset
        delta and the length of the key, which is wrong if the record is not such a one.
    """
    headers, size, delta_ms, offset_delta, key, value = shape.short.unpack_from(payload, start)
    step = (size >> 1) + 1
    value_bytes = step - shape.rest_bytes + 2
    if size >= 0x80:
        headers, size, delta_ms, offset_delta, key, value = shape.middle.unpack_from(payload, start)
        step = _tables().steps[size]
        value_bytes = step - shape.rest_bytes + 1
    if size & 1 or value >= 0x80 or value != value_bytes << 1:
        key = _NEVER
    return step, headers, delta_ms, offset_delta, key


def _shape_at(payload: Bytes, at: int) -> _Shape | None:
    """The shape of the record at `at`; None if it has another one, or is cut."""
    head = bytes(payload[at : at + 8])
    if len(head) < 8 or head[0] < 0x80 or head[1] >= 0x80:
        return None
    time_bytes = 2 if head[3] >= 0x80 else 1
    offset_bytes = 2 if head[3 + time_bytes] >= 0x80 else 1
    key = head[3 + time_bytes + offset_bytes]
    if key != 1 and key & 0x81:
        return None
    return _shape(time_bytes, offset_bytes, key)


@cache
def _shape(time_bytes: int, offset_bytes: int, key: int) -> _Shape:
    """A shape of records. There are at most 260."""
    letters, key_bytes = "BH", key >> 1
    numbers = f"x{letters[time_bytes - 1]}{letters[offset_bytes - 1]}B{key_bytes}x"
    reader, short, middle = (
        struct.Struct(f"<B{size}{numbers}{value}") for size, value in ("HH", "BB", "HB")
    )
    time_bits = (0x8080, 0x80) if time_bytes == 2 else (0x80, 0)
    # The size, attributes, the key with its length, the value's length, the number of headers.
    rest_bytes = 2 + 1 + time_bytes + offset_bytes + 1 + key_bytes + 2 + 1
    return _Shape(reader, short, middle, time_bits, offset_bytes, key, rest_bytes)


@cache
def _tables() -> _Tables:
    """0.1 MB, which a broker needs only if it gets records of different lengths."""
    encoded = array("i", [_NEVER]) * (_LARGEST + 1 + _LARGEST_REST)
    steps = array("H", [0]) * (1 << 15)
    for number in range(_SMALLEST, _LARGEST + 1):
        zigzag = number << 1
        encoded[number] = zigzag & 0x7F | 0x80 | zigzag >> 7 << 8
        steps[encoded[number]] = number + 2
    return _Tables(encoded, steps)
