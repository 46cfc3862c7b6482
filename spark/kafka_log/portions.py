"""Reads the records of one large batch piece by piece, so that memory does not grow with it.

The pieces come from the file, or from the decompression of the batch. Each is parsed as far as it
has whole records; the rest is joined to the next piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ...protocol.batch import HEADER_SIZE, LOG_OVERHEAD, Compression
from ...protocol.opening import pieces
from .parsing import Parsed, parse_part

if TYPE_CHECKING:
    from .blocks import Block

PORTION_BYTES: Final = 8 << 20
MOST_PACKED_BYTES: Final = 160 << 20
"""A compressed batch is in memory as a whole while it is read; one above this size is not read."""
MOST_RECORD_BYTES: Final = 112 << 20
"""A record is in memory twice; one above this size ends the read of its batch."""


class TooLarge(Exception):
    """The records need more memory than a task may use."""


class Unreadable(Exception):
    """The records are not those that the header declares."""


def portions(block: Block, row: int) -> Iterator[Parsed]:
    """The records of a batch, some MB at once.

    Raises:
        Refused: the payload does not decompress.
        TooLarge, Unreadable: see there; records before have been returned.
    """
    remaining = int(block.headers["record_count"][row])
    rest = b""
    for piece in _payload(block, row):
        data = rest + piece if rest else piece
        found, end, needs_bytes = parse_part(data, remaining)
        if found is None:
            raise Unreadable("the records are not readable")
        remaining -= len(found.payload)
        if len(found.payload):
            yield found
        rest = data[end:]
        if needs_bytes > MOST_RECORD_BYTES:
            raise TooLarge(f"a record of {needs_bytes} bytes")
        if not remaining and rest:
            break
    if remaining or rest:
        raise Unreadable("the records are not readable")


def _payload(block: Block, row: int) -> Iterator[bytes]:
    size = int(block.headers["length"][row]) + LOG_OVERHEAD - HEADER_SIZE
    codec = int(block.headers["attributes"][row]) & 7
    if block.file is None:
        start = int(block.starts[row]) + HEADER_SIZE
        yield from pieces(codec, memoryview(block.data)[start : start + size], PORTION_BYTES)
        return
    start = int(block.positions[row]) + HEADER_SIZE
    if codec == Compression.NONE:
        for at in range(start, start + size, PORTION_BYTES):
            yield block.file.read_at(at, min(PORTION_BYTES, start + size - at))
        return
    if size > MOST_PACKED_BYTES:
        raise TooLarge(f"a compressed batch of {size} bytes")
    yield from pieces(codec, block.file.read_at(start, size), PORTION_BYTES)
