"""Decompresses the payload of a batch: as a whole if it is small, else in pieces.

Of a large payload at most one piece is decompressed at a time, and its decompression is yielded, to
be run by another thread.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from ...protocol.batch import HEADER_SIZE, BatchHeader, Bytes, Compression
from ...protocol.errors import Code, Refused
from ...protocol.named_tuple import NamedTuple
from ...protocol.opening import PIECE_BYTES, Opening, loaded, opening
from ..steps import Steps, elsewhere
from .record_stream import RecordStream, Wants


class PieceSizes(NamedTuple):
    """How much is decompressed at once.

    Attributes:
        at_hand_bytes: the largest payload that is decompressed as a whole.
        piece_bytes: of a larger payload, each piece.
    """

    at_hand_bytes: int = 1 << 18
    piece_bytes: int = PIECE_BYTES


PIECE_SIZES: Final = PieceSizes()


class Payload:
    """The records of one batch, read once from the first to the last.

    Args:
        position: of the batch in `data`, which must not change before all is read.
        unreadable: error code for records that do not decompress.
        sizes: of its pieces.
    """

    __slots__ = ("_first", "_opening", "_raw", "_sizes", "_unreadable", "header")

    def __init__(
        self,
        data: Bytes,
        position: int,
        header: BatchHeader,
        *,
        unreadable: Code = Code.CORRUPT_MESSAGE,
        sizes: PieceSizes = PIECE_SIZES,
    ) -> None:
        self.header = header
        self._sizes = sizes
        self._unreadable = unreadable
        self._raw = memoryview(data)[position + HEADER_SIZE : position + header.size_bytes]
        self._first: bytes | None = None  # read and not yet returned
        self._opening: Opening | None = None

    def at_hand(self) -> bytes | None:
        """The whole payload; None if it is too large to decompress at once.

        So for the first payload of a codec: its library is imported with the next piece.

        Raises:
            Refused: it does not decompress.
        """
        if self.header.compression == Compression.NONE:
            if self._raw:
                self._first, self._raw = bytes(self._raw), self._raw[:0]
            return self._first
        if self._opening is None:
            if self.header.compression not in loaded:
                return None
            self._first = self._read(self._sizes.at_hand_bytes)
        return self._first if self._opening is None or self._opening.is_finished else None

    def next_piece(self) -> Steps[bytes | None]:
        """A piece, or empty bytes while there may be more; None at the end. Raises Refused.

        Decompression that `at_hand` has not done is yielded.
        """
        if self._first is None and self.header.compression == Compression.NONE:
            self.at_hand()
        if self._first is not None:
            piece, self._first = self._first, None
            return piece
        if self._is_at_end():
            return None
        read = partial(self._read, self._sizes.piece_bytes, whole_blocks=True)
        return (yield from elsewhere(read))

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
    """Walk over a payload, piece by piece. Raises Refused, as both do."""
    for wants_more in walk:
        if not wants_more:
            yield None
            continue
        piece = yield from payload.next_piece()
        if piece is None:
            stream.end()
        else:
            stream.feed(piece)
