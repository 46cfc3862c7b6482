"""Maps each key to the offset of its newest record, in bounded memory (Kafka's SkimpyOffsetMap).

Keys shorter than a digest are stored as they are, longer ones as 16 bytes of BLAKE2, so keys are
practically never confused and none is long.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

_DIGEST_SIZE: Final = 16
# Memory per key at the worst moment of a dict's growth: digest, offset, entry.
_ENTRY_BYTES: Final = 192


class NewestOffsets:
    """Key -> offset.

    Attributes:
        end_offset: all records before it are in the map, later ones are not.
    """

    __slots__ = ("_limit", "_offsets", "end_offset")

    def __init__(self, size_bytes: int) -> None:
        self._limit = max(size_bytes // _ENTRY_BYTES, 1)  # otherwise a round would make no progress
        self._offsets: dict[bytes, int] = {}
        self.end_offset = 0

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another key; check it before each `put`, as in Kafka."""
        return len(self._offsets) >= self._limit

    def put(self, key: bytes, offset: int) -> None:
        """Record a key; offsets rise."""
        if len(key) >= _DIGEST_SIZE:
            key = blake2b(key, digest_size=_DIGEST_SIZE).digest()
        self._offsets[key] = offset

    def newest(self, key: bytes) -> int:
        """The offset of the newest record of that key, or -1."""
        if len(key) >= _DIGEST_SIZE:
            key = blake2b(key, digest_size=_DIGEST_SIZE).digest()
        return self._offsets.get(key, -1)
