"""Compressed data decompresses to the original, here and in clients."""

from __future__ import annotations

import gzip
from random import Random

import kafka.codec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.batch import Compression
from ottla.protocol.compression import compressed
from ottla.protocol.records import decompressed

CODECS = [codec for codec in Compression if codec != Compression.NONE]
PAYLOADS = {
    "nothing": b"",
    "a byte": b"x",
    "one snappy block": bytes(32_768),
    "a block and a byte": b"ab" * 16_384 + b"c",
    "a megabyte that does not pack": Random(1).randbytes(1 << 20),
}
OPENERS = {
    Compression.GZIP: gzip.decompress,
    Compression.SNAPPY: kafka.codec.snappy_decode,
    Compression.LZ4: kafka.codec.lz4_decode,
    Compression.ZSTD: kafka.codec.zstd_decode,
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", PAYLOADS)
def test_compressed_data_decompresses_to_the_original(codec: Compression, name: str) -> None:
    packed = compressed(codec, PAYLOADS[name])
    assert decompressed(codec, packed) == PAYLOADS[name]


@pytest.mark.parametrize("codec", CODECS)
def test_clients_open_it(codec: Compression) -> None:
    payload = b"record " * 20_000
    packed = compressed(codec, payload)
    assert len(packed) < len(payload) / 10
    assert OPENERS[codec](packed) == payload


@given(st.sampled_from(CODECS), st.binary(max_size=500))
def test_any_bytes_open_again(codec: Compression, payload: bytes) -> None:
    assert decompressed(codec, compressed(codec, payload)) == payload


def test_no_codec_leaves_it_as_it_is() -> None:
    payload = b"payload"
    assert compressed(Compression.NONE, payload) is payload


def test_lz4_blocks_are_independent_for_java_reads_no_others() -> None:
    magic, flags = compressed(Compression.LZ4, b"x" * 100)[:4], 4
    assert magic == bytes.fromhex("04224d18")
    assert compressed(Compression.LZ4, b"x" * 100)[flags] & 0x20


def test_snappy_is_framed_for_java_reads_nothing_bare() -> None:
    packed = compressed(Compression.SNAPPY, bytes(70_000))
    assert packed[:16] == b"\x82SNAPPY\x00" + bytes((0, 0, 0, 1, 0, 0, 0, 1))
    blocks, at = 0, 16
    while at < len(packed):
        at += 4 + int.from_bytes(packed[at : at + 4], "big")
        blocks += 1
    assert (blocks, at) == (3, len(packed))


def test_gzip_is_as_long_as_javas() -> None:
    """Both are zlib's; what was measured on Apache Kafka."""
    assert len(compressed(Compression.GZIP, b"0123456789" + b"a" * 30)) == 32
    assert len(compressed(Compression.GZIP, b"")) == 20
