"""Batches larger than a block are read in portions; headers are read without their bodies."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from ottla.protocol.batch import HEADER, TRANSACTIONAL, Compression, read_header, seal
from ottla.protocol.records import records_in

from .logs import Pair, batch, end_marker, rows, segment

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

ROOM = "ottla.spark.kafka_log"
PAIRS: list[Pair] = [(b"k%d" % n, b"v" * (n % 300)) for n in range(200)]


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{ROOM}.blocks.LARGE_BYTES", 300)
    monkeypatch.setattr(f"{ROOM}.reading.BLOCK_BYTES", 256)
    monkeypatch.setattr(f"{ROOM}.damage_rows._BLOCK_BYTES", 256)
    monkeypatch.setattr(f"{ROOM}.portions.PORTION_BYTES", 128)


@pytest.fixture
def bytes_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The size of each read of a local file."""
    from ottla.spark.kafka_log.files import _LocalFile

    sizes: list[int] = []
    original = _LocalFile.read_at

    def counted(self: _LocalFile, position: int, size_bytes: int) -> bytes:
        data = original(self, position, size_bytes)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(_LocalFile, "read_at", counted)
    return sizes


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("codec", list(Compression))
def test_a_large_batch_is_read_in_portions(codec: Compression, tmp_path: Path) -> None:
    batches = [
        batch(0, [(b"a", b"b")]),
        batch(1, PAIRS, codec=codec, headers=[("name", b"x" * 200)]),
        batch(201, PAIRS, codec=codec),
        batch(401, [(b"y", None)]),
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
    assert [row["base_offset"] for row in rows(tmp_path, level="batches")] == [0, 1, 201, 401]


def test_a_payload_that_expands_is_read_in_portions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(f"{ROOM}.record_rows._WHOLE_BYTES", 1000)
    monkeypatch.setattr(f"{ROOM}.portions.PORTION_BYTES", 512)
    pairs: list[Pair] = [(b"k", b"v" * 100)] * 100
    segment(tmp_path / "t-0", 0, [batch(0, pairs, codec=Compression.ZSTD)])
    assert [row["offset"] for row in rows(tmp_path)] == list(range(100))


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(("limit", "codec"), [("PACKED", "ZSTD"), ("RECORD", "NONE")])
def test_what_needs_too_much_memory_is_one_row_of_damage(
    limit: str, codec: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(f"{ROOM}.portions.MOST_{limit}_BYTES", 400)
    noise: list[Pair] = [(None, random.Random(1).randbytes(5000))]
    batches = [batch(0, [(b"a", b"b")]), batch(1, noise, codec=Compression[codec])]
    segment(tmp_path / "t-0", 0, [*batches, batch(2, [(b"c", b"d")])])
    assert [row["offset"] for row in rows(tmp_path)] == [0, 2]
    (row,) = rows(tmp_path, level="damage")
    assert (row["kind"], row["offset"], row["next_offset"]) == ("large", 1, 2)
    assert row["why"].endswith("needs too much memory")


@pytest.mark.usefixtures("small_limits")
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
    segment(tmp_path / "t-0", 0, [batch(0, [(b"a", b"b")]), bytes(lying), batch(201, PAIRS)])
    assert {0, 201, 400} <= {row["offset"] for row in rows(tmp_path)}
    (row,) = rows(tmp_path, level="damage")
    assert (row["kind"], row["offset"], row["next_offset"]) == ("records", 1, 201)


@pytest.mark.usefixtures("small_limits")
def test_a_large_batch_with_a_wrong_crc_is_damage(tmp_path: Path) -> None:
    path = segment(tmp_path / "t-0", 0, [batch(0, PAIRS), batch(200, PAIRS), batch(400, PAIRS)])
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert [row["offset"] for row in rows(tmp_path)] == [*range(200), *range(400, 600)]
    found = rows(tmp_path, level="batches")
    assert [row["crc_ok"] for row in found] == [True, False, True]
    assert [row["kind"] for row in rows(tmp_path, level="damage")] == ["crc"]
    assert len(rows(tmp_path, damaged="include", columns="key,crc_ok")) == 600


COLUMNS = "base_offset,last_offset,position,control_type,size,producer_id"


def test_headers_are_read_without_bodies(tmp_path: Path, bytes_read: list[int]) -> None:
    big: list[Pair] = [(None, bytes(100_000))]
    batches = [batch(n, big, attributes=TRANSACTIONAL, producer=(1, 0, n)) for n in range(50)]
    segment(tmp_path / "t-0", 0, [*batches, end_marker(50, 1, commit=True), batch(51, big)])
    with_crc = rows(tmp_path, level="batches")
    assert sum(bytes_read) > 5_000_000
    bytes_read.clear()
    assert rows(tmp_path, level="batches", columns=COLUMNS) == [
        {name: row[name] for name in COLUMNS.split(",")} for row in with_crc
    ]
    assert sum(bytes_read) < 400_000


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


def test_a_stream_finds_its_place_by_the_index(tmp_path: Path, bytes_read: list[int]) -> None:
    from .test_streams import reader

    batches = [batch(2 * n, [(b"k", bytes(5000))] * 2) for n in range(500)]
    segment(tmp_path / "t-0", 0, batches)
    stream = reader(tmp_path)
    limits = pytest.importorskip("pyspark.sql.streaming.datasource")
    assert stream.latestOffset({"t-0": 960}, limits.ReadMaxRows(3)) == {"t-0": 964}
    assert sum(bytes_read) < 700_000
