"""Judges a model's history, alone or with the logs; `python -m tests.verdict.judged_histories`.

That is the campaign: 1,000 right histories without an anomaly, and each planted one in 20 others.
"""

from __future__ import annotations

import argparse
import random
import sys

from ottla.verdict.oracle.findings import Findings
from ottla.verdict.oracle.history import operation
from ottla.verdict.oracle.oracle import LogRecord, Oracle
from tests.verdict.histories import PLAIN, Line, World, history
from tests.verdict.planted_histories import PLANTS, Log


def logs_of(world: World) -> dict[str, Log]:
    """The logs of a model."""
    return {
        place: Log(
            0,
            [
                LogRecord(offset, value, txn.fate if txn else PLAIN)
                for offset, (value, txn) in enumerate(entries)
                if value is not None
            ],
            len(entries),
        )
        for place, entries in world.logs.items()
    }


def judged(lines: list[Line], logs: dict[str, Log]) -> Findings:
    """What the oracle finds."""
    oracle = Oracle()
    for number, line in enumerate(lines, 1):
        oracle.see(operation(number, line))
    for place, (start, records, end) in logs.items():
        oracle.see_log(place, start, records, end)
    return oracle.finish()


def merged(world: World, planted: list[Line]) -> list[Line]:
    """The lines of both, each in their order."""
    lines: list[Line] = []
    rest = [list(reversed(world.lines)), list(reversed(planted))]
    while rest[0] and rest[1]:
        lines.append(rest[world.random.randrange(2)].pop())
    return lines + rest[0][::-1] + rest[1][::-1]


def errors(findings: Findings) -> set[str]:
    """The anomalies that are no notices."""
    return {each.anomaly for each in findings.anomalies}


def campaign(first: int, count: int) -> int:
    """Judge the histories; the number of wrong verdicts."""
    wrong = 0
    for seed in range(first, first + count):
        world = history(seed)
        for logs in ({}, logs_of(world)):
            found = judged(world.lines, logs)
            if found.anomalies:
                wrong += 1
                sys.stdout.write(f"seed {seed}: {found.anomalies[0]}\n")
    for (anomaly, variant), make in PLANTS.items():
        for seed in random.Random(first).sample(range(first, first + count), min(20, count)):
            world, plant = history(seed), make()
            found = judged(merged(world, plant.lines), {**logs_of(world), **plant.logs})
            if anomaly not in found.counts or errors(found) - {anomaly}:
                wrong += 1
                sys.stdout.write(f"seed {seed}: {anomaly}, {variant}: {found.counts}\n")
    kinds = f"{len(PLANTS)} planted anomalies in 20 histories each"
    sys.stdout.write(f"{count} right histories, {kinds}: {wrong} wrong verdicts\n")
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--histories", type=int, default=1000)
    given = parser.parse_args()
    sys.exit(campaign(given.first, given.histories) > 0)
