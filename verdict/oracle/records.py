"""What is known of each offset of a partition: value, writer, first reader. 17 bytes for each.

Offsets lie in chunks, so that a partition that begins at a high offset costs nothing more.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from .history import NOWHERE, Value

BITS: Final = 12
SIZE: Final = 1 << BITS
MASK: Final = SIZE - 1
NO_VALUE: Final = -1
NO_CHUNK: Final = -1 << 62
LIMIT: Final = 1 << 62
"""Whole numbers below it are their own codes."""
UNKNOWN: Final = -1  # nothing says who wrote it
IN_DOUBT: Final = -2  # by a send outside a transaction that has not succeeded
ABORTED_IN_LOG: Final = -3
FIRST_PLAIN: Final = -10
"""Writers: a transaction's number; from here down the number of a send that succeeded."""


class Values:
    """Values as numbers: a whole number is itself, a text becomes a negative one."""

    def __init__(self) -> None:
        self._codes: dict[Value, int] = {}
        self._texts: list[Value] = []

    def code(self, value: Value) -> int:
        """The number of a value."""
        if value.__class__ is int and 0 <= value < LIMIT:
            return value
        known = self._codes.get(value)
        if known is None:
            self._texts.append(value)
            known = self._codes[value] = -1 - len(self._texts)
        return known

    def shown(self, code: int) -> str:
        """A value as people see it."""
        return str(code) if code >= 0 else repr(self._texts[-2 - code])


class Chunk:
    """4,096 offsets.

    Attributes:
        reads: line of the first poll of a read_committed reader; 0 before one.
        seen: whether any reader has it.
    """

    __slots__ = ("reads", "seen", "values", "writers")

    def __init__(self) -> None:
        self.values = array("q", [NO_VALUE]) * SIZE
        self.writers = array("i", [UNKNOWN]) * SIZE
        self.reads = array("i", [0]) * SIZE
        self.seen = bytearray(SIZE)


class Gaps:
    """Ranges of offsets that readers passed over.

    Attributes:
        firsts, ends: of the ranges; an end is not in its range.
        lines: of the polls; 0: the log.
        kinds: bits, as below.
    """

    INSIDE: Final = 1  # of a poll or a transaction
    COMMITTED: Final = 2  # by a read_committed reader

    def __init__(self) -> None:
        self.firsts = array("q")
        self.ends = array("q")
        self.lines = array("i")
        self.kinds = array("b")

    def add(self, first: int, end: int, line: int, kind: int) -> None:
        """Keep a range."""
        self.firsts.append(first)
        self.ends.append(end)
        self.lines.append(line)
        self.kinds.append(kind)

    def __iter__(self) -> Iterator[tuple[int, int, int, int]]:
        return iter(zip(self.firsts, self.ends, self.lines, self.kinds, strict=True))


class PartitionRecords:
    """One partition.

    Attributes:
        gaps: what readers passed over.
        sent_gaps: what is between two records of a transaction; line and kind are not used.
        read_ranges: first offset, last offset and transaction of polls in transactions.
        end, end_line: where a reader saw the end of the partition, and when its poll began.
        end_seen: the line at which that poll returned.
        has_log: the log was read to its end.
        open: offsets of open transactions in the log.
    """

    def __init__(self, place: str, index: int) -> None:
        self.place = place
        self.index = index
        self.chunks: dict[int, Chunk] = {}
        self.gaps = Gaps()
        self.sent_gaps = Gaps()
        self.read_ranges = (array("q"), array("q"), array("i"))
        self.end = NOWHERE
        self.end_line = 0
        self.end_seen = 0
        self.has_log = False
        self.open: list[int] = []

    def chunk(self, number: int) -> Chunk:
        """The chunk of a number, made if need be."""
        found = self.chunks.get(number)
        if found is None:
            found = self.chunks[number] = Chunk()
        return found

    def set(self, offset: int, code: int, writer: int) -> int:
        """Note what is at an offset.

        Returns:
            The value that was there; `NO_VALUE` for none.
        """
        chunk = self.chunk(offset >> BITS)
        at = offset & MASK
        known = chunk.values[at]
        if known == NO_VALUE:
            chunk.values[at] = code
        if known in (NO_VALUE, code) and writer != UNKNOWN:
            chunk.writers[at] = writer
        return known

    def writer_at(self, offset: int) -> int:
        """The writer of the value at an offset."""
        chunk = self.chunks.get(offset >> BITS)
        return UNKNOWN if chunk is None else chunk.writers[offset & MASK]

    def numbered(self) -> list[tuple[int, Chunk]]:
        """The first offset of each chunk, with the chunk, in order."""
        return [(number << BITS, self.chunks[number]) for number in sorted(self.chunks)]

    def value_at(self, offset: int) -> int:
        """The code of the value at an offset."""
        chunk = self.chunks.get(offset >> BITS)
        return NO_VALUE if chunk is None else chunk.values[offset & MASK]


def repeated(partitions: Iterable[PartitionRecords], skipped: Sequence[bool]) -> set[int]:
    """The values that are at more than one offset.

    Args:
        skipped: whether the records of a transaction do not count, by its number.
    """
    buckets = [array("q") for _ in range(256)]
    for partition in partitions:
        for chunk in partition.chunks.values():
            for code, writer in zip(chunk.values, chunk.writers, strict=True):
                if code == NO_VALUE or writer == ABORTED_IN_LOG:
                    continue
                if writer < 0 or not skipped[writer]:
                    buckets[code & 255].append(code)
    found: set[int] = set()
    for bucket in buckets:
        if len(set(bucket)) != len(bucket):
            once: set[int] = set()
            for code in bucket:
                if code in once:
                    found.add(code)
                once.add(code)
    return found
