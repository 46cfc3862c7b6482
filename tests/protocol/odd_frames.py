"""Frames that no client packs, and what Apache Kafka 4.1.1 makes of them.

Each holds one record, `PAYLOAD`, more or less whole. Kafka's answers to Produce, of a batch of one
record, were seen on the wire: 0 it is appended, 87 (INVALID_RECORD) the frame opens to another
payload, -1 (UNKNOWN_SERVER_ERROR) it does not open.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from typing import Any, Final

import cramjam
import lz4.block
import xxhash
import zstandard

from tests.wire.batches import XERIAL_HEADER, record

PAYLOAD: Final = record(b"v" * 300)

Frame = tuple[int, bytes, int]
"""The codec of a batch's attributes, the bytes behind its header, Kafka's answer."""

_HALF: Final = len(PAYLOAD) // 2
_FIRST, _SECOND = PAYLOAD[:_HALF], PAYLOAD[_HALF:]
_LARGE: Final = record(b"v" * 70_000)
_SKIPPABLE: Final = struct.pack("<II", 0x184D2A50, 4) + b"abcd"


def _gzip(flags: int, behind: bytes = b"") -> bytes:
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(PAYLOAD) + packer.flush()
    head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(5) + b"\xff" + behind
    return head + packed + struct.pack("<II", zlib.crc32(PAYLOAD), len(PAYLOAD))


def _gzip_frames() -> dict[str, tuple[bytes, int]]:
    whole, empty = gzip.compress(PAYLOAD), gzip.compress(b"")
    two = gzip.compress(_FIRST), gzip.compress(_SECOND)
    head_checksum = struct.pack("<H", zlib.crc32(_gzip(2)[:10]) & 0xFFFF)
    return {
        "one member": (whole, 0),
        "two members": (two[0] + two[1], 0),
        "an empty member first": (empty + whole, 0),
        "an empty member last": (whole + empty, 0),
        "no member behind": (whole + b"garbage that is no header", 0),
        "two bytes behind": (whole + b"ab", 0),
        "zeros behind": (whole + bytes(40), 0),
        "a cut trailer": (whole[:-4], -1),
        "no trailer": (whole[:-8], -1),
        "cut": (whole[:-12], -1),
        "a wrong checksum": (whole[:-8] + bytes(4) + whole[-4:], -1),
        "a wrong size": (whole[:-4] + bytes(4), -1),
        "little of a second member": (whole + whole[:11], 0),
        "less than a header behind": (whole + whole[:5], 0),
        "a wrong second member": (two[0] + two[1][:-6] + bytes(6), -1),
        "a name": (_gzip(8, b"name\0"), 0),
        "an extra field": (_gzip(4, b"\2\0ab"), 0),
        "a comment": (_gzip(16, b"c\0"), 0),
        "a checksum of the head": (_gzip(2, head_checksum), 0),
        "a wrong checksum of the head": (_gzip(2, b"\0\1"), -1),
        "zlib's frame": (zlib.compress(PAYLOAD), -1),
        "no frame": (zlib.compress(PAYLOAD)[2:-4], -1),
        "nothing": (b"", -1),
        "an empty payload": (empty, 87),
        "a byte more": (gzip.compress(PAYLOAD + b"x"), 87),
        "a byte less": (gzip.compress(PAYLOAD[:-1]), 87),
    }


def snappy(payload: bytes) -> bytes:
    """One bare block."""
    return bytes(cramjam.snappy.compress_raw(payload))


def xerial(*blocks: bytes) -> bytes:
    """Blocks behind the head of Java's library."""
    return XERIAL_HEADER + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def _snappy_frames() -> dict[str, tuple[bytes, int]]:
    whole, bare = xerial(snappy(PAYLOAD)), snappy(PAYLOAD)
    two, empty = (snappy(_FIRST), snappy(_SECOND)), snappy(b"")
    magic, behind = XERIAL_HEADER[:8], whole[16:]
    two_gigabytes, one_gigabyte = b"\xff\xff\xff\xff\x07", b"\x80\x80\x80\x80\x04"
    return {
        "one block": (whole, 0),
        "a bare block": (bare, 0),
        "two blocks": (xerial(*two), 0),
        "an empty block first": (xerial(empty, bare), 0),
        "an empty block last": (xerial(bare, empty), 0),
        "a block of no bytes last": (xerial(bare, b""), -1),
        "a block of no bytes first": (xerial(b"", bare), -1),
        "three bytes behind": (whole + b"abc", 0),
        "four bytes behind": (whole + b"abcd", -1),
        "a length of zero behind": (whole + bytes(4), -1),
        "a length behind, and too little": (whole + struct.pack(">i", 100) + b"abc", -1),
        "a negative length behind": (whole + struct.pack(">i", -5), -1),
        "version 2": (magic + struct.pack(">ii", 2, 1) + behind, 0),
        "not compatible before version 2": (magic + struct.pack(">ii", 2, 2) + behind, 0),
        "version 0": (magic + bytes(8) + behind, 0),
        "a second head": (xerial(two[0]) + xerial(two[1]), 0),
        "a head alone": (XERIAL_HEADER, 87),
        "a cut head": (XERIAL_HEADER[:12], -1),
        "a cut block": (whole[:-2], -1),
        "a cut bare block": (bare[:-2], -1),
        "a byte behind a bare block": (bare + b"a", -1),
        "nothing": (b"", -1),
        "one byte": (b"\1", -1),
        "two bare blocks": (two[0] + two[1], -1),
        "a length that is too small": (b"\5" + bare[2:], -1),
        "2 GB, it says": (two_gigabytes + bare[2:], -1),
        "a block of 2 GB, it says": (xerial(two_gigabytes + bare[2:]), -1),
        "1 GB, it says": (one_gigabyte + bare[2:], -1),
        "a block of 1 GB, it says": (xerial(one_gigabyte + bare[2:]), -1),
        "the frame of others": (b"\xff\6\0\0sNaPpY\0", -1),
    }


def lz4_frame(
    *blocks: bytes,
    flags: int = 0x60,
    size: int = 0x40,
    behind: bytes = b"",
    checksum: bytes | None = None,
    end: bytes = bytes(4),
) -> bytes:
    """A frame of `lz4_block`s; `behind` the two bytes of its head that are always there."""
    head = bytes([flags, size]) + behind
    if checksum is None:
        checksum = bytes([xxhash.xxh32_intdigest(head) >> 8 & 0xFF])
    return struct.pack("<I", 0x184D2204) + head + checksum + b"".join(blocks) + end


def lz4_block(payload: bytes, *, is_stored: bool = False, checksum: int | None = None) -> bytes:
    """A block with its length.

    Args:
        checksum: what is added to the right one; None: there is none.
    """
    packed = payload if is_stored else lz4.block.compress(payload, store_size=False)
    out = struct.pack("<I", len(packed) | is_stored << 31) + packed
    if checksum is not None:
        out += struct.pack("<I", xxhash.xxh32_intdigest(packed) + checksum & 0xFFFFFFFF)
    return out


def _lz4_frames() -> dict[str, tuple[bytes, int]]:
    block = lz4_block(PAYLOAD)
    whole = lz4_frame(block)
    content = struct.pack("<I", xxhash.xxh32_intdigest(PAYLOAD))
    halves = lz4_block(_FIRST), lz4_block(_SECOND)
    size = struct.pack("<Q", len(PAYLOAD))
    return {
        "one block": (whole, 0),
        "linked blocks": (lz4_frame(block, flags=0x40), -1),
        "a stored block": (lz4_frame(lz4_block(PAYLOAD, is_stored=True)), 0),
        "two blocks": (lz4_frame(*halves), 0),
        "a block's checksum": (lz4_frame(lz4_block(PAYLOAD, checksum=0), flags=0x70), 0),
        "a wrong checksum": (lz4_frame(lz4_block(PAYLOAD, checksum=1), flags=0x70), -1),
        "the content's checksum": (lz4_frame(block, flags=0x64) + content, 0),
        "a wrong one of the content": (lz4_frame(block, flags=0x64) + bytes(4), 0),
        "none of the content": (lz4_frame(block, flags=0x64), -1),
        "a cut one of the content": (lz4_frame(block, flags=0x64) + b"ab", -1),
        "the content's size": (lz4_frame(block, flags=0x68, behind=size), 0),
        "a wrong size": (lz4_frame(block, flags=0x68, behind=b"\7" + bytes(7)), 0),
        "an absurd size": (lz4_frame(block, flags=0x68, behind=bytes(7) + b"\x40"), 0),
        "a dictionary": (lz4_frame(block, flags=0x61, behind=b"\1\0\0\0"), -1),
        "a reserved flag": (lz4_frame(block, flags=0x62), -1),
        "version 0": (lz4_frame(block, flags=0x20), -1),
        "version 2": (lz4_frame(block, flags=0xA0), -1),
        "a block size too small": (lz4_frame(block, size=0x30), -1),
        "the largest block size": (lz4_frame(block, size=0x70), 0),
        "a reserved bit of the size": (lz4_frame(block, size=0x41), -1),
        "another reserved bit": (lz4_frame(block, size=0xC0), -1),
        "a wrong checksum of the head": (lz4_frame(block, checksum=b"\0"), -1),
        "no end": (lz4_frame(block, end=b""), -1),
        "a cut end": (lz4_frame(block, end=b"\0\0"), -1),
        "garbage behind": (whole + b"garbage", 0),
        "two frames": (lz4_frame(halves[0]) + lz4_frame(halves[1]), 87),
        "a frame behind": (whole + whole, 0),
        "a frame to be skipped": (_SKIPPABLE + whole, -1),
        "the frame of old": (struct.pack("<I", 0x184C2102) + block, -1),
        "a block that opens to too much": (lz4_frame(lz4_block(_LARGE)), -1),
        "a stored block that is too large": (lz4_frame(lz4_block(_LARGE, is_stored=True)), -1),
        "an end that says it is stored": (lz4_frame(block, end=b"\0\0\0\x80"), 0),
        "an empty block first": (lz4_frame(lz4_block(b""), block), 0),
        "nothing": (b"", -1),
        "cut": (whole[:-10], -1),
        "a harmed block": (lz4_frame(struct.pack("<I", 20) + b"\xff" * 20), -1),
        "a byte more": (lz4_frame(lz4_block(PAYLOAD + b"x")), 87),
        "a byte less": (lz4_frame(lz4_block(PAYLOAD[:-1])), 87),
    }


def _zstd(payload: bytes = PAYLOAD, **settings: Any) -> bytes:
    return bytes(zstandard.ZstdCompressor(**settings).compress(payload))


def _zstd_with(**parameters: int) -> bytes:
    wanted = zstandard.ZstdCompressionParameters(compression_level=1, **parameters)
    packer = zstandard.ZstdCompressor(compression_params=wanted).compressobj()
    return bytes(packer.compress(PAYLOAD) + packer.flush())


def _zstd_frames() -> dict[str, tuple[bytes, int]]:
    whole, empty = _zstd(), _zstd(b"")
    checked = _zstd(write_checksum=True)
    one_gigabyte = whole[:4] + b"\xa0" + struct.pack("<I", 1 << 30) + whole[6:]
    return {
        "one frame": (whole, 0),
        "no content size": (_zstd_with(write_content_size=False), 0),
        "a checksum": (checked, 0),
        "a wrong checksum": (checked[:-4] + bytes(4), -1),
        "a cut checksum": (checked[:-2], -1),
        "two frames": (_zstd(_FIRST) + _zstd(_SECOND), 0),
        "an empty frame first": (empty + whole, 0),
        "an empty frame last": (whole + empty, 0),
        "a frame to be skipped first": (_SKIPPABLE + whole, 0),
        "a frame to be skipped last": (whole + _SKIPPABLE, 0),
        "a cut frame to be skipped": (whole + _SKIPPABLE[:-2], 0),
        "garbage behind": (whole + b"garbage", -1),
        "two bytes behind": (whole + b"ab", -1),
        "zeros behind": (whole + bytes(30), -1),
        "a cut second frame": (whole + whole[:-3], 0),
        "a cut second head": (whole + whole[:5], 0),
        "cut": (whole[:-3], -1),
        "nothing": (b"", 87),
        "a window of 128 MB": (_zstd_with(window_log=27, write_content_size=False), 0),
        "a window of 256 MB": (_zstd_with(window_log=28, write_content_size=False), -1),
        "a window of 1 GB": (_zstd_with(window_log=30, write_content_size=False), -1),
        "no magic": (_zstd_with(format=zstandard.FORMAT_ZSTD1_MAGICLESS), -1),
        "an old version": (struct.pack("<I", 0xFD2FB527) + bytes(20), -1),
        "1 GB, it says": (one_gigabyte, -1),
        "a byte more": (_zstd(PAYLOAD + b"x"), 87),
        "a byte less": (_zstd(PAYLOAD[:-1]), 87),
    }


FRAMES: Final[dict[str, Frame]] = {
    f"{name}: {what}": (codec, packed, answer)
    for codec, name, frames in (
        (1, "gzip", _gzip_frames()),
        (2, "snappy", _snappy_frames()),
        (3, "lz4", _lz4_frames()),
        (4, "zstd", _zstd_frames()),
    )
    for what, (packed, answer) in frames.items()
}
