"""Decompresses records piece by piece, so that memory does not grow with the decompressed size.

It accepts exactly the frames that Kafka's brokers accept: several members of gzip and several
frames of zstd in a row, one frame of LZ4 with independent blocks, blocks of Snappy behind the
header of Java's library, or a bare block. It ignores the same trailing bytes. The libraries are
imported at first use, by `load`: most brokers never decompress a batch. They release the
interpreter's lock, so that one thread can decompress while another goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from .batch import Bytes, Compression
from .errors import Code, Refused

if TYPE_CHECKING:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

PIECE_BYTES: Final = 1 << 20
"""The decompressed size of a piece."""

loaded: Final[set[int]] = {Compression.NONE}
"""The codecs whose libraries this process has imported.

An import holds up its thread, so an event loop leaves the first use of a codec to another thread.
"""

# The libraries of each codec.
_ZSTD_LIBRARY: Final = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_LIBRARIES: Final[dict[int, tuple[str, ...]]] = {
    Compression.GZIP: ("zlib",),
    Compression.SNAPPY: ("cramjam",),
    Compression.LZ4: ("cramjam", "xxhash"),
    Compression.ZSTD: (_ZSTD_LIBRARY, "cramjam"),
}

# A read ends after so many blocks, however little they decompress to, to limit its time.
_BLOCKS_IN_A_READ: Final = 64
# zlib gets the compressed bytes in portions, because it copies the unused ones; behind the first
# frame in small portions, because very many frames may follow.
_INPUT_BYTES: Final = 1 << 16
_LITTLE_INPUT_BYTES: Final = 1 << 10
_LZ4_BLOCK_BYTES: Final = {0x40: 1 << 16, 0x50: 1 << 18, 0x60: 1 << 20, 0x70: 1 << 22}


class Opening(Protocol):
    """A payload being decompressed. Only one thread at a time may read.

    Attributes:
        is_finished: all is read.
    """

    is_finished: bool

    def read(self, max_bytes: int, *, whole_blocks: bool = False) -> bytes:
        """The next piece.

        Args:
            max_bytes: the largest piece.
            whole_blocks: allow a larger piece that is a single block of LZ4 or Snappy, which cannot
            be
                divided.

        Returns:
            Empty bytes, too, if a long frame decompresses to little, or if the next block is longer
            than `max_bytes`; with `whole_blocks` repeated reads still reach the end.

        Raises:
            Refused: CORRUPT_MESSAGE, the payload is damaged at this point.
        """


def opening(codec: int, packed: Bytes) -> Opening:
    """Begin to decompress the payload of a batch.

    Args:
        codec: from the batch's attributes.
        packed: the bytes behind the header; they must not change before all is read.

    Raises:
        Refused: CORRUPT_MESSAGE.
    """
    if codec not in loaded:
        load(codec)
    match codec:
        case Compression.GZIP:
            return _Gzip(packed)
        case Compression.SNAPPY:
            return _Snappy(packed)
        case Compression.LZ4:
            return _Lz4(packed)
        case Compression.ZSTD:
            return _Zstd(packed)
    raise Refused(Code.CORRUPT_MESSAGE, f"no compression codec has the number {codec}")


def pieces(codec: int, packed: Bytes, piece_bytes: int = PIECE_BYTES) -> Iterator[bytes]:
    """The payload, decompressed in pieces of about `piece_bytes`. Raises Refused."""
    opened = opening(codec, packed)
    while not opened.is_finished:
        yield opened.read(piece_bytes, whole_blocks=True)


def _corrupt(why: object) -> Refused:
    return Refused(Code.CORRUPT_MESSAGE, f"the records do not decompress: {why}")


class _Pieced:
    """A codec whose library returns as few bytes as requested."""

    is_finished: bool

    def read(self, max_bytes: int, *, whole_blocks: bool = False) -> bytes:
        out = b""
        for _ in range(_BLOCKS_IN_A_READ):
            piece = self._more(max_bytes - len(out))
            out = out + piece if out else piece
            if self.is_finished or len(out) >= max_bytes:
                break
        return out

    def _more(self, max_bytes: int) -> bytes:
        """The next bytes; fewer than `max_bytes` if the input ends first."""
        raise AssertionError("implemented by each codec")


class _Gzip(_Pieced):
    """A sequence of members, as java.util.zip.GZIPInputStream accepts it."""

    _MEMBER = b"\x1f\x8b\x08"
    # Shorter trailing bytes are not a member; Java ignores them.
    _LEAST_MEMBER_BYTES = 19
    _FRAME = 31  # zlib's `wbits` for gzip's header and trailer, and the largest window

    def __init__(self, packed: Bytes) -> None:
        import zlib

        self._zlib = zlib
        self._packed = memoryview(packed)
        self._at = 0  # start of the input not yet passed to zlib
        self._given_bytes = _INPUT_BYTES
        self._unused: bytes = b""  # passed to zlib and not used for the piece
        self._member = zlib.decompressobj(self._FRAME)
        self.is_finished = False

    def _more(self, max_bytes: int) -> bytes:
        given: Bytes = self._unused
        if not given:
            given = self._packed[self._at : self._at + self._given_bytes]
            self._at += len(given)
            self._given_bytes = min(self._given_bytes * 2, _INPUT_BYTES)
        try:
            out = self._member.decompress(given, max_bytes)
        except self._zlib.error as broken:
            raise _corrupt(broken) from None
        if self._member.eof:
            self._next_member(len(self._member.unused_data))
        else:
            self._unused = self._member.unconsumed_tail
            if not out and not self._unused and self._at >= len(self._packed):
                raise _corrupt("the end is missing")
        return out

    def _next_member(self, unused_bytes: int) -> None:
        self._at -= unused_bytes
        self._given_bytes = _LITTLE_INPUT_BYTES
        self._unused = b""
        rest = self._packed[self._at :]
        if len(rest) < self._LEAST_MEMBER_BYTES or rest[:3] != self._MEMBER:
            self.is_finished = True
            return
        self._member = self._zlib.decompressobj(self._FRAME)


class _Snappy:
    """Blocks with lengths behind a header (xerial.snappy.SnappyInputStream), or a bare block."""

    _MAGIC = b"\x82SNAPPY\x00"
    _HEAD_BYTES = 16
    # Three bytes decompress to 64 at most; a larger declared size is wrong.
    _LARGEST_RATIO = 22

    def __init__(self, packed: Bytes) -> None:
        import cramjam

        self._cramjam = cramjam
        self._packed = memoryview(packed)
        self._is_bare = bytes(self._packed[:8]) != self._MAGIC
        self._at = 0
        self.is_finished = False
        if not self._is_bare:
            if len(self._packed) < self._HEAD_BYTES:
                raise _corrupt("the head is cut")
            self._at = self._HEAD_BYTES
            self._pass_heads()

    def _pass_heads(self) -> None:
        """Go on to the next block; each may have a header in front."""
        while self._packed[self._at : self._at + 8] == self._MAGIC:
            self._at += self._HEAD_BYTES
        self.is_finished = self._at + 4 > len(self._packed)

    def read(self, max_bytes: int, *, whole_blocks: bool = False) -> bytes:
        out = b""
        for _ in range(_BLOCKS_IN_A_READ):
            block, behind = self._block()
            opens_to = self._opens_to(block)
            if len(out) + opens_to > max_bytes and (out or not whole_blocks):
                break
            try:
                opened = bytes(self._cramjam.snappy.decompress_raw(block))
            except self._cramjam.DecompressionError as broken:
                raise _corrupt(broken) from None
            out = out + opened if out else opened
            self._at = behind
            if self._is_bare:
                self.is_finished = True
            else:
                self._pass_heads()
            if self.is_finished or len(out) >= max_bytes:
                break
        return out

    def _block(self) -> tuple[memoryview, int]:
        """The next block, and the position behind it."""
        if self._is_bare:
            return self._packed, len(self._packed)
        start = self._at + 4
        size = int.from_bytes(self._packed[self._at : start], "big", signed=True)
        if size <= 0 or start + size > len(self._packed):
            raise _corrupt(f"a block of {size} bytes, and {len(self._packed) - start} are left")
        return self._packed[start : start + size], start + size

    def _opens_to(self, block: memoryview) -> int:
        """The decompressed size, encoded at the block's beginning, seven bits per byte."""
        size = 0
        for index, byte in enumerate(block[:5]):
            size |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                break
        if size > self._LARGEST_RATIO * len(block):
            raise _corrupt(f"{len(block)} bytes declare a decompressed size of {size}")
        return size


class _Lz4:
    """One frame of blocks that need no other block (Kafka's Lz4BlockInputStream)."""

    _MAGIC = bytes.fromhex("04224d18")
    _VERSION, _INDEPENDENT, _BLOCK_CHECKSUM, _CONTENT_SIZE, _CONTENT_CHECKSUM, _RESERVED = (
        0xC0, 0x20, 0x10, 0x08, 0x04, 0x03,
    )  # fmt: skip
    _IS_STORED = 1 << 31

    def __init__(self, packed: Bytes) -> None:
        import cramjam
        from xxhash import xxh32_intdigest

        self._cramjam = cramjam
        self._checksum = xxh32_intdigest
        self._packed = memoryview(packed)
        self.is_finished = False
        head = bytes(self._packed[:15])
        if len(head) < 7 or head[:4] != self._MAGIC:
            raise _corrupt("not an LZ4 frame")
        self._flags = flags = head[4]
        if flags & self._VERSION != 0x40 or flags & self._RESERVED or not flags & self._INDEPENDENT:
            raise _corrupt(f"LZ4 frames with the flags {flags:#x} are not supported")
        if head[5] not in _LZ4_BLOCK_BYTES:
            raise _corrupt(f"an LZ4 frame with the block size {head[5]:#x}")
        self._block_bytes = _LZ4_BLOCK_BYTES[head[5]]
        self._at = 14 if flags & self._CONTENT_SIZE else 6
        if head[self._at : self._at + 1] != self._head_checksum(head[4 : self._at]):
            raise _corrupt("wrong checksum of the LZ4 frame's header")
        self._at += 1
        self._room = bytearray()

    def _head_checksum(self, head: bytes) -> bytes:
        return bytes([self._checksum(head) >> 8 & 0xFF])

    def read(self, max_bytes: int, *, whole_blocks: bool = False) -> bytes:
        out = b""
        for _ in range(_BLOCKS_IN_A_READ):
            block, is_stored = self._block()
            if self.is_finished:
                break
            room_bytes = max_bytes - len(out)
            if whole_blocks and not out:
                room_bytes = max(room_bytes, self._block_bytes)
            opened = bytes(block) if is_stored else self._open_block(block, room_bytes)
            if opened is None or len(opened) > room_bytes:
                break
            out = out + opened if out else opened
            self._at += len(block) + (8 if self._flags & self._BLOCK_CHECKSUM else 4)
            if len(out) >= max_bytes:
                break
        return out

    def _block(self) -> tuple[memoryview, bool]:
        """The next block, and whether it is stored uncompressed; an empty one at the end."""
        start = self._at + 4
        size = int.from_bytes(self._packed[self._at : start], "little")
        is_stored, size = bool(size & self._IS_STORED), size & ~self._IS_STORED
        behind = start + size
        if start > len(self._packed) or behind > len(self._packed) or size > self._block_bytes:
            raise _corrupt("an LZ4 block is cut, or larger than its frame allows")
        if size == 0:
            if self._flags & self._CONTENT_CHECKSUM and start + 4 > len(self._packed):
                raise _corrupt("the frame's end is cut")
            self.is_finished = True
        elif self._flags & self._BLOCK_CHECKSUM:
            checksum = bytes(self._packed[behind : behind + 4])
            if checksum != self._checksum(self._packed[start:behind]).to_bytes(4, "little"):
                raise _corrupt("wrong checksum of an LZ4 block")
        return self._packed[start:behind], is_stored

    def _open_block(self, block: memoryview, room_bytes: int) -> bytes | None:
        """The decompressed block; None if it is corrupt or larger than `room_bytes`."""
        room_bytes = min(room_bytes, self._block_bytes)
        if len(self._room) < room_bytes:
            self._room = bytearray(room_bytes)
        try:
            size = self._cramjam.lz4.decompress_block_into(
                block, memoryview(self._room)[:room_bytes], output_len=room_bytes
            )
        except self._cramjam.DecompressionError as broken:
            if room_bytes < self._block_bytes:
                return None
            raise _corrupt(broken) from None
        return bytes(memoryview(self._room)[:size])


class _Zstd(_Pieced):
    """A sequence of frames, as zstd-jni's ZstdInputStream accepts it."""

    def __init__(self, packed: Bytes) -> None:
        self._zstd: Any = zstd_module()
        self._packed = memoryview(packed)
        self._at = 0  # start of the input not yet passed to a frame
        self._given_bytes = _INPUT_BYTES
        self._frame: zstd.ZstdDecompressor | None = None
        self._is_behind_a_frame = False
        self.is_finished = not self._packed

    def _more(self, max_bytes: int) -> bytes:
        frame = self._frame
        if frame is None:
            frame = self._frame = self._zstd.ZstdDecompressor()
        given: Bytes = b""
        if frame.needs_input:
            given = self._packed[self._at : self._at + self._given_bytes]
            self._at += len(given)
            self._given_bytes = min(self._given_bytes * 2, _INPUT_BYTES)
        try:
            out: bytes = frame.decompress(given, max_bytes)
        except self._zstd.ZstdError as broken:
            raise _corrupt(broken) from None
        if frame.eof:
            self._at -= len(frame.unused_data)
            self._given_bytes = _LITTLE_INPUT_BYTES
            self._frame, self._is_behind_a_frame = None, True
            self.is_finished = self._at >= len(self._packed)
        elif not out and frame.needs_input and self._at >= len(self._packed):
            if not self._is_behind_a_frame:
                raise _corrupt("the end is missing")
            self.is_finished = True  # as in Java, where a later frame may be cut
        return out


def load(codec: int) -> None:
    """Import what a codec needs; nothing for NONE and for numbers of no codec.

    It may take a tenth of a second on a slow disk.
    """
    from importlib import import_module

    for name in _LIBRARIES.get(codec, ()):
        _read_ahead(name)
        import_module(name)
    loaded.add(codec)


def _read_ahead(name: str) -> None:
    """Bring a library into the page cache; other threads run meanwhile, unlike in its import."""
    from contextlib import suppress
    from importlib.util import find_spec
    from pathlib import Path

    with suppress(ImportError, OSError):
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            return
        origin = Path(spec.origin)
        is_package = spec.submodule_search_locations is not None
        for each in origin.parent.glob("*.so") if is_package else (origin,):
            each.read_bytes()


def zstd_module() -> Any:
    """Python's own module since 3.14, or its backport."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
