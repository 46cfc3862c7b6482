"""A batch of a log in a word each: its codec, and its kind."""

from __future__ import annotations

from ...protocol.batch import BatchHeader, Compression
from ...protocol.control import read_marker
from ...protocol.errors import Refused
from ...storage.segments.segment import Segment


def codec_of(header: BatchHeader) -> str:
    """The name of the batch's codec, or its number if Kafka has no such codec."""
    known = header.compression in list(Compression)
    return Compression(header.compression).name.lower() if known else str(header.compression)


def kind_of(segment: Segment, position: int, header: BatchHeader) -> str:
    """`transactional`, COMMIT, ABORT, `control`, or nothing for a plain batch."""
    if not header.is_control:
        return "transactional" if header.is_transactional else ""
    try:
        marker = read_marker(segment.batch_at(position, header), 0, header)
    except Refused:
        marker = None
    if marker is None:
        return "control"
    return "COMMIT" if marker.commit else "ABORT"
