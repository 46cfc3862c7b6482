"""A cache of computed results, limited by its bytes.

Clients choose the keys: with a limit on their number alone, keys of 32,000 characters each could
take gigabytes. Beyond the limit the whole cache is cleared; the results are computed again.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")

# The size of an entry: a tuple of texts, a value, a slot of a dict.
ENTRY_BYTES: Final = 300


def texts_bytes(*texts: str) -> int:
    """The approximate memory of an entry with these texts in its key."""
    return ENTRY_BYTES + sum(map(sys.getsizeof, texts))


class Memo(Generic[Key, Found]):
    """Results by key.

    Args:
        limit_bytes: the maximum size; an entry beyond it clears the cache first.

    Attributes:
        get: the result of a key, or None or another default; it is the dict's own method, because
            each request calls it.
    """

    __slots__ = ("_found", "_limit_bytes", "_size_bytes", "get")

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._found: dict[Key, Found] = {}
        self.get = self._found.get

    def __len__(self) -> int:
        return len(self._found)

    @property
    def size_bytes(self) -> int:
        """The approximate memory of all entries."""
        return self._size_bytes

    def __contains__(self, key: Key) -> bool:
        return key in self._found

    def keep(self, key: Key, found: Found, size_bytes: int) -> Found:
        """Store a result, unless it alone is beyond the limit; return it."""
        if size_bytes > self._limit_bytes:
            return found
        if self._size_bytes + size_bytes > self._limit_bytes:
            self.clear()
        if key not in self._found:
            self._size_bytes += size_bytes
        self._found[key] = found
        return found

    def clear(self) -> None:
        """Remove all entries."""
        self._found.clear()
        self._size_bytes = 0
