"""Splits the bytes of a connection into whole requests, without I/O.

A frame is a length (int32, big-endian) and that many bytes. A cut frame waits for the rest; an
impossible length is `Malformed`. Bytes are kept as received until their request is taken out, so
that a million small requests cost no more memory than their bytes.
"""

from __future__ import annotations

import struct
from typing import Final

from .errors import Malformed

LENGTH: Final = struct.Struct(">i")
SMALLEST_BYTES: Final = 10
"""Key, version, correlation id and client id length: Kafka closes the connection below this."""

_LENGTH_BYTES: Final = LENGTH.size
_LARGE_BYTES: Final = 1 << 14


class BadLength(Malformed):
    """An impossible length; the bytes behind it cannot be split."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"a request of {size_bytes} bytes")


class Frames:
    """The unread bytes of one connection.

    Args:
        size_limit_bytes: the largest request accepted (socket.request.max.bytes).

    Attributes:
        is_empty: no bytes are unread.
    """

    __slots__ = (
        "_at", "_parts", "_parts_bytes", "_size_limit_bytes", "_view", "_wanted", "is_empty",
    )  # fmt: skip

    def __init__(self, *, size_limit_bytes: int) -> None:
        self._size_limit_bytes = size_limit_bytes
        self.is_empty = True
        self._view: memoryview | None = None  # holds the next requests, from `_at` on
        self._at = 0
        # The bytes behind the view. Large parts are kept as received: one growing buffer would be
        # copied again and again.
        self._parts: list[bytes | bytearray] = []
        self._parts_bytes = 0
        self._wanted = _LENGTH_BYTES  # no frame is whole before the parts have so many bytes

    @property
    def unread_bytes(self) -> int:
        """The number of received bytes that `next` has not returned yet."""
        view = self._view
        return self._parts_bytes + (0 if view is None else len(view) - self._at)

    def receive(self, data: bytes) -> None:
        """Add received bytes."""
        if self.is_empty:
            self._view, self._at, self.is_empty = memoryview(data), 0, False
            return
        self._parts_bytes += len(data)
        parts = self._parts
        if len(data) >= _LARGE_BYTES:
            parts.append(data)
        elif parts and type(parts[-1]) is bytearray and len(parts[-1]) < _LARGE_BYTES:
            parts[-1] += data
        else:
            parts.append(bytearray(data))

    def next(self) -> memoryview | None:
        """Take out the oldest request; None if none is whole.

        Raises:
            BadLength: the length is over the limit or below the minimum; no later request can be
                taken out either.
        """
        while True:
            view = self._view
            if view is None:
                if self._parts_bytes < self._wanted:
                    return None
                parts, first = self._parts, self._parts[0]
                is_one = len(parts) == 1 and type(first) is bytearray
                view = self._view = memoryview(first if is_one else bytearray().join(parts))
                self._parts, self._parts_bytes, self._at = [], 0, 0
            at = self._at
            left, wanted = len(view) - at, _LENGTH_BYTES
            if left >= wanted:
                (size_bytes,) = LENGTH.unpack_from(view, at)
                if not SMALLEST_BYTES <= size_bytes <= self._size_limit_bytes:
                    raise BadLength(size_bytes)
                wanted += size_bytes
                if left >= wanted:
                    self._at = end = at + wanted
                    if left == wanted:
                        self._view, self._wanted = None, _LENGTH_BYTES
                        self.is_empty = not self._parts
                    return view[at + _LENGTH_BYTES : end]
            self._gather(view, wanted)

    def _gather(self, view: memoryview, wanted: int) -> None:
        """Join the beginning of a request, at the view's end, with the bytes received after it."""
        if self._at < len(view):
            rest = bytearray(view[self._at :])
            self._parts.insert(0, rest)
            self._parts_bytes += len(rest)
        self._view, self._wanted = None, wanted
