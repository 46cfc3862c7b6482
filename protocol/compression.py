"""Packing record payloads, in the frames that Kafka's clients read.

cramjam is imported at the first payload: most brokers never pack one.
"""

from __future__ import annotations

from typing import Final

from .batch import Compression

# The frame in which Java's clients have Snappy: magic, version and oldest compatible version.
_XERIAL_HEAD: Final = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2
_XERIAL_BLOCK_BYTES: Final = 32_768
_GZIP_DEFAULT: Final = -1
_GZIP_LEVEL: Final = 6  # what zlib means by its default
# Java's LZ4 takes its fast compressor at the default level, and the high one at every other.
_LZ4_DEFAULT: Final = 9
_LZ4_FAST: Final = 0
_LZ4_LEAST_HIGH: Final = 3
_ZSTD_LEVEL: Final = 3


def compressed(codec: Compression, payload: bytes, level: int | None = None) -> bytes:
    """`payload` packed by a codec; itself for NONE.

    Args:
        level: as in Kafka's `compression.*.level`; None: the codec's default there.
    """
    if codec == Compression.NONE:
        return payload
    import cramjam

    match codec:
        case Compression.GZIP:
            gzip_level = _GZIP_LEVEL if level in (None, _GZIP_DEFAULT) else level
            return bytes(cramjam.gzip.compress(payload, level=gzip_level))
        case Compression.SNAPPY:
            return _snappy(payload)
        case Compression.LZ4:
            return _lz4(payload, _LZ4_DEFAULT if level is None else level)
        case _:
            return bytes(
                cramjam.zstd.compress(payload, level=_ZSTD_LEVEL if level is None else level)
            )


def _lz4(payload: bytes, level: int) -> bytes:
    """A frame of independent blocks: linked ones are not what Java reads."""
    import cramjam

    level = _LZ4_FAST if level == _LZ4_DEFAULT else max(level, _LZ4_LEAST_HIGH)
    compressor = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
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
