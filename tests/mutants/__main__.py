"""Plant bugs one at a time; the tests must find each: `python -m tests.mutants [NAME...]`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from .mutant import Mutant, StaleMutant
from .planted import MUTANTS
from .workshop import ROOT, Outcome, Workshop


def main(
    arguments: Sequence[str] | None = None,
    *,
    mutants: Sequence[Mutant] = MUTANTS,
    root: Path = ROOT,
) -> int:
    """Run the command.

    Returns:
        the exit status: 0 if all were found, 1 if one was not, 2 if one could not be planted.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="only these bugs, or files with this prefix")
    parser.add_argument("--list", action="store_true", help="list the bugs and their effects")
    parser.add_argument("--check", action="store_true", help="only check that each fits the source")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="parallel runs")
    given = parser.parse_args(arguments)
    chosen = _chosen(mutants, given.names)
    if not chosen:
        _say(f"error: no bug has the name or the file {' or '.join(given.names)}")
        return 2
    stale = 0
    for mutant in tuple(chosen):
        try:
            mutant.check(root)
        except StaleMutant as error:
            _say(f"STALE     {error}")
            chosen.remove(mutant)
            stale += 1
    if given.list:
        for mutant in chosen:
            _say(f"{mutant.name} ({mutant.file}): {mutant.breaks}")
    if given.list or given.check:
        return 2 if stale else 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        workshops = [
            Workshop(_made(Path(scratch) / str(number)), root)
            for number in range(max(1, given.jobs))
        ]
        return max(_try_all(chosen, workshops), 2 if stale else 0)


def _chosen(mutants: Sequence[Mutant], names: Sequence[str]) -> list[Mutant]:
    if not names:
        return list(mutants)
    chosen = [
        mutant for mutant in MUTANTS if mutant.name in names or mutant.file.startswith(tuple(names))
    ]
    if not chosen:
        raise StaleMutant(f"no mutant has the name or the file {' or '.join(names)}")
    return chosen


def _try_all(mutants: Sequence[Mutant], workshops: Sequence[Workshop]) -> int:
    """Plant each bug and print its outcome; the exit status."""
    began = time.monotonic()
    tests = sorted({test for mutant in mutants for test in mutant.found_by})
    without = workshops[0].run(tests, all_of_them=True)
    if without.status != 0:
        why = "fail" if without.status else "do not end in time"
        _say(f"error: without any bug the tests {why}, and prove nothing\n{without.output}")
        return 2
    idle: SimpleQueue[Workshop] = SimpleQueue()
    for workshop in workshops:
        idle.put(workshop)

    def attempt(mutant: Mutant) -> Outcome:
        workshop = idle.get()
        try:
            with workshop.planted(mutant):
                return workshop.run(mutant.found_by)
        finally:
            idle.put(workshop)

    survived = broken = 0
    with ThreadPoolExecutor(len(workshops)) as pool:
        for mutant, outcome in zip(mutants, pool.map(attempt, mutants), strict=True):
            if outcome.is_found:
                _say(f"found     {mutant.name}: {outcome.failed[0]}")
            elif outcome.status == 0:
                survived += 1
                _say(f"SURVIVED  {mutant.name} ({mutant.file}): {mutant.breaks}")
            else:
                broken += 1
                _say(f"NOT TRIED {mutant.name} ({mutant.file}): {outcome.output}")
    found = len(mutants) - survived - broken
    _say(
        f"{len(mutants)} bugs in {time.monotonic() - began:.0f} s: "
        f"{found} found, {survived} survived, {broken} could not be tried"
    )
    return 2 if broken else 1 if survived else 0


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
