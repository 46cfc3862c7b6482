"""All seeds of each simulation pass, are repeatable, cause the wanted events, and find bugs.

`OTTLA_SIMULATION_SEEDS` is the number of seeds; `make simulate` runs 10,000 of each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from .simulation import Simulation, SimulationError
from .simulations import GROUPS, SIMULATIONS, TRANSACTIONS

SEEDS = int(os.environ.get("OTTLA_SIMULATION_SEEDS", "400"))
IN_A_TEST = 100
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(600)  # on a busy machine
each_simulation = pytest.mark.parametrize("simulation", SIMULATIONS.values(), ids=SIMULATIONS)


@cache
def happened_in(simulation: Simulation, first: int) -> Counter[str]:
    """Run the seeds of one test; the number of events of each kind."""
    return simulation.count_events(range(first, min(first + IN_A_TEST, SEEDS)))


@each_simulation
@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=[pytest.mark.slow] if first else [])
        for first in range(0, SEEDS, IN_A_TEST)
    ],
)
def test_the_promise_of_the_simulation_holds_in_each_seed(
    simulation: Simulation, first: int
) -> None:
    happened_in(simulation, first)


@each_simulation
def test_the_seeds_cause_each_event_often_enough(simulation: Simulation) -> None:
    happened = happened_in(simulation, 0)
    rare = {kind for kind, least in simulation.happens.items() if happened[kind] < least}
    assert not rare, happened


@each_simulation
def test_a_seed_is_the_same_run_each_time(simulation: Simulation) -> None:
    first, again = simulation.run(7), simulation.run(7)
    assert first.trace == again.trace
    assert len(first.trace) > 200
    assert simulation.run(8).trace != first.trace


@each_simulation
def test_the_printed_command_replays_the_seed_also_with_another_hash_seed(
    simulation: Simulation,
) -> None:
    traces = [
        subprocess.run(
            [sys.executable, "-m", "tests.simulation", simulation.name, "7"],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hashes},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hashes in ("1", "2")
    ]
    assert "seed 7: all invariants hold" in traces[0]
    assert len(traces[0].splitlines()) == len(simulation.run(7).trace) + 1
    assert traces[0] == traces[1], "the order of events depends on the hashes of strings"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("simulation", "name"),
    [
        pytest.param(simulation, name, id=f"{simulation.name}-{name}")
        for simulation in SIMULATIONS.values()
        for name in simulation.mutations
    ],
)
def test_a_planted_bug_is_found(simulation: Simulation, name: str) -> None:
    bug = simulation.mutations[name]
    with (
        simulation.mutations.planted(name),
        pytest.raises(
            SimulationError, match=f"python -m tests.simulation {simulation.name} "
        ) as found,
    ):
        simulation.count_events(range(bug.first, bug.first + bug.within))
    seed = int(str(found.value).split()[-1])
    simulation.run(seed)  # it passes without the bug


@pytest.mark.parametrize("simulation", [TRANSACTIONS, GROUPS])
def test_many_mutations_are_planted(simulation: Simulation) -> None:
    assert len(simulation.mutations) >= 15


def test_an_unknown_name_of_a_bug_is_refused() -> None:
    with pytest.raises(KeyError), GROUPS.mutations.planted("all-is-well"):
        pass
