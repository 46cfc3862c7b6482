"""For each key the offset of its newest record, within a bounded memory (Kafka's SkimpyOffsetMap).

Keys shorter than a digest stand for themselves, longer ones are known by 16 bytes of BLAKE2: no two
are ever mixed up, and none is long.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

_DIGEST_SIZE: Final = 16
# What a dict needs for one, at the worst moment of its growth: a digest, an offset, the entry.
_ENTRY_BYTES: Final = 192


class NewestOffsets:
    """Key -> offset.

    Attributes:
        end_offset: all records before it have been put; of later ones nothing is known.
    """

    __slots__ = ("_limit", "_offsets", "end_offset")

    def __init__(self, size_bytes: int) -> None:
        self._limit = max(size_bytes // _ENTRY_BYTES, 1)  # or a round would get nowhere
        self._offsets: dict[bytes, int] = {}
        self.end_offset = 0

    @property
    def is_full(self) -> bool:
        """To be asked before each `put`, as in Kafka."""
        return len(self._offsets) >= self._limit

    def put(self, key: bytes, offset: int) -> None:
        """A record of that key; offsets rise."""
        if len(key) >= _DIGEST_SIZE:
            key = blake2b(key, digest_size=_DIGEST_SIZE).digest()
        self._offsets[key] = offset

    def newest(self, key: bytes) -> int:
        """The offset of the newest record of that key, -1 when there was none."""
        if len(key) >= _DIGEST_SIZE:
            key = blake2b(key, digest_size=_DIGEST_SIZE).digest()
        return self._offsets.get(key, -1)
