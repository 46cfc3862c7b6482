"""Batches for topics that want another codec than the producer's (`compression.type`).

Only the payload is packed anew: offsets, times and sequence numbers stay as they are.
"""

from __future__ import annotations

from typing import Final

from ..protocol.batch import (
    COMPRESSION_MASK,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchHeader,
    Bytes,
    Compression,
    seal,
)
from ..protocol.compression import compressed
from ..protocol.records import payload_of

PRODUCER: Final = "producer"

_CODECS: Final = {"uncompressed": Compression.NONE} | {
    codec.name.lower(): codec for codec in Compression if codec is not Compression.NONE
}


def recompressed(
    records: Bytes, header: BatchHeader, compression_type: str, level: int | None = None
) -> tuple[Bytes, BatchHeader]:
    """The batch in the codec of a `compression.type`; itself when it is in it already.

    Args:
        level: for the codec; None: Kafka's default. What comes in the codec keeps the level it has.

    Raises:
        Refused: CORRUPT_MESSAGE when its records do not decompress.
    """
    codec = _CODECS[compression_type]
    if header.attributes & COMPRESSION_MASK == codec:
        return records, header
    batch = bytearray(HEADER_SIZE) + compressed(codec, bytes(payload_of(records, 0, header)), level)
    header = header._replace(
        length=len(batch) - LOG_OVERHEAD,
        attributes=header.attributes & ~COMPRESSION_MASK | codec,
    )
    HEADER.pack_into(batch, 0, *header)
    seal(batch)
    return batch, header
