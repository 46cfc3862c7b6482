"""Splits the bytes of a connection into whole requests, without I/O.

A frame is a length (int32, big-endian) and that many bytes. A cut frame waits for the rest; an
impossible length is `Malformed`. Requests are views of the buffers that the sockets write into. All
connections of an event loop share these. Small requests stay in one shared buffer until the next
read; `settle` copies what waits longer, so that a million small requests cost no more memory than
their bytes. A large request gets a buffer from a pool once its length is known, and the rest of it
is received in place. Fresh memory for each would cost more than the rest of its append: the system
maps, zeroes and unmaps its pages.

A buffer is free if no view of it exists. So nothing needs to be returned to the pool, and a view
that outlives its request keeps its buffer from being used again. Python itself counts the views: a
bytearray with views cannot be resized.
"""

from __future__ import annotations

import struct
from typing import Final, Protocol

from .errors import Malformed

LENGTH: Final = struct.Struct(">i")
SMALLEST_BYTES: Final = 10
"""Key, version, correlation id and client id length: Kafka closes the connection below this."""

SHARED_BYTES: Final = 1 << 16
POOLED_BYTES: Final = (1 << 20) + (1 << 16)
"""The largest request in a buffer of the pool: a batch of max.message.bytes and what is around."""
POOLED: Final = 16

_LENGTH_BYTES: Final = LENGTH.size
_TLS_HANDSHAKE: Final = 22  # the type of a TLS record; the major version follows
_TLS_VERSION: Final = 3
_BEGINNINGS: Final = {
    "HTTP": (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"CONN", b"PATC", b"TRAC",
             b"PRI "),
    "SSH": (b"SSH-",),
    "the PROXY protocol of a load balancer": (b"PROX", b"\r\n\r\n"),
}  # fmt: skip


class BadLength(Malformed):
    """An impossible length; the bytes behind it cannot be split.

    Attributes:
        looks_like: the protocol whose first bytes were taken for a length; "" if none is known.
    """

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"a request of {size_bytes} bytes")
        self.looks_like = _protocol_of(LENGTH.pack(size_bytes))


def _protocol_of(first: bytes) -> str:
    """The protocol that begins with these four bytes; "" if it is none of a few."""
    if first[0] == _TLS_HANDSHAKE and first[1] == _TLS_VERSION:
        return "TLS"
    return next((name for name, begins in _BEGINNINGS.items() if first in begins), "")


class ReceiveBuffers:
    """A shared buffer and a pool. Only one thread may use it.

    Args:
        shared_bytes: the size of the shared buffer.
        pooled_bytes: the size of each buffer of the pool.
        pooled: the largest number of buffers in the pool.

    Attributes:
        shared: the buffer that the next read of a socket uses, if nothing refers to it.
        large_bytes: a cut request above this size is received into a buffer of its own.
    """

    __slots__ = ("_most_pooled", "_needed", "_pool", "_pooled_bytes", "large_bytes", "shared")

    def __init__(
        self,
        shared_bytes: int = SHARED_BYTES,
        pooled_bytes: int = POOLED_BYTES,
        pooled: int = POOLED,
    ) -> None:
        self.shared = bytearray(shared_bytes)
        self.large_bytes = shared_bytes // 2
        self._pooled_bytes = pooled_bytes
        self._most_pooled = pooled
        self._pool: list[bytearray] = []
        self._needed = 0  # the number of buffers at the pool's beginning that were used recently

    @property
    def held_bytes(self) -> int:
        """The size of all buffers."""
        return len(self.shared) + len(self._pool) * self._pooled_bytes

    def take(self, size_bytes: int) -> memoryview | None:
        """A buffer of that size, in use as long as a view of it exists.

        Returns:
            None if the size is above `pooled_bytes`, or all buffers of the pool are in use.
        """
        if size_bytes > self._pooled_bytes:
            return None
        for number, buffer in enumerate(self._pool, 1):
            if _is_free(buffer):
                self._needed = max(self._needed, number)
                return memoryview(buffer)[:size_bytes]
        if len(self._pool) == self._most_pooled:
            return None
        buffer = bytearray(self._pooled_bytes)
        self._pool.append(buffer)
        self._needed = len(self._pool)
        return memoryview(buffer)[:size_bytes]

    def free_unused(self) -> None:
        """Free the buffers of the pool that were not needed since the last call."""
        behind = self._pool[self._needed :]
        self._pool[self._needed :] = [buffer for buffer in behind if not _is_free(buffer)]
        self._needed = 0


def _is_free(buffer: bytearray) -> bool:
    """Whether no view of a buffer exists: only then its size may change."""
    try:
        buffer.append(buffer.pop())
    except BufferError:
        return False
    return True


class Room(Protocol):
    """Gives the place for the bytes that are read next: `get_buffer` of asyncio's protocols."""

    def __call__(self, sizehint: int) -> bytearray | memoryview: ...


class Frames:
    """The unread bytes of one connection.

    Each read takes three calls: `room`, `received` and, once the requests are served, `settle`.
    Other connections use the same buffers only before or after these.

    Args:
        buffers: shared with other connections.
        size_limit_bytes: the largest request accepted (socket.request.max.bytes).

    Attributes:
        is_empty: no bytes are unread.
    """

    __slots__ = (
        "_at", "_behind", "_buffers", "_cut_bytes", "_filled_bytes", "_size_limit_bytes",
        "_smallest_bytes", "_view", "_wanted", "_whole", "is_empty",
    )  # fmt: skip

    def __init__(self, buffers: ReceiveBuffers, *, size_limit_bytes: int) -> None:
        self._buffers = buffers
        self._size_limit_bytes = size_limit_bytes
        self._smallest_bytes = SMALLEST_BYTES
        self.is_empty = True
        self._view: memoryview | None = None  # holds the next requests, from `_at` on
        self._at = 0
        self._cut_bytes = 0  # unread, if they are only the beginning of a small request
        self._whole: memoryview | None = None  # a large request that is being received
        self._filled_bytes = 0  # of `_whole`
        self._behind = bytearray()  # the bytes behind the view
        self._wanted = _LENGTH_BYTES  # no frame is whole before `_behind` has so many bytes

    def limit(self, largest_bytes: int, smallest_bytes: int) -> None:
        """Change the sizes that are accepted from the next frame on."""
        self._size_limit_bytes, self._smallest_bytes = largest_bytes, smallest_bytes

    @property
    def unread_bytes(self) -> int:
        """The number of received bytes that `next` has not returned yet."""
        if self._whole is not None:
            return self._filled_bytes
        view = self._view
        return len(self._behind) + (0 if view is None else len(view) - self._at)

    def room(self, sizehint: int = -1) -> bytearray | memoryview:
        """The place for the bytes that are read next: at least one, whatever the hint."""
        whole = self._whole
        if whole is not None:
            return whole[self._filled_bytes :]
        shared = self._buffers.shared
        try:  # as `_is_free`, without the call: each read of a socket comes here
            shared.append(shared.pop())
        except BufferError:  # requests in it are still in use
            shared = self._buffers.shared = bytearray(len(shared))
        cut_bytes = self._cut_bytes
        if cut_bytes:
            assert self._view is not None
            shared[:cut_bytes] = self._view[self._at :]
            return memoryview(shared)[cut_bytes:]
        return shared

    def received(self, size_bytes: int) -> None:
        """Add the bytes that were written into `room`, from its beginning on."""
        whole = self._whole
        if whole is not None:
            self._filled_bytes = size_bytes = self._filled_bytes + size_bytes
            if size_bytes == len(whole):
                self._view, self._at, self._whole = whole, 0, None
            return
        cut_bytes = self._cut_bytes
        if self.is_empty or cut_bytes:
            self._view = memoryview(self._buffers.shared)[: cut_bytes + size_bytes]
            self._at = self._cut_bytes = 0
            self.is_empty = False
        else:
            self._behind += memoryview(self._buffers.shared)[:size_bytes]

    def next(self) -> memoryview | None:
        """Take out the oldest request; None if none is whole.

        Raises:
            BadLength: the length is over the limit or below the minimum; no later request can be
                taken out either.
        """
        while True:
            view = self._view
            if view is None:
                if len(self._behind) < self._wanted:
                    return None
                view = self._view = memoryview(self._behind)
                self._behind, self._at = bytearray(), 0
            at = self._at
            left, wanted = len(view) - at, _LENGTH_BYTES
            if left >= wanted:
                (size_bytes,) = LENGTH.unpack_from(view, at)
                if not self._smallest_bytes <= size_bytes <= self._size_limit_bytes:
                    raise BadLength(size_bytes)
                wanted += size_bytes
                if left >= wanted:
                    self._at = end = at + wanted
                    if left == wanted:
                        self._view, self._wanted = None, _LENGTH_BYTES
                        self.is_empty = not self._behind
                    return view[at + _LENGTH_BYTES : end]
            if not self._behind:
                self._wait_for_rest(view, wanted)
                return None
            joined = bytearray(view[at:])
            joined += self._behind[: wanted - left]
            del self._behind[: wanted - left]
            self._view, self._at = memoryview(joined), 0

    def settle(self) -> None:
        """Copy the unread bytes out of the shared buffer, which the next read overwrites."""
        view = self._view
        if view is None or view.obj is not self._buffers.shared:
            return
        at = self._at
        left = len(view) - at
        if left >= _LENGTH_BYTES:
            (size_bytes,) = LENGTH.unpack_from(view, at)
            if left < _LENGTH_BYTES + size_bytes <= self._size_limit_bytes:
                self._wait_for_rest(view, _LENGTH_BYTES + size_bytes)
                view = self._view
                if view is None:
                    return
        self._view, self._at = memoryview(bytearray(view[at:])), 0

    def kept(self, frame: memoryview) -> memoryview:
        """A request that was taken out, to be served after the next read."""
        if frame.obj is self._buffers.shared:
            return memoryview(bytearray(frame))
        return frame

    def drop(self) -> None:
        """Forget the unread bytes."""
        self._view = self._whole = None
        self._behind = bytearray()
        self._cut_bytes, self._wanted, self.is_empty = 0, _LENGTH_BYTES, True

    def _wait_for_rest(self, view: memoryview, wanted: int) -> None:
        """Prepare to receive the rest of a request that begins at the end of the view.

        Args:
            wanted: the size of the request, with its length; or of the length alone.
        """
        at = self._at
        left = len(view) - at
        if wanted <= self._buffers.large_bytes:
            self._cut_bytes = left
            return
        whole = self._buffers.take(wanted)
        if whole is None:  # very large, or too many at a time: memory grows with what comes
            self._view, self._behind, self._wanted = None, bytearray(view[at:]), wanted
            return
        whole[:left] = view[at:]
        self._view, self._whole, self._filled_bytes = None, whole, left
