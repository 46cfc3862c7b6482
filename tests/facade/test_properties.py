"""server.properties as java.util.Properties reads it; a file of Kafka's own is the measure."""

from __future__ import annotations

import pytest

from ottla.properties import read_properties

# One line a case: what is in the file, the name, the value.
CASES = [
    ("num.partitions=3", "num.partitions", "3"),
    ("  num.partitions = 3  ", "num.partitions", "3"),
    ("num.partitions:3", "num.partitions", "3"),
    ("num.partitions 3", "num.partitions", "3"),
    ("log.dirs=", "log.dirs", ""),
    ("log.dirs", "log.dirs", ""),
    ("listeners=PLAINTEXT://:9092,C://:9093", "listeners", "PLAINTEXT://:9092,C://:9093"),
    ("a\\:b=c", "a:b", "c"),
    ("path=C\\\\logs", "path", "C\\logs"),
    ("list=one,\\\n   two", "list", "one,two"),
    ("twice=1\ntwice=2", "twice", "2"),
]


@pytest.mark.parametrize(("text", "name", "value"), CASES)
def test_a_line_is_a_name_and_a_value(text: str, name: str, value: str) -> None:
    assert read_properties(text) == {name: value}


@pytest.mark.parametrize("text", ["", "\n\n", "# num.partitions=3", "  ! num.partitions=3"])
def test_comments_and_blank_lines_are_no_settings(text: str) -> None:
    assert read_properties(text) == {}


def test_a_comment_is_not_continued() -> None:
    assert read_properties("# one \\\ntwo=2") == {"two": "2"}


def test_a_hash_behind_a_value_belongs_to_it() -> None:
    assert read_properties("name=a # b") == {"name": "a # b"}
