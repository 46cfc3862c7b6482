"""Which partition of an internal topic a key belongs to."""

from __future__ import annotations

from ottla.coordinator.partitioning import partition_for


def test_a_negative_hash_counts_by_its_absolute_value() -> None:
    assert partition_for("orders", 50) == 1008770331 % 50


def test_the_least_int_has_no_absolute_value_and_counts_as_zero() -> None:
    assert partition_for("polygenelubricants", 50) == 0
