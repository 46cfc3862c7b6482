"""What a batch has behind its header: at hand as a whole where it is little, else in pieces.

A small payload is opened in one go. Of a large one no more is open at a time than a piece, and
opening a piece is handed out, to be done by another thread.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from ..protocol.batch import HEADER_SIZE, BatchHeader, Bytes, Compression
from ..protocol.errors import Code, Refused
from ..protocol.opening import PIECE_BYTES, Opening, opening
from .record_stream import RecordStream, Wants
from .steps import Steps, elsewhere

AT_HAND_BYTES: Final = 1 << 18
"""What opens to no more is opened in one go."""


class Payload:
    """The records of one batch, read once from the first to the last.

    Args:
        position: of the batch in `data`, which must not change before all is read.
        unreadable: what records that do not decompress are refused with.
    """

    __slots__ = ("_first", "_opening", "_raw", "_unreadable", "header")

    def __init__(
        self,
        data: Bytes,
        position: int,
        header: BatchHeader,
        *,
        unreadable: Code = Code.CORRUPT_MESSAGE,
    ) -> None:
        self.header = header
        self._unreadable = unreadable
        self._raw = memoryview(data)[position + HEADER_SIZE : position + header.size_bytes]
        self._first: bytes | None = None  # what has been read, and not given out
        self._opening: Opening | None = None

    def at_hand(self) -> bytes | None:
        """All of it; None when it is more than is opened in one go.

        Raises:
            Refused: they do not decompress.
        """
        if self.header.compression == Compression.NONE:
            if self._raw:
                self._first, self._raw = bytes(self._raw), self._raw[:0]
            return self._first
        if self._opening is None:
            self._first = self._read(AT_HAND_BYTES)
        return self._first if self._opening is None or self._opening.is_finished else None

    def next_piece(self) -> Steps[bytes | None]:
        """Some of it, or nothing as long as there may be more; None at the end. Raises as above.

        What `at_hand` has not opened is opened elsewhere.
        """
        if self._first is None and self.header.compression == Compression.NONE:
            self.at_hand()
        if self._first is not None:
            piece, self._first = self._first, None
            return piece
        if self._is_at_end():
            return None
        return (yield from elsewhere(partial(self._read, PIECE_BYTES, whole_blocks=True)))

    def _is_at_end(self) -> bool:
        if self.header.compression == Compression.NONE:
            return True
        return self._opening is not None and self._opening.is_finished

    def _read(self, max_bytes: int, *, whole_blocks: bool = False) -> bytes:
        try:
            if self._opening is None:
                self._opening = opening(self.header.compression, self._raw)
            return self._opening.read(max_bytes, whole_blocks=whole_blocks)
        except Refused as refused:
            raise Refused(self._unreadable, refused.why) from None


def feed(stream: RecordStream, walk: Wants, payload: Payload) -> Steps[None]:
    """Take a walk over a payload, piece by piece. Raises Refused, as both do."""
    for wants_more in walk:
        if not wants_more:
            yield None
            continue
        piece = yield from payload.next_piece()
        if piece is None:
            stream.end()
        else:
            stream.feed(piece)
