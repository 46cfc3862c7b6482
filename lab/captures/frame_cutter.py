"""Cuts one direction of a connection into Kafka's frames: a length and that many bytes.

A hole inside a frame costs that frame alone. After any other hole, and in a capture that begins in
the middle of a connection, the cutter looks for the next frame by its content.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

LARGEST_BYTES: Final = 1 << 30
KEPT_BYTES: Final = 512
"""The size of the beginning that is kept of a frame that is not kept whole."""
MOST_SEARCHED_BYTES: Final = 4 << 20
MOST_BUFFERED_BYTES: Final = 192 << 20
_SMALL_BYTES: Final = 1 << 16  # such frames need no room
_LENGTH: Final = struct.Struct(">i")

Candidates = Callable[[bytearray, int], Iterable[int]]
"""Buffer and start to the positions where a frame may begin, with its length."""
Check = Callable[[memoryview], bool]
"""Whether a frame, without its length, is one."""


class Frame(NamedTuple):
    """A frame without its length.

    Attributes:
        data: all of it, or its beginning if the rest is not in the capture or too large.
        size: what its length says.
        at_us: when its last byte was captured.
        lacks: why it is not whole; empty if it is.
    """

    data: bytes
    size: int
    at_us: int
    lacks: str = ""


class Room:
    """The memory for large frames of all connections together."""

    def __init__(self, size_bytes: int = MOST_BUFFERED_BYTES) -> None:
        self._left_bytes = size_bytes

    def take(self, size_bytes: int) -> bool:
        """Whether a frame may be kept; it is given back later."""
        if size_bytes <= _SMALL_BYTES:
            return True
        if size_bytes > self._left_bytes:
            return False
        self._left_bytes -= size_bytes
        return True

    def give_back(self, size_bytes: int) -> None:
        """The memory of a kept frame is free."""
        if size_bytes > _SMALL_BYTES:
            self._left_bytes += size_bytes


class FrameCutter:
    """The frames of one direction.

    Args:
        room: for large frames; shared by all connections.
        candidates, check: find a frame when it is unknown where one begins.
        remembered_bytes: how much of what was searched in vain is kept for `search_again`.

    Attributes:
        is_in_step: it is known where the next frame begins.
        searched_bytes: how much was searched in vain since the last frame.
    """

    __slots__ = (
        "_candidates", "_check", "_found", "_is_kept", "_kept", "_lacks", "_prefix",
        "_remembered_bytes", "_room", "_scanned", "_searched", "_seen", "_size", "is_in_step",
        "searched_bytes",
    )  # fmt: skip

    def __init__(
        self, room: Room, *, candidates: Candidates, check: Check, remembered_bytes: int = 0
    ) -> None:
        self._room = room
        self._candidates = candidates
        self._check = check
        self._remembered_bytes = remembered_bytes
        self._prefix = bytearray()
        self._size: int | None = None
        self._seen = 0
        self._kept = bytearray()
        self._is_kept = False
        self._lacks = ""
        self._searched = bytearray()  # bytes in which a frame is looked for
        self._found: list[int] = []  # where one may begin, waiting for its end
        self._scanned = 0
        self.searched_bytes = 0
        self.is_in_step = False

    @property
    def awaited_bytes(self) -> int:
        """The size of the frame that has begun; 0 between frames."""
        return self._size or 0

    def feed(self, data: bytes, at_us: int) -> Iterator[Frame]:
        """The frames that these bytes complete."""
        rest = memoryview(data)
        while len(rest):
            if not self.is_in_step:
                found = self._search(rest)
                if found is None:
                    return
                rest = found
            elif self._size is None:
                rest = self._begin(rest)
            else:
                size = min(len(rest), self._size - self._seen)
                self._keep(rest[:size])
                self._seen += size
                rest = rest[size:]
            if self._size is not None and self._seen == self._size:
                yield self._end_frame(at_us)

    def lose(self, size: int, at_us: int) -> Iterator[Frame]:
        """Bytes are missing; yields the frame that they end, if they do."""
        if self.is_in_step and self._size is not None and self._seen + size <= self._size:
            self._give_up_keeping()
            self._seen += size
            if self._seen == self._size:
                yield self._end_frame(at_us)
            return
        if self._size is not None:
            self._give_up_keeping()
            yield self._end_frame(at_us)
        self.fall_out_of_step()

    def fall_out_of_step(self) -> None:
        """Look for the next frame by its content."""
        if self._size is not None:
            self._give_up_keeping()
        self._prefix.clear()
        self._kept = bytearray()
        self._size, self._seen = None, 0
        self._searched.clear()
        self._found.clear()
        self._scanned = 0
        self.is_in_step = False

    def search_again(self, at_us: int) -> Iterator[Frame]:
        """Search what was searched in vain, because the candidates have changed."""
        if not self.is_in_step and self._searched:
            data = bytes(self._searched)
            self.searched_bytes -= len(data)
            self.fall_out_of_step()
            yield from self.feed(data, at_us)

    def _begin(self, rest: memoryview) -> memoryview:
        """Read the length of the next frame."""
        wanted = _LENGTH.size - len(self._prefix)
        self._prefix += rest[:wanted]
        if len(self._prefix) < _LENGTH.size:
            return rest[wanted:]
        (size,) = _LENGTH.unpack(self._prefix)
        if not 0 <= size <= LARGEST_BYTES:
            again = bytes(self._prefix) + bytes(rest[wanted:])
            self.fall_out_of_step()
            return memoryview(again)
        self._prefix.clear()
        self._size, self._seen = size, 0
        self._is_kept = self._room.take(size)
        self._lacks = "" if self._is_kept else "too large to be decoded"
        return rest[wanted:]

    def _keep(self, data: memoryview) -> None:
        if self._is_kept:
            self._kept += data
        elif self._seen == len(self._kept) < KEPT_BYTES:
            self._kept += data[: KEPT_BYTES - len(self._kept)]

    def _give_up_keeping(self) -> None:
        self._lacks = "not whole in the capture"
        if self._is_kept and self._size is not None:
            self._room.give_back(self._size)
            self._is_kept = False
            del self._kept[KEPT_BYTES:]

    def _end_frame(self, at_us: int) -> Frame:
        assert self._size is not None
        frame = Frame(bytes(self._kept), self._size, at_us, self._lacks)
        if self._is_kept:
            self._room.give_back(self._size)
            self._is_kept = False
        self._kept = bytearray()
        self._size, self._seen = None, 0
        self.searched_bytes = 0
        return frame

    def _search(self, rest: memoryview) -> memoryview | None:
        """Look for a frame; returns the bytes from its length on, or None."""
        self._searched += rest
        self.searched_bytes += len(rest)
        self._found += self._candidates(self._searched, self._scanned)
        self._scanned = max(0, len(self._searched) - 11)  # the rest of a header may follow
        for position in list(self._found):
            size = _LENGTH.unpack_from(self._searched, position)[0]
            start = position + _LENGTH.size
            if not 0 <= size <= MOST_SEARCHED_BYTES:
                self._found.remove(position)
            elif start + size <= len(self._searched):
                if self._check(memoryview(self._searched[start : start + size])):
                    again = bytes(self._searched[position:])
                    self.fall_out_of_step()
                    self.is_in_step = True
                    return memoryview(again)
                self._found.remove(position)
        self._forget()
        return None

    def _forget(self) -> None:
        """Drop bytes in which no frame can begin any more."""
        start = self._found[0] if self._found else self._scanned
        start = min(start, max(0, len(self._searched) - self._remembered_bytes))
        if len(self._searched) - start > MOST_SEARCHED_BYTES:
            start = self._scanned
            self._found.clear()
        if start > 0:
            del self._searched[:start]
            self._found = [position - start for position in self._found]
            self._scanned -= start
