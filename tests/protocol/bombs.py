"""Little that opens to much, in each codec, made without ever having it open."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import cramjam
import lz4.frame
import zstandard

from ottla.protocol.batch import Compression
from tests.wire.batches import varint

_STEP: Final = 1 << 20


def one_record(value_bytes: int) -> Iterator[bytes]:
    """The pieces of a record whose value is so many zeros."""
    head = b"\0\0\0" + varint(-1) + varint(value_bytes)
    yield varint(len(head) + value_bytes + 1) + head
    yield from zeros(value_bytes + 1)


def zeros(size: int) -> Iterator[bytes]:
    """So many zeros, in pieces."""
    whole = bytes(_STEP)
    for _ in range(size // _STEP):
        yield whole
    yield bytes(size % _STEP)


def packed(codec: Compression, payload: Iterator[bytes]) -> bytes:
    """A payload in one frame; as one block where the codec is Snappy, which has no other way."""
    if codec is Compression.SNAPPY:
        return bytes(cramjam.snappy.compress_raw(b"".join(payload)))
    head, add, end = _PACKERS[codec]()
    return b"".join([head, *map(add, payload), end()])


def _gzip() -> tuple[bytes, Any, Any]:
    packer = zlib.compressobj(wbits=31)
    return b"", packer.compress, packer.flush


def _lz4() -> tuple[bytes, Any, Any]:
    packer = lz4.frame.LZ4FrameCompressor(block_linked=False, block_size=7)
    return packer.begin(), packer.compress, packer.flush


def _zstd() -> tuple[bytes, Any, Any]:
    packer = zstandard.ZstdCompressor().compressobj()
    return b"", packer.compress, packer.flush


_PACKERS: Final[dict[Compression, Callable[[], tuple[bytes, Any, Any]]]] = {
    Compression.GZIP: _gzip,
    Compression.LZ4: _lz4,
    Compression.ZSTD: _zstd,
}

SIZES: Final = {
    Compression.GZIP: 64 << 20,
    Compression.SNAPPY: 8 << 20,
    Compression.LZ4: 64 << 20,
    Compression.ZSTD: 256 << 20,
}
"""The decompressed size of each bomb: far more than a piece, but fast to decompress."""
