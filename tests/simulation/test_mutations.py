"""Planted bugs: a simulation that misses them proves nothing when it holds."""

from __future__ import annotations

import pytest

from .mutations import MUTATIONS
from .seeds import check_found
from .world import simulate


@pytest.mark.timeout(600)  # of a busy machine
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_planted_bug_is_found(name: str) -> None:
    check_found(simulate, "tests.simulation", MUTATIONS, name)


def test_many_mutations_are_planted() -> None:
    assert len(MUTATIONS) >= 15


def test_a_name_that_is_no_bug_is_refused() -> None:
    with pytest.raises(KeyError), MUTATIONS.planted("all-is-well"):
        pass
