"""Packing record payloads, in the frames that Kafka's clients read.

cramjam is imported at the first payload: most brokers never pack one.
"""

from __future__ import annotations

from typing import Final

from .batch import Compression

# The frame in which Java's clients have Snappy: magic, version and oldest compatible version.
_XERIAL_HEAD: Final = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2
_XERIAL_BLOCK_BYTES: Final = 32_768
_LZ4_LEVEL: Final = 9
_ZSTD_LEVEL: Final = 3


def compressed(codec: Compression, payload: bytes) -> bytes:
    """`payload` packed by a codec at Kafka's default level; itself for NONE."""
    if codec == Compression.NONE:
        return payload
    import cramjam

    match codec:
        case Compression.GZIP:
            return bytes(cramjam.gzip.compress(payload))
        case Compression.SNAPPY:
            return _snappy(payload)
        case Compression.LZ4:
            return _lz4(payload)
        case _:
            return bytes(cramjam.zstd.compress(payload, level=_ZSTD_LEVEL))


def _lz4(payload: bytes) -> bytes:
    """A frame of independent blocks: linked ones are not what Java reads."""
    import cramjam

    compressor = cramjam.lz4.Compressor(
        level=_LZ4_LEVEL, content_checksum=False, block_linked=False
    )
    compressor.compress(payload)
    return bytes(compressor.finish())


def _snappy(payload: bytes) -> bytes:
    """Blocks with their lengths in front, behind a head: bare Snappy is not what Java reads."""
    import cramjam

    out = bytearray(_XERIAL_HEAD)
    for start in range(0, len(payload), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(payload[start : start + _XERIAL_BLOCK_BYTES]))
        out += len(block).to_bytes(4, "big") + block
    return bytes(out)
