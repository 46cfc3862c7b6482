"""docs/reference/spark-log.md has the options, columns and kinds of damage that the source has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ottla.spark.kafka_log.options import OPTIONS
from ottla.spark.kafka_log.schemas import COLUMNS, Level

DOCUMENT = (Path(__file__).parents[3] / "docs/reference/spark-log.md").read_text()


def table(title: str) -> list[tuple[str, str]]:
    """The rows of the first table behind a title."""
    text = DOCUMENT.partition(f"# {title}\n")[2]
    lines = text[text.index("|---|---|\n") + len("|---|---|\n") :].splitlines()
    rows = [re.fullmatch(r"\| (.*) \| (.*) \|", line) for line in lines]
    until = next((at for at, row in enumerate(rows) if row is None), len(rows))
    return [(row[1].strip("`"), row[2].strip("`")) for row in rows[:until] if row]


def test_the_options_are_the_documented_ones() -> None:
    assert [name for name, _ in table("Options")] == list(OPTIONS)


@pytest.mark.parametrize("level", list(COLUMNS))
def test_the_columns_are_the_documented_ones(level: Level) -> None:
    assert table(level) == list(COLUMNS[level].items())


def test_the_kinds_of_damage_are_the_documented_ones() -> None:
    from ottla.spark.kafka_log.damage_rows import KINDS

    assert dict(table("Damage")) == KINDS
