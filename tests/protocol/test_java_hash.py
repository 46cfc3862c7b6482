"""Java's string hash by values that java.lang.String.hashCode gives, and a HashMap's order."""

from __future__ import annotations

import pytest

from ottla.protocol.java_hash import in_hash_map, java_hash_code


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


@pytest.mark.parametrize(
    ("keys", "first_capacity", "order"),
    [
        ((33, 17, 1), 16, [33, 17, 1]),  # of one slot, as they came
        ((16, 3, 0), 16, [16, 0, 3]),
        ((16, 3, 0), 64, [0, 3, 16]),
        ((2, 1), 1, [1, 2]),  # grown to 4 slots: a second does not fit into 2
        ((4, 1, 2), 4, [4, 1, 2]),
        ((4, 1, 2, 3), 4, [1, 2, 3, 4]),  # the fourth does not fit into 4
        ((1 << 16, 0), 16, [0, 1 << 16]),  # the upper half counts
        ((-1, 0), 16, [-1, 0]),
        ((), 0, []),
    ],
)
def test_keys_are_listed_by_slot(
    keys: tuple[int, ...], first_capacity: int, order: list[int]
) -> None:
    assert in_hash_map(keys, lambda key: key, first_capacity=first_capacity) == order
