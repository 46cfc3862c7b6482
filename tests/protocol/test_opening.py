"""Compressed payloads are opened as Kafka opens them, and never more than a piece at a time."""

from __future__ import annotations

import gzip
import tracemalloc
from contextlib import suppress
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.batch import Compression
from ottla.protocol.compression import compressed, packer
from ottla.protocol.errors import Refused
from ottla.protocol.opening import PIECE_BYTES, opening, pieces
from tests.protocol.bombs import SIZES, packed, zeros
from tests.protocol.odd_frames import FRAMES, PAYLOAD, lz4_block, lz4_frame, snappy, xerial

CODECS: Final = [codec for codec in Compression if codec is not Compression.NONE]
LARGEST_BLOCK_BYTES: Final = 4 << 20
"""LZ4's; what Snappy opens to at once is only bounded by what it is packed to."""


@pytest.mark.parametrize("piece_bytes", [1, 7, 100, PIECE_BYTES])
@pytest.mark.parametrize("name", FRAMES)
def test_an_odd_frame_is_read_as_by_kafka(name: str, piece_bytes: int) -> None:
    codec, frame, answer = FRAMES[name]
    opened: bytes | None = None
    with suppress(Refused):
        opened = b"".join(pieces(codec, frame, piece_bytes))
    assert answer == (-1 if opened is None else 0 if opened == PAYLOAD else 87)


def _in_frames(codec: Compression, parts: list[bytes]) -> bytes:
    """Members, frames or blocks, one for each part."""
    match codec:
        case Compression.GZIP:
            return b"".join(map(gzip.compress, parts)) or gzip.compress(b"")
        case Compression.SNAPPY:
            return xerial(*map(snappy, parts))
        case Compression.LZ4:
            return lz4_frame(*map(lz4_block, parts))
        case _:
            return b"".join(compressed(codec, part) for part in parts)


@given(
    st.sampled_from(CODECS),
    st.lists(st.binary(max_size=200) | st.builds(bytes, st.integers(0, 5_000)), max_size=6),
    st.integers(1, 6_000),
)
def test_concatenated_frames_decompress_to_the_content_of_all(
    codec: Compression, parts: list[bytes], piece_bytes: int
) -> None:
    opened = opening(codec, _in_frames(codec, parts))
    found = b""
    while not opened.is_finished:
        piece = opened.read(piece_bytes, whole_blocks=True)
        if codec in (Compression.GZIP, Compression.ZSTD):
            assert len(piece) <= piece_bytes
        found += piece
    assert found == b"".join(parts)


@given(st.sampled_from(CODECS), st.binary(max_size=3_000), st.data())
def test_harmed_frames_open_to_the_same_in_pieces_or_at_once(
    codec: Compression, payload: bytes, data: st.DataObject
) -> None:
    frame = bytearray(compressed(codec, payload))
    for _ in range(data.draw(st.integers(1, 3))):
        if frame:
            frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(frame[: data.draw(st.integers(0, len(frame)))])

    def opened(piece_bytes: int) -> bytes | None:
        try:
            return b"".join(pieces(codec, cut, piece_bytes))
        except Refused:
            return None

    assert opened(data.draw(st.integers(1, 400))) == opened(1 << 24)


@given(
    st.sampled_from(list(Compression)),
    st.lists(st.binary(max_size=100) | st.builds(bytes, st.integers(0, 100_000)), max_size=5),
)
def test_data_compressed_in_pieces_decompresses_to_the_whole(
    codec: Compression, parts: list[bytes]
) -> None:
    into = packer(codec)
    frame = b"".join(map(into.add, parts)) + into.end()
    opened = frame if codec is Compression.NONE else b"".join(pieces(codec, frame))
    assert opened == b"".join(parts)


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_decompressed_one_piece_at_a_time(codec: Compression) -> None:
    bomb = packed(codec, zeros(SIZES[codec]))
    assert len(bomb) < SIZES[codec] / 20
    most = LARGEST_BLOCK_BYTES
    if codec is Compression.SNAPPY:
        most = SIZES[codec]  # it is one block
    total = 0
    tracemalloc.start()
    try:
        for piece in pieces(codec, bomb):
            assert len(piece) <= most
            total += len(piece)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == SIZES[codec]
    assert peak_bytes < 4 * most


@pytest.mark.parametrize("codec", [Compression.SNAPPY, Compression.LZ4])
def test_a_block_that_is_longer_than_wanted_is_left_closed(codec: Compression) -> None:
    opened = opening(codec, packed(codec, zeros(2 << 20)))
    assert opened.read(1 << 18) == b""
    assert not opened.is_finished
    assert len(opened.read(1 << 18, whole_blocks=True)) == 2 << 20


@pytest.mark.parametrize("bare", [True, False])
def test_a_block_with_an_impossible_size_is_refused_without_decompression(bare: bool) -> None:
    """It would take that much memory first."""
    lie = b"\x80\x80\x80\x80\x04" + snappy(bytes(1 << 20))[3:]
    tracemalloc.start()
    try:
        with pytest.raises(Refused, match="declare a decompressed size of 1073741824"):
            list(pieces(Compression.SNAPPY, lie if bare else xerial(lie)))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 1 << 20


@pytest.mark.parametrize("codec", CODECS)
def test_a_read_ends_after_some_blocks_however_little_they_open_to(codec: Compression) -> None:
    opened = opening(codec, _in_frames(codec, [b"x"] * 1_000))
    reads = [len(opened.read(1 << 20, whole_blocks=True))]
    while not opened.is_finished:
        reads.append(len(opened.read(1 << 20, whole_blocks=True)))
    assert sum(reads) == 1_000
    assert max(reads) <= 64
