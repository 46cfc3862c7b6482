"""The simulation finds planted bugs."""

from __future__ import annotations

import pytest

from .mutations import MUTATIONS
from .seeds import check_found
from .world import simulate


@pytest.mark.slow
@pytest.mark.timeout(600)  # on a busy machine
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_planted_bug_is_found(name: str) -> None:
    check_found(simulate, "tests.simulation", MUTATIONS, name)


def test_many_mutations_are_planted() -> None:
    assert len(MUTATIONS) >= 15


def test_an_unknown_name_of_a_bug_is_refused() -> None:
    with pytest.raises(KeyError), MUTATIONS.planted("all-is-well"):
        pass
