"""Variable-length numbers of one to ten bytes: zig-zag in records, unsigned in messages."""

from __future__ import annotations

from struct import Struct
from typing import Final

from .errors import Code, Malformed, Refused

_INT32: Final = Struct(">i")
_OF_ONE_BYTE: Final = tuple(bytes((value,)) for value in range(0x80))


def unsigned(value: int) -> bytes:
    """A non-negative number: seven bits per byte, the least significant first."""
    if value < 0x80:
        return _OF_ONE_BYTE[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def length(size: int, flexible: bool) -> bytes:
    """A length in a message: an int32, or length + 1 as an unsigned varint."""
    if not flexible:
        return _INT32.pack(size)
    return _OF_ONE_BYTE[size + 1] if size < 0x7F else unsigned(size + 1)


def signed(value: int) -> bytes:
    """A signed number, zig-zag encoded, as in records."""
    if 0 <= value < 0x40:  # nearly every number of a coordinator's record
        return _OF_ONE_BYTE[value << 1]
    return unsigned((value << 1) ^ (value >> 63))


def read_unsigned(data: memoryview, position: int) -> tuple[int, int]:
    """An unsigned number of 32 bits and the position behind it.

    Raises:
        Malformed: more than five bytes. IndexError: it is cut.
    """
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 28:
            raise Malformed("a number of more than five bytes")


def read_signed(data: bytes | bytearray | memoryview, at: int) -> tuple[int, int]:
    """A zig-zag number of 64 bits of a record and the position behind it.

    Higher bits are ignored, as in Java.

    Raises:
        Refused: INVALID_RECORD, more than ten bytes. IndexError: it is cut.
    """
    byte = data[at]
    at += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at
    value, shift = byte & 0x7F, 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFFFFFFFFFF
            return (value >> 1) ^ -(value & 1), at
        shift += 7
        if shift > 63:
            raise Refused(Code.INVALID_RECORD, "a number of more than ten bytes")


def read_size(data: bytes | bytearray | memoryview, at: int) -> tuple[int, int]:
    """As `read_signed`, for numbers of 32 bits: all numbers of a record except its timestamp.

    Raises:
        Refused: INVALID_RECORD, more than five bytes. IndexError: it is cut.
    """
    value = data[at]
    if value < 0x80:
        return (value >> 1) ^ -(value & 1), at + 1
    value = value & 0x7F | data[at + 1] << 7
    if value < 0x4000:
        return (value >> 1) ^ -(value & 1), at + 2
    value = value & 0x3FFF | data[at + 2] << 14
    if value < 0x200000:
        return (value >> 1) ^ -(value & 1), at + 3
    value = value & 0x1FFFFF | data[at + 3] << 21
    if value >= 0x10000000:
        value = value & 0xFFFFFFF | data[at + 4] << 28
        at += 1
        if value >= 0x800000000:
            raise Refused(Code.INVALID_RECORD, "a number of more than five bytes")
        value &= 0xFFFFFFFF
    return (value >> 1) ^ -(value & 1), at + 4
