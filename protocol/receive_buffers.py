"""The buffers that sockets write into, shared by all connections of an event loop.

Received bytes are first written into one shared buffer. A large request gets a buffer from a pool
once its length is known, and the rest of it is received in place. Fresh memory for each large
request would cost more than the rest of its append: the system maps, zeroes and unmaps its pages.

A buffer is free if no view of it exists. So nothing needs to be returned to the pool, and a view
that outlives its request keeps its buffer from being used again. Python itself counts the views: a
bytearray with views cannot be resized.
"""

from __future__ import annotations

from typing import Final

SHARED_BYTES: Final = 1 << 16
POOLED_BYTES: Final = (1 << 20) + (1 << 16)
"""The largest request in a buffer of the pool: a batch of max.message.bytes and what is around."""
POOLED: Final = 16


class ReceiveBuffers:
    """A shared buffer and a pool. Only one thread may use it.

    Args:
        shared_bytes: the size of the shared buffer.
        pooled_bytes: the size of each buffer of the pool.
        pooled: the largest number of buffers in the pool.

    Attributes:
        shared: the buffer that `for_reading` has returned last.
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

    def for_reading(self) -> bytearray:
        """The shared buffer; another one if requests in the last one are still in use."""
        shared = self.shared
        try:  # as `_is_free`, without the call: each read of a socket comes here
            shared.append(shared.pop())
        except BufferError:
            shared = self.shared = bytearray(len(shared))
        return shared

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
