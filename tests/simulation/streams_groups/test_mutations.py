"""The simulation finds planted bugs."""

from __future__ import annotations

import pytest

from ..seeds import check_found
from .mutations import MUTATIONS
from .world import simulate


@pytest.mark.slow
@pytest.mark.timeout(600)  # on a busy machine
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_planted_bug_is_found(name: str) -> None:
    check_found(simulate, "tests.simulation.streams_groups", MUTATIONS, name)
