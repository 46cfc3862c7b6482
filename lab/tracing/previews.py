"""The beginnings of keys and values, as a trace shows them: text alone, and little of it.

Only the first records of a batch are opened, and a large batch is not read for them. Topics of the
broker itself have no previews, as they may have credentials; bytes that are no text are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

from ...protocol.batch import HEADER_SIZE, BatchHeader, Bytes, Compression
from ...protocol.errors import Refused
from ...protocol.opening import pieces
from ...protocol.records import Record, records_of
from ...storage.segments.reads import FileRange

MOST_OF_A_BATCH: Final = 3
"""The records of a batch whose keys and values are shown."""
MOST_CHARACTERS: Final = 80
"""Of a key or a value."""
_MOST_BYTES: Final = 8192
"""What is read of a batch, after its decompression: a record that is longer is not shown."""
_MOST_PACKED_BYTES: Final = 65_536
_LONGEST_CHARACTER: Final = 4


def previews_of(
    records: Bytes | FileRange, position: int, header: BatchHeader
) -> list[dict[str, str | None]]:
    """Key and value of the first records of a batch, as far as they can be read.

    Args:
        records: of a request or an answer.
        position: of the batch in them.
    """
    found: list[dict[str, str | None]] = []
    with suppress(Refused, IndexError):  # broken, or behind what is read
        found.extend(
            {"key": preview(record.key), "value": preview(record.value)}
            for record in islice(_opened(records, position, header), MOST_OF_A_BATCH)
        )
    return found


def _opened(records: Bytes | FileRange, position: int, header: BatchHeader) -> Iterator[Record]:
    if header.compression == Compression.NONE:
        size = min(header.size_bytes - HEADER_SIZE, _MOST_BYTES)
        yield from records_of(_part(records, position + HEADER_SIZE, size), header)
    elif header.size_bytes <= _MOST_PACKED_BYTES:
        packed = _part(records, position + HEADER_SIZE, header.size_bytes - HEADER_SIZE)
        yield from records_of(next(pieces(header.compression, packed, _MOST_BYTES), b""), header)


def _part(records: Bytes | FileRange, position: int, size: int) -> Bytes:
    if isinstance(records, FileRange):
        return records.part(position, size)
    return memoryview(records)[position : position + size]


def preview(data: bytes | None) -> str | None:
    """The beginning of a text; bytes that are none are counted.

    Returns:
        None for null.
    """
    if data is None:
        return None
    head = data[: MOST_CHARACTERS * _LONGEST_CHARACTER]
    try:
        text = head.decode()
    except UnicodeDecodeError as wrong:
        is_cut = len(head) < len(data) and wrong.start > len(head) - _LONGEST_CHARACTER
        if not is_cut:
            return f"<{len(data)} bytes>"
        text = head[: wrong.start].decode()
    if not text.translate(_LAYOUT).isprintable():
        return f"<{len(data)} bytes>"
    if len(text) <= MOST_CHARACTERS and len(head) == len(data):
        return text
    return f"{text[:MOST_CHARACTERS]}... ({len(data)} bytes)"


_LAYOUT: Final = dict.fromkeys(map(ord, "\t\r\n"))
"""Control characters that texts have."""
