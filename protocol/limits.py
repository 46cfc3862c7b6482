"""Limits of the protocol and of Kafka's records."""

from __future__ import annotations

from typing import Final

from .errors import Malformed

MAX_TEXT_BYTES: Final = 0x7FFF
"""Longest string in UTF-8, also in versions whose encoding has room for more, as in Kafka."""
MAY_GROW_BYTES: Final = MAX_TEXT_BYTES // 3
"""Longer strings may not be encodable after decoding: see `check_text`."""


def check_text(text: str, name: str) -> None:
    """Refuse a decoded text that cannot be encoded again.

    Each byte that is not UTF-8 becomes a character of three bytes, as in Java, so the same text may
    be too long for an answer or a record.

    Args:
        name: name of the field, for the message.

    Raises:
        Malformed: it is too long.
    """
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise Malformed(f"{name} is not UTF-8, and too long")
