"""Packing record payloads, in the frames that Kafka's clients read.

What packs is imported at the first payload: most brokers never pack one. Gzip is zlib's, as in
Java: what it makes is as long.
"""

from __future__ import annotations

from typing import Final

from .batch import Compression

# The frame in which Java's clients have Snappy: magic, version and oldest compatible version.
_XERIAL_HEAD: Final = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2
_XERIAL_BLOCK_BYTES: Final = 32_768
_GZIP_DEFAULT: Final = -1
_GZIP_FRAME: Final = 31  # zlib's word for gzip's header and trailer, and the largest window
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
    if codec == Compression.GZIP:
        return _gzip(payload, _GZIP_DEFAULT if level is None else level)
    import cramjam

    match codec:
        case Compression.SNAPPY:
            return _snappy(payload)
        case Compression.LZ4:
            return _lz4(payload, _LZ4_DEFAULT if level is None else level)
        case _:
            return bytes(
                cramjam.zstd.compress(payload, level=_ZSTD_LEVEL if level is None else level)
            )


def _gzip(payload: bytes, level: int) -> bytes:
    import zlib

    packer = zlib.compressobj(level, zlib.DEFLATED, _GZIP_FRAME)
    return packer.compress(payload) + packer.flush()


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
