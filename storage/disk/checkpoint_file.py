"""Kafka's text files of numbers (CheckpointFile), with a checksum that Kafka ignores.

A file has a version, a count, and one row per line. A damaged digit would go unnoticed, so the
CRC-32C of the file follows the last row as 32 blanks, a space for 0 and a tab for 1: Kafka splits
rows at blanks and drops trailing ones. It is inside the file, not beside it, so that it is replaced
together with the numbers, and disappears when Kafka writes the file. There are three distinct
cases:

- 32 blanks that match: Ottla wrote the file, every number is right.
- no blanks: Kafka wrote it. It is trusted as in Kafka, after a comparison with other sources
  (`epoch_check` for leader epochs; the start of a log is in two files).
- anything else: damaged. It is reported and ignored: all is read from the data, and a log begins
  where its leader epochs do, which are truncated with it (`recovery`).

A file without rows has no checksum; no damaged digit makes it another valid file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ...protocol.checksum import crc32c
from ...protocol.named_tuple import NamedTuple

_VERSION: Final = 0
_BITS: Final = 32
# Both end the last row with a newline. Without it, digits may be missing after a loss of power.
_BLANKS: Final = re.compile(rb"(?<=[0-9])([ \t]*)\n\Z")


class Rows(NamedTuple):
    """The content of such a file.

    Attributes:
        rows: the words of each line.
        is_checked: it has a valid checksum.
    """

    rows: list[list[str]]
    is_checked: bool


def encode(rows: Sequence[str]) -> bytes:
    """The content of a file; a row is words separated by spaces, the last one a number."""
    text = "\n".join([str(_VERSION), str(len(rows)), *rows]).encode()
    return text + (_checksum(text) if rows else b"") + b"\n"


def decode(content: bytes, *, words: int) -> Rows:
    """The rows of a file, each with that number of words.

    Raises:
        ValueError: it is damaged.
    """
    blanks = _BLANKS.search(content)
    if blanks is None:
        raise ValueError("it does not end with a number and a newline")
    text = content[: blanks.start()]
    version, count, *lines = text.decode().split("\n")
    rows = [line.split() for line in lines]
    if int(version) != _VERSION or int(count) != len(rows):
        raise ValueError("not version 0, or a wrong number of rows")
    if any(len(row) != words for row in rows):
        raise ValueError(f"not {words} words in each row")
    if blanks[1] and blanks[1] != _checksum(text):
        raise ValueError("its checksum is wrong")
    return Rows(rows, bool(blanks[1]) or not rows)


def _checksum(text: bytes) -> bytes:
    return f"{crc32c(text):0{_BITS}b}".translate({ord("0"): " ", ord("1"): "\t"}).encode()
