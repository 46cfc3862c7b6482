"""Frames of a connection, sans I/O: bytes in, whole requests out.

A frame is a length (int32, big-endian) and that many bytes. What is cut waits for the rest; a
length that no request can have is `Malformed`.
"""

from __future__ import annotations

import struct
from typing import Final

from .errors import Malformed

LENGTH: Final = struct.Struct(">i")


class BadLength(Malformed):
    """A length that no request has; nothing behind it can be told apart.

    Attributes:
        whole: the requests in front of it, oldest first, which are good and to be answered.
    """

    def __init__(self, size_bytes: int, whole: list[memoryview]) -> None:
        super().__init__(f"a request of {size_bytes} bytes")
        self.whole = whole


class Frames:
    """The unread bytes of one connection.

    Args:
        size_limit_bytes: the largest request accepted (socket.request.max.bytes).
    """

    __slots__ = ("_size_limit_bytes", "_unread", "_wanted")

    def __init__(self, *, size_limit_bytes: int) -> None:
        self._size_limit_bytes = size_limit_bytes
        self._unread = bytearray()
        self._wanted = LENGTH.size  # nothing can be whole before so many bytes are there

    @property
    def unread_bytes(self) -> int:
        return len(self._unread)

    def receive(self, data: bytes) -> list[memoryview]:
        """Take what a socket gave; return the requests that are now whole, oldest first.

        Raises:
            BadLength: a length is negative or over the limit; the connection is of no use any more
                when what came before it is answered.
        """
        source: bytes | bytearray = data
        if self._unread:
            self._unread += data
            if len(self._unread) < self._wanted:
                return []
            # The views handed out keep the old buffer alive; a bytearray with views cannot shrink.
            source, self._unread = self._unread, bytearray()
        view, position, end = memoryview(source), 0, len(source)
        whole: list[memoryview] = []
        self._wanted = LENGTH.size
        while end - position >= LENGTH.size:
            (size_bytes,) = LENGTH.unpack_from(source, position)
            if not 0 <= size_bytes <= self._size_limit_bytes:
                raise BadLength(size_bytes, whole)
            after = position + LENGTH.size + size_bytes
            if after > end:
                self._wanted = LENGTH.size + size_bytes
                break
            whole.append(view[position + LENGTH.size : after])
            position = after
        if position < end:
            self._unread += view[position:]
        return whole
