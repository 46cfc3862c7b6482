"""The command of a simulation: replay a seed with its trace, or run many seeds."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from .planting import Plants


class World(Protocol):
    """A simulated world; its scheduler has the trace."""

    scheduler: Any

    def run(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Simulation:
    """A simulation: its world, its run function, its error and its planted bugs."""

    name: str
    world: Callable[[int], World]
    simulate: Callable[[int], Any]
    error: type[Exception]
    mutations: Plants


def run(simulation: Simulation) -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(prog=f"python -m {simulation.name}")
    parser.add_argument("seed", nargs="?", type=int, help="replay this seed and print its trace")
    parser.add_argument("--seeds", type=int, default=0, help="number of seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--mutate", default="", help="name of a bug to plant")
    given = parser.parse_args()
    with simulation.mutations.planted(given.mutate):
        if given.seed is not None:
            return _replay(simulation, given.seed)
        return _many(simulation, range(given.first, given.first + given.seeds))


def _replay(simulation: Simulation, seed: int) -> int:
    world = simulation.world(seed)
    failure: Exception | None = None
    try:
        world.run()
    except Exception as failed:
        failure = failed
    for at_ms, kind, *details in world.scheduler.trace:
        shown = " ".join(str(detail)[:300] for detail in details)
        sys.stdout.write(f"{at_ms:>10} {kind:<32} {shown}\n")
    if failure is None:
        sys.stdout.write(f"seed {seed}: all invariants hold\n")
        return 0
    traceback.print_exception(failure, file=sys.stdout)
    return 1


def _many(simulation: Simulation, seeds: range) -> int:
    happened: Counter[str] = Counter()
    failed = 0
    began = time.monotonic()
    for number, seed in enumerate(seeds, 1):
        try:
            happened.update(simulation.simulate(seed).happened)
        except simulation.error as failure:
            failed += 1
            sys.stdout.write(f"{str(failure)[:600]}\n")
        if number % 500 == 0:
            sys.stdout.write(f"{number} seeds, {time.monotonic() - began:.0f} s, {failed} failed\n")
            sys.stdout.flush()
    for kind, times in sorted(happened.items()):
        sys.stdout.write(f"{times:>10} {kind}\n")
    sys.stdout.write(
        f"{len(seeds)} seeds in {time.monotonic() - began:.1f} s: {failed or 'none'} failed\n"
    )
    return 1 if failed else 0
