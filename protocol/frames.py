"""Frames of a connection, sans I/O: bytes in, whole requests out, one at a time.

A frame is a length (int32, big-endian) and that many bytes. What is cut waits for the rest; a
length that no request can have is `Malformed`. Bytes stay as they came until a request is taken
out of them, so that a million small requests cost no more than their bytes.
"""

from __future__ import annotations

import struct
from typing import Final

from .errors import Malformed

LENGTH: Final = struct.Struct(">i")
SMALLEST_BYTES: Final = 10
"""Key, version, correlation id and the length of a client id: Kafka closes at less as well."""


class BadLength(Malformed):
    """A length that no request has; nothing behind it can be told apart."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"a request of {size_bytes} bytes")


class Frames:
    """The unread bytes of one connection.

    Args:
        size_limit_bytes: the largest request accepted (socket.request.max.bytes).

    Attributes:
        is_empty: whether nothing is unread.
    """

    __slots__ = ("_at", "_gathered", "_size_limit_bytes", "_view", "_wanted", "is_empty")

    def __init__(self, *, size_limit_bytes: int) -> None:
        self._size_limit_bytes = size_limit_bytes
        self._view: memoryview | None = None  # requests are taken out of it, from `_at` on
        self._at = 0
        self._gathered = bytearray()  # what lies behind the view; no view of it was handed out
        self.is_empty = True
        self._wanted = LENGTH.size  # nothing can be whole before so many bytes are gathered

    @property
    def unread_bytes(self) -> int:
        """What was received and is not taken out yet."""
        view = self._view
        return len(self._gathered) + (0 if view is None else len(view) - self._at)

    def receive(self, data: bytes) -> None:
        """Take what a socket gave."""
        if self.is_empty:
            self._view, self._at, self.is_empty = memoryview(data), 0, False
        else:
            self._gathered += data

    def next(self) -> memoryview | None:
        """Take out the oldest request; None when none is whole.

        Raises:
            BadLength: the length is over the limit, or less than any request has; nothing can be
                taken out any more.
        """
        while True:
            view = self._view
            if view is None:
                if len(self._gathered) < self._wanted:
                    return None
                # The views handed out keep a buffer alive, and it cannot grow: here begins another.
                view = self._view = memoryview(self._gathered)
                self._gathered, self._at = bytearray(), 0
            at, left = self._at, len(view) - self._at
            wanted = LENGTH.size
            if left >= LENGTH.size:
                (size_bytes,) = LENGTH.unpack_from(view, at)
                if not SMALLEST_BYTES <= size_bytes <= self._size_limit_bytes:
                    raise BadLength(size_bytes)
                wanted += size_bytes
                if left >= wanted:
                    return self._taken(view, at + LENGTH.size, at + wanted)
            self._gather(view, wanted)

    def _taken(self, view: memoryview, start: int, end: int) -> memoryview:
        self._at = end
        if end == len(view):
            self._view, self._wanted = None, LENGTH.size
            self.is_empty = not self._gathered
        return view[start:end]

    def _gather(self, view: memoryview, wanted: int) -> None:
        """Put the beginning of a request, which the view ends with, before what came after it."""
        rest = bytearray(view[self._at :])
        rest += self._gathered
        self._view, self._gathered, self._wanted = None, rest, wanted
