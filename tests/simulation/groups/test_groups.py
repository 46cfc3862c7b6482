"""Seeds that all hold, the same each time, and that do meet what they are there for.

`OTTLA_SIMULATION_SEEDS` says how many; `make simulate` runs 10,000.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from .world import simulate

SEEDS = int(os.environ.get("OTTLA_SIMULATION_SEEDS", "1000"))
IN_A_TEST = 100
ROOT = Path(__file__).parents[3]

# How often each of these happens in a hundred seeds at least: less, and little is tested.
HAPPENS = {
    "ConsumerGroupHeartbeat": 2_000,
    "JoinGroup": 1_000,
    "LeaveGroup": 20,
    "OffsetCommit": 1_000,
    "TxnOffsetCommit": 300,
    "a message doubled": 500,
    "a message late": 1_000,
    "a message lost": 200,
    "append refused": 20,
    "assigned anew": 500,
    "became a consumer group": 10,
    "became classic": 10,
    "clock jumps": 60,
    "commit refused": 30,
    "coordinator crashes": 150,
    "instance fenced": 10,
    "member killed": 200,
    "member lost": 150,
    "member stalls": 200,
    "member told to rejoin": 150,
    "offsets expired": 5,
    "offsets forgotten": 10,
    "parked request answered": 500,
    "partitions given up": 100,
    "rebalanced": 300,
    "timed out": 400,
    "topic deleted": 20,
    "topic grows": 60,
    "topic made": 30,
    "transaction ended": 300,
    "zombie refused": 10,
}


@cache
def happened_in(first: int) -> Counter[str]:
    happened: Counter[str] = Counter()
    for seed in range(first, min(first + IN_A_TEST, SEEDS)):
        happened.update(simulate(seed).happened)
    return happened


@pytest.mark.timeout(600)  # of a busy machine
@pytest.mark.parametrize("first", range(0, SEEDS, IN_A_TEST))
def test_groups_converge_and_nothing_is_in_two_hands_lost_or_forgotten(first: int) -> None:
    happened_in(first)


@pytest.mark.timeout(600)
def test_the_seeds_meet_what_they_are_there_for() -> None:
    happened = happened_in(0)
    rare = {kind: happened[kind] for kind, least in HAPPENS.items() if happened[kind] < least}
    assert not rare


def test_a_seed_is_the_same_run_each_time() -> None:
    first, again = simulate(7), simulate(7)
    assert first.trace == again.trace
    assert len(first.trace) > 200
    assert simulate(8).trace != first.trace


def test_a_seed_is_replayed_by_the_command_that_a_failure_prints() -> None:
    traces = [
        subprocess.run(
            [sys.executable, "-m", "tests.simulation.groups", "7"],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hashes},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hashes in ("1", "2")
    ]
    assert "seed 7: all held" in traces[0]
    assert len(traces[0].splitlines()) == len(simulate(7).trace) + 1
    assert traces[0] == traces[1], "the order of events is by the hashes of strings"
