"""Planted bugs: a simulation that misses them proves nothing when it holds."""

from __future__ import annotations

import pytest

from .mutations import MUTATIONS, planted
from .world import GroupsSimulationError, simulate


@pytest.mark.timeout(600)  # of a busy machine
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_planted_bug_is_found(name: str) -> None:
    failure, seed = None, -1
    with planted(name):
        while failure is None and seed + 1 < MUTATIONS[name].within:
            seed += 1
            failure = failure_of(seed)
    assert failure is not None, f"{MUTATIONS[name].within} seeds do not find it"
    assert f"python -m tests.simulation.groups {seed}" in str(failure)
    simulate(seed)  # which holds without it: it is the bug that was found


def failure_of(seed: int) -> GroupsSimulationError | None:
    try:
        simulate(seed)
    except GroupsSimulationError as failure:
        return failure
    return None


def test_there_are_many() -> None:
    assert len(MUTATIONS) >= 15


def test_a_name_that_is_no_bug_is_refused() -> None:
    with pytest.raises(KeyError), planted("all-is-well"):
        pass
