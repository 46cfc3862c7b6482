"""Patterns of names: what they fit, and that none takes long."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import product

import pytest

from ottla.trace.wildcards import fits


@pytest.mark.parametrize("size", range(5))
def test_a_pattern_fits_the_same_names_as_in_a_shell(size: int) -> None:
    names = ["".join(each) for length in range(5) for each in product("ab\n", repeat=length)]
    for letters in product("ab*?", repeat=size):
        pattern = "".join(letters)
        assert [fits(pattern)(name) for name in names] == [
            fnmatchcase(name, pattern) for name in names
        ], pattern


def test_a_bracket_stands_for_itself() -> None:
    """Kafka's client ids may have brackets."""
    assert fits("[a]*")("[a]-1")
    assert not fits("[a]*")("a-1")
    assert fits("a.b?")("a.bc")
    assert not fits("a.b")("axb")


def test_a_pattern_with_many_stars_is_decided_at_once() -> None:
    """Backtracking would take years."""
    assert not fits("*a" * 100 + "*b")("a" * 249)
    assert fits("*a" * 100 + "*")("a" * 249)
