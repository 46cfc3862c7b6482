"""Kafka's text files of numbers (CheckpointFile), with a checksum that Kafka passes over.

A version, a count, one row a line. A digit that turned into another one would be believed, so the
CRC-32C of all of it stands behind the last row as 32 blanks, a space for 0 and a tab for 1: Kafka
splits rows at blanks and drops those at the end. Why there and not in a file beside it: it is
replaced with the numbers in one step, and it is gone once Kafka has written the file. So there are
three cases, and none can be taken for another.

- 32 blanks that agree: ours, every number is right.
- no blanks: Kafka wrote it, and it is believed as Kafka believes it, once it was compared with
  what else knows (`epoch_check` for leader epochs; where a log begins is in two files).
- anything else: damaged. It is told by name and counts for nothing: all is read from the data, and
  a log begins where its leader epochs do, which are cut with it (`recovery`).

Without a row there is no room, and no need: no turned bit makes such a file another right one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ..protocol.checksum import crc32c

_VERSION: Final = 0
_BITS: Final = 32
_BLANKS: Final = re.compile(rb"(?<=[0-9])([ \t]*)\n?\Z")


class Rows(NamedTuple):
    """What such a file says.

    Attributes:
        rows: the words of each line.
        is_checked: its checksum is there, and right.
    """

    rows: list[list[str]]
    is_checked: bool


def encode(rows: Sequence[str]) -> bytes:
    """The content of a file; a row is words with a space between them, the last one a number."""
    text = "\n".join([str(_VERSION), str(len(rows)), *rows]).encode()
    return text + (_checksum(text) if rows else b"") + b"\n"


def decode(content: bytes, *, words: int) -> Rows:
    """The rows of a file, each of so many words.

    Raises:
        ValueError: it is damaged.
    """
    blanks = _BLANKS.search(content)
    if blanks is None:
        raise ValueError("it does not end with a number")
    text = content[: blanks.start()]
    version, count, *lines = text.decode().split("\n")
    rows = [line.split() for line in lines]
    if int(version) != _VERSION or int(count) != len(rows):
        raise ValueError("not version 0, or not as many rows as it says")
    if any(len(row) != words for row in rows):
        raise ValueError(f"not {words} words in each row")
    if blanks[1] and blanks[1] != _checksum(text):
        raise ValueError("it does not give its checksum")
    return Rows(rows, bool(blanks[1]) or not rows)


def _checksum(text: bytes) -> bytes:
    return f"{crc32c(text):0{_BITS}b}".translate({ord("0"): " ", ord("1"): "\t"}).encode()
