"""What was found out, kept while it may be asked for again, in a bounded number of bytes.

Its keys are what clients choose: a bound on their number alone would let 32,000 characters in each
of them take gigabytes. Over the bound all is forgotten: a memo costs nothing but the finding out.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")

# A tuple of some texts, a value and their place in a dict.
ENTRY_BYTES: Final = 300


def texts_bytes(*texts: str) -> int:
    """The bytes that an entry with these texts in its key keeps in memory, about."""
    return ENTRY_BYTES + sum(map(sys.getsizeof, texts))


class Memo(Generic[Key, Found]):
    """Answers by question.

    Args:
        limit_bytes: how much it keeps; one more entry makes it forget all.

    Attributes:
        get: what was found, by question, and None or another default for what is not known; it is
            the dict's own, for it is asked at each request.
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
        """What its entries keep, about."""
        return self._size_bytes

    def __contains__(self, key: Key) -> bool:
        return key in self._found

    def keep(self, key: Key, found: Found, size_bytes: int) -> Found:
        """Remember what was found, unless it alone is over the bound; returns it."""
        if size_bytes > self._limit_bytes:
            return found
        if self._size_bytes + size_bytes > self._limit_bytes:
            self.clear()
        if key not in self._found:
            self._size_bytes += size_bytes
        self._found[key] = found
        return found

    def clear(self) -> None:
        """Forget all."""
        self._found.clear()
        self._size_bytes = 0
