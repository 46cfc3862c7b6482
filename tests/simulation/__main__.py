"""Replay a seed with its trace, or run many seeds of one simulation or of all.

`python -m tests.simulation groups 7`, or `python -m tests.simulation --seeds 10000`.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter

from .simulation import Simulation, SimulationError
from .simulations import SIMULATIONS


def main() -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("name", nargs="?", choices=SIMULATIONS, help="the simulation; all without")
    parser.add_argument("seed", nargs="?", type=int, help="replay this seed and print its trace")
    parser.add_argument("--seeds", type=int, default=0, help="number of seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--mutate", default="", help="name of a bug to plant")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    for simulation in SIMULATIONS.values() if given.name is None else [SIMULATIONS[given.name]]:
        with simulation.mutations.planted(given.mutate):
            failed = (
                _run(simulation, seeds) if given.seed is None else _replay(simulation, given.seed)
            )
        if failed:
            return 1
    return 0


def _replay(simulation: Simulation, seed: int) -> bool:
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
    else:
        traceback.print_exception(failure, file=sys.stdout)
    return failure is not None


def _run(simulation: Simulation, seeds: range) -> int:
    """Run seeds; the number of those that failed."""
    happened: Counter[str] = Counter()
    failed = 0
    began = time.monotonic()
    for number, seed in enumerate(seeds, 1):
        try:
            happened.update(simulation.run(seed).happened)
        except SimulationError as failure:
            failed += 1
            sys.stdout.write(f"{str(failure)[:600]}\n")
        if number % 500 == 0:
            sys.stdout.write(f"{number} seeds, {time.monotonic() - began:.0f} s, {failed} failed\n")
            sys.stdout.flush()
    for kind, times in sorted(happened.items()):
        sys.stdout.write(f"{times:>10} {kind}\n")
    sys.stdout.write(
        f"{simulation.name}: {len(seeds)} seeds in {time.monotonic() - began:.1f} s:"
        f" {failed or 'none'} failed\n"
    )
    return failed


if __name__ == "__main__":
    sys.exit(main())
