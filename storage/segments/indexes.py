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
from operator import le, lt
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

    def truncate(self, relative_offset: int) -> None:
        """Remove entries for offsets at or behind the new end."""
        keep = bisect_left(self.offsets, relative_offset)
        del self.offsets[keep:], self._positions[keep:]

    def encode(self, first: int = 0, end: int | None = None) -> bytes:
        """The content of an `.index` file, or the part from entry `first` to `end`."""
        offsets = self.offsets[first:end]
        pairs = array("i", bytes(len(offsets) * OFFSET_ENTRY_SIZE))
        pairs[0::2], pairs[1::2] = offsets, self._positions[first:end]
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
        end = index._positions.index(0) if 0 in index._positions else len(index)
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

    def encode(self, first: int = 0, end: int | None = None) -> bytes:
        """The content of a `.timeindex` file, or the part from entry `first` to `end`."""
        timestamps, offsets = self.timestamps[first:end], self._offsets[first:end]
        if sys.byteorder == "little":
            timestamps.byteswap()
            offsets.byteswap()
        halves = array("i", timestamps.tobytes())
        # Columns, and not entry by entry: the index of 1 GB has 200,000 of them.
        thirds = array("i", bytes(len(offsets) * TIME_ENTRY.size))
        thirds[0::3], thirds[1::3], thirds[2::3] = halves[0::2], halves[1::2], offsets
        return thirds.tobytes()

    @classmethod
    def decode(cls, content: bytes) -> TimeIndex | None:
        """The index in a `.timeindex` file; None if it is invalid. Zeros end it, as above."""
        index = cls()
        thirds = array("i", content[: len(content) - len(content) % TIME_ENTRY.size])
        halves = array("i", bytes(len(thirds) // 3 * 8))
        halves[0::2], halves[1::2], offsets = thirds[0::3], thirds[1::3], thirds[2::3]
        timestamps = array("q", halves.tobytes())
        if sys.byteorder == "little":
            timestamps.byteswap()
            offsets.byteswap()
        end = timestamps.index(0, 1) if 0 in timestamps[1:] else len(timestamps)
        if any(offsets[end : end + 1]):
            end = len(timestamps)  # the time 0 of a record, and not the end
        index.timestamps, index._offsets = timestamps[:end], offsets[:end]
        is_valid = _rises(index.timestamps) and all(map(le, index._offsets, index._offsets[1:]))
        return index if is_valid and (not end or index._offsets[0] >= 0) else None


def _rises(numbers: array[int]) -> bool:
    return all(map(lt, numbers, numbers[1:]))
