"""Reads the records of a range from their log, for the copies in a dead letter queue (KIP-1191).

The decompressed size is limited, so that a small batch cannot fill the memory: a batch that is too
large has no copies. Follows ShareGroupDLQRecordFetcher of Kafka 4.4.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ....protocol.batch import HEADER_SIZE, Bytes, Compression, Pair, headers_in
from ....protocol.errors import Refused
from ....protocol.opening import pieces
from ....protocol.records import Record, records_of

if TYPE_CHECKING:
    from ....protocol.batch import BatchHeader
    from ....storage.log import PartitionLog
    from ...scheduling.workers import Workers

_READ_BYTES: Final = 1 << 20
_PIECE_BYTES: Final = 1 << 16
_FIELDS_BYTES: Final = 16  # of a record, about: sizes, timestamp, offset


class Originals(NamedTuple):
    """The records of a range, as far as they were read.

    Attributes:
        records: key and value by offset. What is missing is too large, or not in the log.
        last_offset: the last one that was looked for.
    """

    records: dict[int, Pair]
    last_offset: int


async def read_originals(
    workers: Workers, log: PartitionLog, first_offset: int, last_offset: int, most_bytes: int
) -> Originals:
    """Read records until they have `most_bytes`; raises nothing.

    Args:
        most_bytes: of all records together. A batch or record with more is left out.
    """
    found: dict[int, Pair] = {}
    offset, left_bytes = first_offset, most_bytes
    while offset <= last_offset:
        try:
            data = log.read(
                offset, max_bytes=_READ_BYTES, up_to=log.high_watermark, min_one=True
            ).records
            read = await workers.run(
                partial(_collect, data, offset, last_offset, left_bytes, most_bytes)
            )
        except (Refused, OSError):
            break  # the rest has no copies
        found.update(read.records)
        left_bytes -= read.size_bytes
        if read.is_full:
            return Originals(found, read.next_offset - 1)
        if read.next_offset <= offset:
            break
        offset = read.next_offset
    return Originals(found, last_offset)


class _Read(NamedTuple):
    """The records of some batches.

    Attributes:
        is_full: the next record does not fit.
    """

    records: dict[int, Pair]
    size_bytes: int
    next_offset: int
    is_full: bool


def _collect(data: Bytes, offset: int, last_offset: int, left_bytes: int, most_bytes: int) -> _Read:
    """Take the records of a range from whole batches, in a thread. Raises Refused."""
    found: dict[int, Pair] = {}
    size_bytes = 0
    for position, header in headers_in(data):
        payload = _payload(data, position, header, most_bytes)
        if payload is not None:
            for record in records_of(payload, header):
                if record.offset < offset:
                    continue
                if record.offset > last_offset:
                    return _Read(found, size_bytes, last_offset + 1, False)
                record_bytes = _size_bytes(record)
                if record_bytes <= most_bytes:
                    if size_bytes + record_bytes > left_bytes:
                        return _Read(found, size_bytes, record.offset, True)
                    found[record.offset] = record.key, record.value
                    size_bytes += record_bytes
        offset = max(offset, header.next_offset)
    return _Read(found, size_bytes, min(offset, last_offset + 1), False)


def _payload(data: Bytes, position: int, header: BatchHeader, most_bytes: int) -> Bytes | None:
    """The payload of a batch, decompressed; None if that has more than `most_bytes`."""
    raw = memoryview(data)[position + HEADER_SIZE : position + header.size_bytes]
    if header.compression == Compression.NONE:
        return raw
    parts: list[bytes] = []
    size_bytes = 0
    for piece in pieces(header.compression, raw, _PIECE_BYTES):
        size_bytes += len(piece)
        if size_bytes > most_bytes:
            return None
        parts.append(piece)
    return b"".join(parts)


def _size_bytes(record: Record) -> int:
    """About the size of a record in its batch."""
    size_bytes = _FIELDS_BYTES + len(record.key or b"") + len(record.value or b"")
    return size_bytes + sum(len(name) + len(value or b"") for name, value in record.headers)
