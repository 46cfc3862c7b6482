"""What the control says of waits, where there are more groups than it shows at once."""

from __future__ import annotations

from ottla.lab.waits_view import first_of


def test_the_groups_behind_the_first_ones_are_counted() -> None:
    assert first_of(iter("abcde"), 2) == (["a", "b"], 3)
    assert first_of(iter("ab"), 2) == (["a", "b"], 0)
    assert first_of(iter(""), 2) == ([], 0)
