"""Integers of fixed size, as in Java: sums of numbers from the wire wrap, and texts are read."""

from __future__ import annotations

from typing import Final

LONG_MAX: Final = 0x7FFFFFFFFFFFFFFF
_MOST_CHARACTERS: Final = 4_300  # of a text that int() reads


def wrapped_long(number: int) -> int:
    """The long of 64 bits that has the lowest bits of `number`."""
    return ((number + 0x8000000000000000) & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000


def number_in(text: str, bits: int = 32) -> int | None:
    """The number that a text is, as Integer.parseInt and Long.parseLong read it.

    Python's int() takes other texts too, and fails for more than 4,300 digits. Java takes digits of
    any script, and any number of zeros before a number; here they are refused.

    Args:
        bits: of the number, with its sign.

    Returns:
        None if the text is not a number of that size.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdecimal()) or len(text) > _MOST_CHARACTERS:
        return None
    number, limit = int(text), 1 << bits - 1
    return number if -limit <= number < limit else None
