"""Checks of both simulations: seeds pass, cause the wanted events, are repeatable, and find bugs.

`OTTLA_SIMULATION_SEEDS` is the number of seeds; `make simulate` runs 10,000 of each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from .planting import Plants

SEEDS = int(os.environ.get("OTTLA_SIMULATION_SEEDS", "400"))
IN_A_TEST = 100
ROOT = Path(__file__).parents[2]

Simulate = Callable[[int], Any]
"""Runs a seed; the result has a trace and the number of events of each kind."""


def first_of_each_test() -> list[ParameterSet]:
    """Return the first seed of each test; all but the first hundred seeds are slow."""
    return [
        pytest.param(first, marks=[pytest.mark.slow] if first else [])
        for first in range(0, SEEDS, IN_A_TEST)
    ]


@cache
def happened_in(simulate: Simulate, first: int) -> Counter[str]:
    """Run the seeds of one test; the number of events of each kind."""
    happened: Counter[str] = Counter()
    for seed in range(first, min(first + IN_A_TEST, SEEDS)):
        happened.update(simulate(seed).happened)
    return happened


def too_rare(simulate: Simulate, happens: Mapping[str, int]) -> dict[str, int]:
    """Events that are rarer in the seeds of the first test than required."""
    happened = happened_in(simulate, 0)
    return {kind: happened[kind] for kind, least in happens.items() if happened[kind] < least}


def check_each_time_the_same(simulate: Simulate) -> None:
    """Equal seeds give equal runs, and other seeds other runs."""
    first, again = simulate(7), simulate(7)
    assert first.trace == again.trace
    assert len(first.trace) > 200
    assert simulate(8).trace != first.trace


def check_replay(simulate: Simulate, module: str) -> None:
    """The command that a failure prints replays the same run, also with another hash seed."""
    traces = [
        subprocess.run(
            [sys.executable, "-m", module, "7"],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hashes},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hashes in ("1", "2")
    ]
    assert "seed 7: all invariants hold" in traces[0]
    assert len(traces[0].splitlines()) == len(simulate(7).trace) + 1
    assert traces[0] == traces[1], "the order of events depends on the hashes of strings"


def check_found(simulate: Simulate, module: str, bugs: Plants, name: str) -> None:
    """A seed that passes without the bug fails with it, and its message names the seed."""
    first, within = bugs[name].first, bugs[name].within
    with bugs.planted(name):
        failures = ((seed, _failure(simulate, seed)) for seed in range(first, first + within))
        found = next(((seed, failure) for seed, failure in failures if failure is not None), None)
    assert found is not None, f"{within} seeds do not find it"
    seed, failure = found
    assert f"python -m {module} {seed}" in str(failure)
    simulate(seed)


def _failure(simulate: Simulate, seed: int) -> AssertionError | None:
    try:
        simulate(seed)
    except AssertionError as failure:
        return failure
    return None
