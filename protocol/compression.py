"""Compresses record payloads, as a whole or piece by piece, in the frames that Kafka's clients
read.

Compression libraries are imported at the first payload, because most brokers never compress. Gzip
is zlib's, as in Java, so its output has the same length.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from .batch import Compression
from .named_tuple import NamedTuple
from .opening import load, loaded, zstd_module

# The frame of Java's clients around Snappy: magic, version and oldest compatible version.
_XERIAL_HEAD: Final = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2
_XERIAL_BLOCK_BYTES: Final = 32_768
_GZIP_DEFAULT: Final = -1
_GZIP_FRAME: Final = 31  # zlib's `wbits` for gzip's header and trailer, and the largest window
# Java's LZ4 uses its fast compressor at the default level, and the high one at all others.
_LZ4_DEFAULT: Final = 9
_LZ4_FAST: Final = 0
_LZ4_LEAST_HIGH: Final = 3
_ZSTD_LEVEL: Final = 3


def compressed(codec: Compression, payload: bytes, level: int | None = None) -> bytes:
    """`payload` compressed by a codec; unchanged for NONE.

    Args:
        level: as in Kafka's `compression.*.level`; None: Kafka's default of the codec.
    """
    if codec == Compression.NONE:
        return payload
    if codec not in loaded:
        load(codec)
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


class Packer(NamedTuple):
    """Compresses a payload that comes in pieces.

    Attributes:
        add: takes the next piece and returns compressed bytes, of that piece or of earlier ones.
        end: returns the remaining compressed bytes.
    """

    add: Callable[[bytes], bytes]
    end: Callable[[], bytes]


def packer(codec: Compression, level: int | None = None) -> Packer:
    """A packer; its output decompresses to the same bytes as that of `compressed`."""
    if codec not in loaded:
        load(codec)
    match codec:
        case Compression.GZIP:
            gzip = _gzip_packer(_GZIP_DEFAULT if level is None else level)
            return Packer(gzip.compress, gzip.flush)
        case Compression.SNAPPY:
            snappy = _SnappyPacker()
            return Packer(snappy.add, snappy.end)
        case Compression.LZ4:
            lz4 = _lz4_packer(_LZ4_DEFAULT if level is None else level)
            return Packer(partial(_added, lz4), lambda: bytes(lz4.finish()))
        case Compression.ZSTD:
            zstd = zstd_module().ZstdCompressor(level=_ZSTD_LEVEL if level is None else level)
            return Packer(zstd.compress, zstd.flush)
        case _:
            return Packer(lambda piece: piece, lambda: b"")


def _added(lz4: Any, piece: bytes) -> bytes:
    lz4.compress(piece)
    return bytes(lz4.flush())


class _SnappyPacker:
    def __init__(self) -> None:
        self._rest = b""
        self._head = _XERIAL_HEAD

    def add(self, piece: bytes) -> bytes:
        whole = self._rest + piece
        end = len(whole) - len(whole) % _XERIAL_BLOCK_BYTES
        self._rest = whole[end:]
        return self._pack(whole[:end])

    def end(self) -> bytes:
        return self._pack(self._rest)

    def _pack(self, payload: bytes) -> bytes:
        head, self._head = self._head, b""
        return head + _snappy_blocks(payload)


def _gzip(payload: bytes, level: int) -> bytes:
    packer = _gzip_packer(level)
    return bytes(packer.compress(payload) + packer.flush())


def _gzip_packer(level: int) -> Any:
    import zlib

    return zlib.compressobj(level, zlib.DEFLATED, _GZIP_FRAME)


def _lz4(payload: bytes, level: int) -> bytes:
    compressor = _lz4_packer(level)
    compressor.compress(payload)
    return bytes(compressor.finish())


def _lz4_packer(level: int) -> Any:
    """A frame of independent blocks, because Java does not read linked ones."""
    import cramjam

    level = _LZ4_FAST if level == _LZ4_DEFAULT else max(level, _LZ4_LEAST_HIGH)
    return cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)


def _snappy(payload: bytes) -> bytes:
    """Blocks with their lengths, behind a header, because Java does not read bare Snappy."""
    return _XERIAL_HEAD + _snappy_blocks(payload)


def _snappy_blocks(payload: bytes) -> bytes:
    import cramjam

    out = bytearray()
    for start in range(0, len(payload), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(payload[start : start + _XERIAL_BLOCK_BYTES]))
        out += len(block).to_bytes(4, "big") + block
    return bytes(out)
