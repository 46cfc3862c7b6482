"""An answer in pieces, put together as a socket gets it."""

from __future__ import annotations

from ottla.protocol.fetch_answer import Pieces


def joined(pieces: Pieces) -> bytes:
    """All its bytes; those that lie in files are read."""
    return b"".join(
        piece if isinstance(piece, bytes | bytearray | memoryview) else piece.part(0, len(piece))
        for piece in pieces
    )
