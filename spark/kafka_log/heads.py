"""Walks over the headers of a file's batches, and past their bodies.

No CRC is computed, so a length may be wrong. The walk believes it if a batch with a higher base
offset begins where it leads to. Else it checks the CRC of the batch before, and goes on as behind
damage if that is wrong. Only a wrong length that leads exactly to a later batch hides batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from ...protocol.batch import CONTROL, HEADER_SIZE, LOG_OVERHEAD, MAGIC
from .blocks import (
    FRAME,
    LEAST_LENGTH,
    Block,
    Gap,
    Range,
    behind_damage,
    columns_of,
    offset_of_valid,
)

if TYPE_CHECKING:
    from .files import OpenFile

_HEADERS: Final = 4096  # of a block
_WINDOW_BYTES: Final = 256 << 10
_CONTROL_BYTES: Final = 64 << 10  # a control batch that claims to be larger has its header alone
_ATTRIBUTES_AT: Final = 21


class _Window:
    """The part of a file around the walk's position."""

    def __init__(self, file: OpenFile, file_end: int) -> None:
        self._file = file
        self._file_end = file_end
        self._at = 0
        self._data = b""
        self._is_sparse = False

    def read(self, position: int, size_bytes: int) -> bytes:
        """The bytes at a position; fewer at the end of the file."""
        at = position - self._at
        if at < 0 or at + size_bytes > len(self._data):
            most = max(size_bytes, self._ahead_bytes())
            self._at, at = position, 0
            self._data = self._file.read_at(position, min(most, self._file_end - position))
        return self._data[at : at + size_bytes]

    def _ahead_bytes(self) -> int:
        if self._is_sparse:
            return HEADER_SIZE
        return max(_WINDOW_BYTES, self._file.skip_bytes)

    def skip(self, size_bytes: int) -> None:
        """Note the size of a batch: behind a large one, read a header alone."""
        self._is_sparse = size_bytes > self._file.skip_bytes


class _Heads:
    """The batches of the next block."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.positions: list[int] = []

    def add(self, position: int, piece: bytes) -> None:
        self.pieces.append(piece)
        self.positions.append(position)

    def taken(self) -> Iterator[Block]:
        """The block, if it has a batch; this object is empty then."""
        if not self.pieces:
            return
        sizes = np.array([len(piece) for piece in self.pieces], np.int64)
        starts = np.cumsum(sizes) - sizes
        data = b"".join(self.pieces)
        positions = np.array(self.positions, np.int64)
        crc_ok = np.ones(len(positions), np.bool_)
        headers = columns_of(data, starts)
        self.pieces, self.positions = [], []
        yield Block(int(positions[0]), data, starts, headers, crc_ok, positions)


def walk_headers(file: OpenFile, range_: Range) -> Iterator[Block | Gap]:
    """The headers of the batches of a range, with the bodies of control batches, and the gaps.

    Raises:
        OSError: the file cannot be read.
    """
    window, heads = _Window(file, range_.file_end), _Heads()
    position, before, least_offset = range_.start, -1, -1
    while position < range_.end:
        head = window.read(position, HEADER_SIZE)
        size, why = _size(head, range_.file_end - position)
        if size and FRAME.unpack_from(head)[0] < least_offset and before >= 0:
            why = "the base offset goes back"
        if why:
            if before >= 0 and offset_of_valid(file, before, range_.file_end) is None:
                position, size = before, 0
                heads.pieces.pop(), heads.positions.pop()
                why = "the CRC is wrong"
            if not size:
                yield from heads.taken()
                position, flawed = behind_damage(file, position, range_, why)
                yield from flawed
                before = -1
                continue
        if len(heads.pieces) >= _HEADERS:
            yield from heads.taken()
        if head[_ATTRIBUTES_AT + 1] & CONTROL and size <= _CONTROL_BYTES:
            head = window.read(position, size)
        heads.add(position, head)
        window.skip(size)
        least_offset = FRAME.unpack_from(head)[0] + 1
        before, position = position, position + size
    yield from heads.taken()


def _size(head: bytes, room_bytes: int) -> tuple[int, str]:
    """The size of a batch, or 0 and the reason why it is none."""
    if len(head) < HEADER_SIZE:
        return 0, "the file ends inside a batch"
    _, length, _, magic, _ = FRAME.unpack_from(head)
    if magic != MAGIC:
        return 0, f"the magic byte is {magic}"
    if length < LEAST_LENGTH:
        return 0, f"the length is {length}"
    if LOG_OVERHEAD + length > room_bytes:
        return 0, "the file ends inside a batch"
    return LOG_OVERHEAD + length, ""
