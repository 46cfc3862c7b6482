"""Integers of fixed size that wrap, as in Java: sums of numbers from the wire."""

from __future__ import annotations

from typing import Final

LONG_MAX: Final = 0x7FFFFFFFFFFFFFFF


def wrapped_long(number: int) -> int:
    """The long of 64 bits that has the lowest bits of `number`."""
    return ((number + 0x8000000000000000) & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000
