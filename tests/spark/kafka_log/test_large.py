"""Batches larger than a block are read in portions; headers are read without their bodies."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from ottla.protocol.batch import HEADER, TRANSACTIONAL, Compression, read_header, seal
from ottla.protocol.records import records_in

from .logs import Pair, batch, end_marker, rows, segment

# Some 17 MB, which is more than a block may have.
PAIRS: list[Pair] = [(b"k%d" % n, random.Random(n).randbytes(85_000 + n)) for n in range(200)]


class CountedFile:
    """A file that counts the bytes that are read."""

    skip_bytes = 16 << 10

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.read_bytes = 0

    def read_at(self, position: int, size_bytes: int) -> bytes:
        self.read_bytes += size_bytes
        return self.data[position : position + size_bytes]

    def close(self) -> None:
        pass


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_a_large_batch_is_read_in_portions(codec: Compression, tmp_path: Path) -> None:
    batches = [
        batch(0, [(b"a", b"b")]),
        batch(1, PAIRS[:9], codec=codec, headers=[("name", b"x")]),
        batch(10, PAIRS, codec=codec),
        batch(210, [(b"y", None)]),
    ]
    segment(tmp_path / "t-0", 0, batches)
    expected = [
        (record.offset, record.key, record.value, len(record.headers))
        for data in batches
        for record in records_in(data, 0, read_header(data))
    ]
    found = [
        (row["offset"], row["key"], row["value"], len(row["headers"] or ()))
        for row in rows(tmp_path)
    ]
    assert found == expected
    assert rows(tmp_path, level="damage") == []
    assert [row["base_offset"] for row in rows(tmp_path, level="batches")] == [0, 1, 10, 210]


def test_a_payload_that_expands_is_read_in_portions(tmp_path: Path) -> None:
    pairs: list[Pair] = [(b"k", bytes(1_000_000))] * 40
    segment(tmp_path / "t-0", 0, [batch(0, pairs, codec=Compression.ZSTD)])
    assert [row["offset"] for row in rows(tmp_path, columns="offset,key")] == list(range(40))


@pytest.mark.parametrize("wrong", ["count", "size", "end"])
def test_a_large_batch_that_lies_is_damage(wrong: str, tmp_path: Path) -> None:
    lying = bytearray(batch(1, PAIRS))
    if wrong == "count":
        fields = list(HEADER.unpack_from(lying))
        fields[-1] += 1
        HEADER.pack_into(lying, 0, *fields)
    elif wrong == "size":
        lying[61] |= 1  # a negative size
    else:
        lying += b"\0"
        struct.pack_into(">i", lying, 8, len(lying) - 12)
    seal(lying)
    segment(tmp_path / "t-0", 0, [batch(0, [(b"a", b"b")]), bytes(lying), batch(201, PAIRS[:2])])
    assert {0, 201, 202} <= {row["offset"] for row in rows(tmp_path)}
    (row,) = rows(tmp_path, level="damage")
    assert (row["kind"], row["offset"], row["next_offset"]) == ("records", 1, 201)


def test_a_large_batch_with_a_wrong_crc_is_damage(tmp_path: Path) -> None:
    path = segment(
        tmp_path / "t-0", 0, [batch(0, PAIRS[:9]), batch(9, PAIRS), batch(209, PAIRS[:9])]
    )
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert [row["offset"] for row in rows(tmp_path)] == [*range(9), *range(209, 218)]
    found = rows(tmp_path, level="batches")
    assert [row["crc_ok"] for row in found] == [True, False, True]
    assert [row["kind"] for row in rows(tmp_path, level="damage")] == ["crc"]
    assert len(rows(tmp_path, damaged="include", columns="key,crc_ok")) == 218


COLUMNS = "base_offset,last_offset,position,control_type,size,producer_id"


def test_headers_are_read_without_bodies(tmp_path: Path) -> None:
    from ottla.spark.kafka_log.blocks import Block, Range
    from ottla.spark.kafka_log.heads import walk_headers

    big: list[Pair] = [(None, bytes(100_000))]
    batches = [batch(n, big, attributes=TRANSACTIONAL, producer=(1, 0, n)) for n in range(50)]
    all_batches = [*batches, end_marker(50, 1, commit=True), batch(51, big)]
    path = segment(tmp_path / "t-0", 0, all_batches)
    assert rows(tmp_path, level="batches", columns=COLUMNS) == [
        {name: row[name] for name in COLUMNS.split(",")} for row in rows(tmp_path, level="batches")
    ]
    file = CountedFile(path.read_bytes())
    size = len(file.data)
    found = list(walk_headers(file, Range(0, size, size, 0, 1 << 31)))
    assert [len(each.headers) for each in found if isinstance(each, Block)] == [52]
    assert file.read_bytes < size // 10


@pytest.mark.parametrize("hit", range(6))
@pytest.mark.parametrize("too_far_bytes", [1, 61, 81, 150])
def test_a_length_that_leads_into_a_later_batch_hides_no_header(
    hit: int, too_far_bytes: int, tmp_path: Path
) -> None:
    """The CRC of the batch decides, because nothing begins where its length leads to."""
    batches = [batch(2 * n, [(b"k", b"v" * 20)] * 2) for n in range(8)]
    path, size = segment(tmp_path / "t-0", 0, batches), len(batches[0])
    assert too_far_bytes % size
    data = bytearray(path.read_bytes())
    struct.pack_into(">i", data, hit * size + 8, size - 12 + too_far_bytes)
    path.write_bytes(data)
    found = rows(tmp_path, level="batches", columns="base_offset")
    assert [row["base_offset"] for row in found] == [2 * n for n in range(8) if n != hit]


@pytest.mark.parametrize("seed", range(40))
def test_a_wrong_length_hides_no_header(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    batches = [batch(2 * n, [(b"k", b"v" * 20)] * 2) for n in range(8)]
    path = segment(tmp_path / "t-0", 0, batches)
    hit, data = chance.randrange(8), bytearray(path.read_bytes())
    length_at = hit * len(batches[0]) + 8
    wrong = chance.choice([0, 40, 2 * len(batches[0]) - 12, chance.randrange(1 << 31)])
    struct.pack_into(">i", data, length_at, wrong)
    path.write_bytes(data)
    found = [row["base_offset"] for row in rows(tmp_path, level="batches", columns="base_offset")]
    valid = {2 * n for n in range(8) if n != hit}
    # A length that leads to a later batch of the same file is a valid walk without CRCs.
    assert valid - set(found) == (
        {2 * hit + 2} if wrong == 2 * len(batches[0]) - 12 and hit < 7 else set()
    )
