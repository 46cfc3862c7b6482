"""Damage never stops a read, hides no valid batch, and is a row of the level `damage`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ottla.protocol.batch import Compression, read_header
from tests.storage.broken_records import COUNT, NAMED, decoded, payload
from tests.storage.broken_records import batch as broken_batch

from .logs import Pair, batch, rows, segment

PAIRS: list[Pair] = [(b"k", b"v" * 20), (None, None)]


def equal_batches(count: int = 8) -> list[bytes]:
    """Batches of one size, so that a flipped bit of a length may point to another batch."""
    return [batch(2 * index, PAIRS, producer=(1, 0, 2 * index)) for index in range(count)]


def bases(directory: Path, **options: object) -> list[int]:
    return [row["base_offset"] for row in rows(directory, level="batches", **options)]


@pytest.mark.parametrize("seed", range(40))
def test_every_valid_batch_beside_damage_is_returned(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    batches = equal_batches()
    path = segment(tmp_path / "t-0", 0, batches)
    data = bytearray(path.read_bytes())
    size = len(batches[0])
    hit = chance.randrange(len(batches))
    position = hit * size + chance.randrange(8, size)  # base offsets have a test of their own
    data[position] ^= 1 << chance.randrange(8)
    path.write_bytes(data)

    valid = {2 * index for index in range(len(batches)) if index != hit}
    found = [row["base_offset"] for row in rows(tmp_path, level="batches") if row["crc_ok"]]
    in_epoch = 12 <= position - hit * size < 16  # no CRC covers the leader epoch
    assert set(found) - ({2 * hit} if in_epoch else set()) == valid
    offsets = [row["offset"] for row in rows(tmp_path) if row["offset"] // 2 != hit]
    assert offsets == [offset for base in sorted(valid) for offset in (base, base + 1)]
    damage = rows(tmp_path, level="damage")
    assert bool(damage) is not in_epoch
    if damage:
        (row,) = [row for row in damage if row["kind"] in ("crc", "gap", "torn")]
        assert row["position"] <= position < row["end_position"]


@pytest.mark.parametrize("seed", range(12))
def test_a_cut_file_returns_the_whole_batches(seed: int, tmp_path: Path) -> None:
    batches = equal_batches()
    path = segment(tmp_path / "t-0", 0, batches)
    size = random.Random(seed).randrange(len(path.read_bytes()))
    path.write_bytes(path.read_bytes()[:size])
    whole = size // len(batches[0])
    assert bases(tmp_path) == [2 * index for index in range(whole)]
    kinds = {row["kind"] for row in rows(tmp_path, level="damage")}
    rest = path.read_bytes()[whole * len(batches[0]) :]
    assert ("torn" in kinds) is any(rest)  # a rest of zeros is the reserved end of a file


def test_a_reserved_end_of_zeros_is_no_damage(tmp_path: Path) -> None:
    path = segment(tmp_path / "t-0", 0, equal_batches())
    path.write_bytes(path.read_bytes() + bytes(5000))
    assert len(bases(tmp_path)) == 8
    assert rows(tmp_path, level="damage") == []


@pytest.mark.parametrize("seed", range(15))
def test_random_bytes_raise_nothing(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    batches = [batch(2 * n, PAIRS, codec=Compression(n % 5)) for n in range(10)]
    path = segment(tmp_path / "t-0", 0, batches)
    data = bytearray(path.read_bytes())
    for _ in range(chance.randrange(1, 6)):
        start = chance.randrange(len(data))
        data[start : start + 40] = chance.randbytes(chance.randrange(40))
    path.write_bytes(data)
    for level in ("records", "batches", "transactions", "damage"):
        rows(tmp_path, level=level)
    rows(tmp_path, damaged="include")
    assert rows(tmp_path, level="damage")


def test_a_batch_whose_records_are_not_readable_is_damage(tmp_path: Path) -> None:
    good = batch(0, PAIRS)
    lying = bytearray(batch(2, PAIRS))
    lying[60] = 3  # it has two records
    from ottla.protocol.batch import seal

    seal(lying)
    segment(tmp_path / "t-0", 0, [good, bytes(lying), batch(4, PAIRS)])
    assert [row["offset"] for row in rows(tmp_path)] == [0, 1, 4, 5]
    (row,) = rows(tmp_path, level="damage")
    assert (row["kind"], row["offset"], row["next_offset"]) == ("records", 2, 4)


@pytest.mark.parametrize("codec", [0, 1])
def test_a_broken_record_is_named_with_its_field(codec: int, tmp_path: Path) -> None:
    behind = COUNT
    for number, (name, middle) in enumerate(NAMED.items()):
        if decoded(payload(middle), COUNT) is not None:
            continue
        directory = tmp_path / str(number)
        broken = broken_batch(middle, codec)
        segment(directory / "t-0", 0, [broken, batch(behind, PAIRS)])
        assert [row["offset"] for row in rows(directory)] == [behind, behind + 1], name
        (row,) = rows(directory, level="damage")
        assert (row["kind"], row["offset"], row["next_offset"]) == ("records", 0, behind), name
        assert "the batch at offset 0 is broken: " in row["why"], (name, row)


def test_a_base_offset_that_goes_back_is_damage(tmp_path: Path) -> None:
    batches = equal_batches()
    wrong = bytearray(batches[3])
    wrong[0:8] = (1).to_bytes(8, "big")
    segment(tmp_path / "t-0", 0, [*batches[:3], bytes(wrong), *batches[4:]])
    assert "offset" in {row["kind"] for row in rows(tmp_path, level="damage")}


def test_a_segment_that_is_deleted_before_its_read_is_named(tmp_path: Path) -> None:
    from ottla.spark.kafka_log.options import parse
    from ottla.spark.kafka_log.reading import DataLoss
    from ottla.spark.kafka_log.schemas import struct_type
    from ottla.spark.kafka_log.source import LogReader

    def planned(**options: str) -> LogReader:
        given = parse({"path": str(tmp_path), **options})
        return LogReader(given, struct_type(given.level))

    path = segment(tmp_path / "t-0", 0, equal_batches())
    segment(tmp_path / "t-0", 16, [batch(16, PAIRS)])
    readers = [planned(), planned(level="damage"), planned(failOnDataLoss="true")]
    plans = [reader.partitions() for reader in readers]
    path.unlink()
    records = [row for task in plans[0] for b in readers[0].read(task) for row in b.to_pylist()]
    assert [row["offset"] for row in records] == [16, 17]
    damage = [row for task in plans[1] for b in readers[1].read(task) for row in b.to_pylist()]
    assert [(row["kind"], row["next_offset"]) for row in damage] == [("deleted", 16)]
    with pytest.raises(DataLoss, match="was deleted"):
        list(readers[2].read(plans[2][0]))


def test_a_file_that_grows_is_read_to_its_planned_end(tmp_path: Path) -> None:
    from ottla.spark.kafka_log.options import parse
    from ottla.spark.kafka_log.schemas import struct_type
    from ottla.spark.kafka_log.source import LogReader

    batches = equal_batches()
    path = segment(tmp_path / "t-0", 0, batches)
    reader = LogReader(parse({"path": str(tmp_path)}), struct_type("records"))
    (task,) = reader.partitions()
    path.write_bytes(path.read_bytes() + batch(16, PAIRS) + b"torn")
    assert sum(each.num_rows for each in reader.read(task)) == 16
    assert read_header(batches[-1]).last_offset == 15
