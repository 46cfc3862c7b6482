"""Rows of logs in plain Python are those that are read by columns, also of damaged files."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ottla.audit.rows import LogBatch
from ottla.spark.audit.rows import NoLogs, logs_of, metadata_of, parts_in, rows_of
from tests.audit.planted import clean
from tests.audit.world import World


def by_columns(directory: Path) -> object:
    return rows_of(parts_in(str(directory)), metadata_of(str(directory)))


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_directory_has_the_same_rows(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    world = World()
    clean(world)
    directory = world.write(tmp_path / "data")
    files = sorted(each for each in directory.glob("*-*/*.log") if each.stat().st_size)
    for file in chance.sample(files, min(6, len(files))):
        content = bytearray(file.read_bytes())
        start = chance.randrange(len(content))
        how = chance.randrange(5)
        if how == 0:
            content[start] ^= 1 << chance.randrange(8)
        elif how == 1:
            content[start : start + 90] = bytes(90)
        elif how == 2:
            del content[start:]
        elif how == 3:
            content += bytes(chance.randrange(1, 300))
        else:
            content[start:start] = chance.randbytes(chance.randrange(1, 200))
        file.write_bytes(content)
    logs = logs_of(str(directory))
    assert logs == by_columns(directory)
    assert logs.rows


def test_damage_between_segments_and_an_unreadable_index_are_the_same_rows(tmp_path: Path) -> None:
    world = World()
    for epoch in range(6):
        world.transaction("id", 1, epoch, [("t", 0)], commit=epoch % 2 == 0)
    directory = world.write(tmp_path / "data")
    (log,) = (directory / "t-0").glob("*.log")
    whole = log.read_bytes()
    batches = [
        row
        for row in logs_of(str(directory)).rows
        if isinstance(row, LogBatch) and row.topic == "t"
    ]
    cut = batches[5]
    log.write_bytes(whole[: cut.position + 40])
    log.with_name(f"{cut.base_offset:020d}.log").write_bytes(whole[cut.position :])
    index = log.with_suffix(".txnindex")
    index.write_bytes(index.read_bytes()[:-3])
    assert logs_of(str(directory)) == by_columns(directory)
    assert any(isinstance(row, LogBatch) and not row.crc_ok for row in logs_of(str(directory)).rows)


@pytest.mark.parametrize("name", [".", "missing"])
def test_a_directory_without_logs_is_named(name: str, tmp_path: Path) -> None:
    for read in (logs_of, parts_in):
        with pytest.raises(NoLogs, match=str(tmp_path)):
            read(str(tmp_path / name))
