"""An answer that is read from files while it is sent, a chunk of it at a time."""

from __future__ import annotations

from collections import deque
from typing import Final

from ..protocol.batch import Bytes
from ..protocol.fetch_answer import Pieces

_IN_MEMORY: Final = frozenset((bytes, bytearray, memoryview))


class Outgoing:
    """What is left of an answer.

    Args:
        pieces: of it, in order; not empty.

    Attributes:
        held_bytes: of it, that are in memory all the while, and not in files.
    """

    __slots__ = ("_pieces", "_start", "held_bytes")

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = deque(piece for piece in pieces if len(piece))
        self._start = 0  # in the first of them
        self.held_bytes = sum(len(piece) for piece in pieces if type(piece) in _IN_MEMORY)

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def take(self, size_bytes: int) -> list[Bytes]:
        """The next bytes of it: `size_bytes`, or a little less, or all that is left.

        Raises:
            OSError: a file cannot be read; the answer cannot come to its end.
        """
        taken: list[Bytes] = []
        left = size_bytes
        while self._pieces and left > 0:
            piece, start = self._pieces[0], self._start
            size = min(len(piece) - start, left)
            if isinstance(piece, bytes | bytearray | memoryview):
                taken.append(
                    piece if size == len(piece) else memoryview(piece)[start : start + size]
                )
            else:
                taken.append(piece.part(start, size))
            left -= size
            self._start += size
            if self._start == len(piece):
                self._pieces.popleft()
                self._start = 0
        return taken


def is_read_later(pieces: Pieces) -> bool:
    """Whether some of an answer is in files."""
    return not _IN_MEMORY.issuperset(map(type, pieces))
