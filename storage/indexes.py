"""The two sparse indexes of a segment, in memory and in Kafka's file formats.

`.index` maps an offset to a position in the data file, `.timeindex` a timestamp to an offset;
offsets are relative to the segment's base offset. Both are derived: a missing or damaged file is
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
    """Last offset of a batch -> position of the batch in the data file; both rise.

    Attributes:
        offsets: of the entries, read-only.
    """

    __slots__ = ("_positions", "offsets")

    def __init__(self) -> None:
        self.offsets = array("i")
        self._positions = array("i")

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, relative_offset: int, position: int) -> None:
        self.offsets.append(relative_offset)
        self._positions.append(position)

    def position_before(self, relative_offset: int) -> int:
        """The position to start the search for the batch that contains an offset."""
        at = bisect_right(self.offsets, relative_offset)
        return self._positions[at - 1] if at else 0

    def entry_before(self, relative_offset: int) -> tuple[int, int] | None:
        """The entry that `position_before` uses."""
        at = bisect_right(self.offsets, relative_offset)
        return (self.offsets[at - 1], self._positions[at - 1]) if at else None

    def entries(self) -> list[tuple[int, int]]:
        """Pairs (relative offset, position), both rising."""
        return list(zip(self.offsets, self._positions, strict=True))

    def position_up_to(self, position: int) -> int:
        """The position of the last indexed batch that begins at or before a position."""
        at = bisect_right(self._positions, position)
        return self._positions[at - 1] if at else 0

    def truncate(self, size_bytes: int) -> None:
        """Remove batches that begin at or behind `size_bytes`."""
        keep = bisect_left(self._positions, size_bytes)
        del self.offsets[keep:], self._positions[keep:]

    def encode(self) -> bytes:
        """The content of an `.index` file."""
        pairs = array("i", bytes(len(self.offsets) * OFFSET_ENTRY_SIZE))
        pairs[0::2], pairs[1::2] = self.offsets, self._positions
        if sys.byteorder == "little":
            pairs.byteswap()
        return pairs.tobytes()

    @classmethod
    def decode(cls, content: bytes, size_bytes: int) -> OffsetIndex | None:
        """The index in an `.index` file, or None if it does not fit `size_bytes` of data.

        Kafka preallocates the file of an active segment with zeros: they end the index.
        """
        pairs = array("i")
        pairs.frombytes(content[: len(content) - len(content) % OFFSET_ENTRY_SIZE])
        if sys.byteorder == "little":
            pairs.byteswap()
        index = cls()
        index.offsets, index._positions = pairs[0::2], pairs[1::2]
        end = next((at for at, p in enumerate(index._positions) if p == 0), len(index))
        del index.offsets[end:], index._positions[end:]
        if not _rises(index.offsets) or not _rises(index._positions):
            return None
        if len(index) and (index._positions[-1] >= size_bytes or index.offsets[0] < 0):
            return None
        return index


class TimeIndex:
    """Largest timestamp so far -> offset of its batch's last record; timestamps rise.

    Attributes:
        timestamps: of the entries, read-only.
    """

    __slots__ = ("_offsets", "timestamps")

    def __init__(self) -> None:
        self.timestamps = array("q")
        self._offsets = array("i")

    def __len__(self) -> int:
        return len(self.timestamps)

    def add(self, timestamp_ms: int, relative_offset: int) -> None:
        """Add an entry if it is later than the last one; the search needs no others."""
        if not self.timestamps or timestamp_ms > self.timestamps[-1]:
            self.timestamps.append(timestamp_ms)
            self._offsets.append(relative_offset)

    def offset_before(self, timestamp_ms: int, *, skip: int = 0) -> int:
        """All records up to this relative offset are at most as late as `timestamp_ms`.

        Args:
            skip: use the entry that many entries earlier.
        """
        at = bisect_right(self.timestamps, timestamp_ms) - skip
        return self._offsets[at - 1] if at > 0 else 0

    def last(self) -> tuple[int, int] | None:
        """(timestamp, relative offset) of the latest entry; None without entries."""
        return (self.timestamps[-1], self._offsets[-1]) if self.timestamps else None

    def entries(self) -> list[tuple[int, int]]:
        """Pairs (timestamp, relative offset), the timestamps rising."""
        return list(zip(self.timestamps, self._offsets, strict=True))

    def truncate(self, relative_offset: int) -> None:
        """Remove entries for offsets at or behind the new end."""
        keep = bisect_left(self._offsets, relative_offset)
        del self.timestamps[keep:], self._offsets[keep:]

    def encode(self) -> bytes:
        """The content of a `.timeindex` file."""
        entries = zip(self.timestamps, self._offsets, strict=True)
        return b"".join(TIME_ENTRY.pack(*entry) for entry in entries)

    @classmethod
    def decode(cls, content: bytes) -> TimeIndex | None:
        """The index in a `.timeindex` file; None if it is invalid. Zeros end it, as above."""
        index = cls()
        whole = len(content) - len(content) % TIME_ENTRY.size
        for at, (timestamp_ms, offset) in enumerate(TIME_ENTRY.iter_unpack(content[:whole])):
            if at and (timestamp_ms, offset) == (0, 0):
                break
            if offset < (index._offsets[-1] if at else 0):
                return None
            if at and timestamp_ms <= index.timestamps[-1]:
                return None
            index.timestamps.append(timestamp_ms)
            index._offsets.append(offset)
        return index


def _rises(numbers: array[int]) -> bool:
    return all(a < b for a, b in pairwise(numbers))
