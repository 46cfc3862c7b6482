"""The two sparse indexes of a segment, in memory as on disk, in Kafka's formats.

`.index` pairs an offset with a position in the data file, `.timeindex` a time with an offset; all
offsets count from the segment's base offset. Both files are copies: a missing or damaged one is
rebuilt from the data (Kafka's OffsetIndex and TimeIndex).
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import Final

OFFSET_ENTRY_SIZE: Final = 8
TIME_ENTRY: Final = struct.Struct(">qi")


class OffsetIndex:
    """The last offset of a batch -> where in the data file the batch begins; both rise."""

    __slots__ = ("_offsets", "_positions")

    def __init__(self) -> None:
        self._offsets = array("i")
        self._positions = array("i")

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, relative_offset: int, position: int) -> None:
        self._offsets.append(relative_offset)
        self._positions.append(position)

    def position_before(self, relative_offset: int) -> int:
        """Where to begin the search for the batch that holds an offset."""
        at = bisect_right(self._offsets, relative_offset)
        return self._positions[at - 1] if at else 0

    def entry_before(self, relative_offset: int) -> tuple[int, int] | None:
        """The entry that `position_before` goes by."""
        at = bisect_right(self._offsets, relative_offset)
        return (self._offsets[at - 1], self._positions[at - 1]) if at else None

    def entries(self) -> list[tuple[int, int]]:
        """(relative offset, position), both rising."""
        return list(zip(self._offsets, self._positions, strict=True))

    def position_up_to(self, position: int) -> int:
        """The last indexed batch that begins at or before a position."""
        at = bisect_right(self._positions, position)
        return self._positions[at - 1] if at else 0

    def truncate(self, size_bytes: int) -> None:
        """Forget batches that begin at or behind `size_bytes`."""
        keep = bisect_left(self._positions, size_bytes)
        del self._offsets[keep:], self._positions[keep:]

    def encode(self) -> bytes:
        """The content of an `.index` file."""
        pairs = array("i", bytes(len(self._offsets) * OFFSET_ENTRY_SIZE))
        pairs[0::2], pairs[1::2] = self._offsets, self._positions
        if sys.byteorder == "little":
            pairs.byteswap()
        return pairs.tobytes()

    @classmethod
    def decode(cls, content: bytes, size_bytes: int) -> OffsetIndex | None:
        """The index in an `.index` file, or None when it cannot be that of `size_bytes` of data.

        Kafka leaves the file of an open segment preallocated with zeros: they end the index.
        """
        pairs = array("i")
        pairs.frombytes(content[: len(content) - len(content) % OFFSET_ENTRY_SIZE])
        if sys.byteorder == "little":
            pairs.byteswap()
        index = cls()
        index._offsets, index._positions = pairs[0::2], pairs[1::2]
        end = next((at for at, p in enumerate(index._positions) if p == 0), len(index))
        del index._offsets[end:], index._positions[end:]
        if not _rises(index._offsets) or not _rises(index._positions):
            return None
        if len(index) and (index._positions[-1] >= size_bytes or index._offsets[0] < 0):
            return None
        return index


class TimeIndex:
    """The largest time seen so far -> the offset of its batch's last record; times rise."""

    __slots__ = ("_offsets", "_timestamps")

    def __init__(self) -> None:
        self._timestamps = array("q")
        self._offsets = array("i")

    def __len__(self) -> int:
        return len(self._timestamps)

    def add(self, timestamp_ms: int, relative_offset: int) -> None:
        """One that is not later than the last is left out: the search would not need it."""
        if not self._timestamps or timestamp_ms > self._timestamps[-1]:
            self._timestamps.append(timestamp_ms)
            self._offsets.append(relative_offset)

    def offset_before(self, timestamp_ms: int, *, skip: int = 0) -> int:
        """Up to this relative offset everything is older than, or as old as, `timestamp_ms`.

        Args:
            skip: so many entries earlier.
        """
        at = bisect_right(self._timestamps, timestamp_ms) - skip
        return self._offsets[at - 1] if at > 0 else 0

    def last(self) -> tuple[int, int] | None:
        """(timestamp, relative offset) of the latest entry."""
        return (self._timestamps[-1], self._offsets[-1]) if self._timestamps else None

    def entries(self) -> list[tuple[int, int]]:
        """(timestamp, relative offset), the times rising."""
        return list(zip(self._timestamps, self._offsets, strict=True))

    def truncate(self, relative_offset: int) -> None:
        """Forget entries for offsets at or behind the new end."""
        keep = bisect_left(self._offsets, relative_offset)
        del self._timestamps[keep:], self._offsets[keep:]

    def encode(self) -> bytes:
        """The content of a `.timeindex` file."""
        entries = zip(self._timestamps, self._offsets, strict=True)
        return b"".join(TIME_ENTRY.pack(*entry) for entry in entries)

    @classmethod
    def decode(cls, content: bytes) -> TimeIndex | None:
        """The index in a `.timeindex` file; None when it cannot be one. Zeros end it, as above."""
        index = cls()
        whole = len(content) - len(content) % TIME_ENTRY.size
        for at, (timestamp_ms, offset) in enumerate(TIME_ENTRY.iter_unpack(content[:whole])):
            if at and (timestamp_ms, offset) == (0, 0):
                break
            if offset < (index._offsets[-1] if at else 0):
                return None
            if at and timestamp_ms <= index._timestamps[-1]:
                return None
            index._timestamps.append(timestamp_ms)
            index._offsets.append(offset)
        return index


def _rises(numbers: array[int]) -> bool:
    return all(a < b for a, b in pairwise(numbers))
