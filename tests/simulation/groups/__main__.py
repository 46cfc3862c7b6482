"""Replays a seed with its trace (`python -m tests.simulation.groups SEED`), or runs many."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter

from . import mutations
from .world import GroupsSimulationError, World, simulate


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.groups")
    parser.add_argument("seed", nargs="?", type=int, help="replay this one and show its trace")
    parser.add_argument("--seeds", type=int, default=0, help="run so many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--mutate", default="", help="with a planted bug, by its name")
    given = parser.parse_args()
    with mutations.planted(given.mutate):
        if given.seed is not None:
            return _replay(given.seed)
        return _many(range(given.first, given.first + given.seeds))


def _replay(seed: int) -> int:
    world = World(seed)
    failure: Exception | None = None
    try:
        world.run()
    except Exception as failed:
        failure = failed
    for at_ms, kind, *details in world.scheduler.trace:
        shown = " ".join(str(detail)[:300] for detail in details)
        sys.stdout.write(f"{at_ms:>8} {kind:<32} {shown}\n")
    if failure is None:
        sys.stdout.write(f"seed {seed}: all held\n")
        return 0
    traceback.print_exception(failure, file=sys.stdout)
    return 1


def _many(seeds: range) -> int:
    happened: Counter[str] = Counter()
    failed = 0
    began = time.monotonic()
    for number, seed in enumerate(seeds, 1):
        try:
            happened.update(simulate(seed).happened)
        except GroupsSimulationError as failure:
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


if __name__ == "__main__":
    sys.exit(main())
