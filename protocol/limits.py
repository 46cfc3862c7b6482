"""What the protocol and Kafka's records have room for."""

from __future__ import annotations

from typing import Final

from .errors import Malformed

MAX_TEXT_BYTES: Final = 0x7FFF
"""Of a string in UTF-8, also where a version could write longer ones: Kafka reads no longer one."""
MAY_GROW_BYTES: Final = MAX_TEXT_BYTES // 3
"""A string of more bytes may not fit any more once it is read: see `check_text`."""


def check_text(text: str, name: str) -> None:
    """Refuse what was read and cannot be written again.

    Each byte that is no UTF-8 becomes a character of three, as in Java; the same text in an answer
    or in a record would be too long for its length.

    Args:
        name: what the text is, for people.

    Raises:
        Malformed: it is too long.
    """
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise Malformed(f"{name} is no UTF-8, and too long")
