"""Java's string hash, by values that java.lang.String.hashCode gives."""

from __future__ import annotations

import pytest

from ottla.coordinator.partitioning import java_hash_code, partition_for


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("orders", -1008770331),
        ("polygenelubricants", -(1 << 31)),
        ("é", 233),
        ("aé", 3240),
        ("\U0001f600", 1772899),  # two UTF-16 code units
    ],
)
def test_the_hash_is_java_s(text: str, code: int) -> None:
    assert java_hash_code(text) == code


def test_a_negative_hash_counts_by_its_absolute_value() -> None:
    assert partition_for("orders", 50) == 1008770331 % 50


def test_the_least_int_has_no_absolute_value_and_counts_as_zero() -> None:
    assert partition_for("polygenelubricants", 50) == 0
