"""An answer whose records are read from files while it is sent, one chunk at a time."""

from __future__ import annotations

from collections import deque
from typing import Final, TypeGuard

from ...protocol.batch import Bytes
from ...protocol.fetch_answer import Pieces, Unread

_FILES_AT_ONCE: Final = 32
"""Parts of files that are read at once: each may have to open its file, which takes 70 us."""
_IN_MEMORY: Final = frozenset((bytes, bytearray, memoryview))


class Outgoing:
    """The unsent part of an answer.

    Args:
        pieces: the pieces of the answer, in order; not empty.

    Attributes:
        held_bytes: the bytes of the pieces that are in memory rather than in files.
    """

    __slots__ = ("_pieces", "_start", "held_bytes")

    def __init__(self, pieces: Pieces) -> None:
        self._pieces: deque[Bytes | Unread] = deque()
        self._start = 0  # the position in the first piece
        self.held_bytes = 0
        for piece in pieces:
            if type(piece) in _IN_MEMORY:
                self.held_bytes += len(piece)
                if not piece:
                    continue
            self._pieces.append(piece)

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def take(self, size_bytes: int) -> list[Bytes]:
        """The next bytes: `size_bytes`, all that is left, or less: few files are read at once.

        Raises:
            OSError: a file cannot be read, so that the answer cannot be completed.
        """
        taken: list[Bytes] = []
        left, files_left, pieces = size_bytes, _FILES_AT_ONCE, self._pieces
        while left > 0 and files_left > 0 and pieces:
            piece, start = pieces[0], self._start
            piece_bytes = len(piece)
            size = min(piece_bytes - start, left)
            if not isinstance(piece, bytearray | bytes | memoryview):
                taken.append(piece.part(start, size))
                files_left -= 1
            elif size == piece_bytes:
                taken.append(piece)
            else:
                taken.append(memoryview(piece)[start : start + size])
            left -= size
            self._start = start + size
            if self._start == piece_bytes:
                pieces.popleft()
                self._start = 0
        return taken


def is_in_memory(pieces: Pieces) -> TypeGuard[list[Bytes]]:
    """Whether no part of an answer is in a file."""
    return _IN_MEMORY.issuperset(map(type, pieces))
