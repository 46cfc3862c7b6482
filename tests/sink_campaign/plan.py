"""The rounds of a campaign: which process is killed, and when. A function of the seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ottla.spark.exactly_once.crash_steps import STEPS_OF_TASKS, STEPS_OF_THE_DRIVER, CrashStep


class Victim(StrEnum):
    """The process that is killed."""

    WORKER = "worker"
    """The Python process of a task."""
    COMMITTER = "committer"
    """The Python process that Spark starts for commit()."""
    EXECUTOR = "executor"
    """The JVM of an executor, in a cluster on this machine (local-cluster)."""
    DRIVER = "driver"
    """The JVM of the query, and the program that started it."""
    BROKER = "broker"
    QUERY = "query"
    """No process: the query is stopped in order, and leaves no transaction open."""


OF_A_TASK: Final = (Victim.WORKER, Victim.DRIVER, Victim.BROKER, Victim.EXECUTOR)
OF_THE_DRIVER: Final = (Victim.COMMITTER, Victim.DRIVER, Victim.BROKER)
# At random points the driver and the broker are killed as often as all processes of executors.
_BATCH_WRITES: Final = 0.2
_AT_RANDOM: Final = (
    Victim.DRIVER, Victim.BROKER, Victim.WORKER, Victim.DRIVER, Victim.BROKER, Victim.COMMITTER,
    Victim.EXECUTOR, Victim.QUERY,
)  # fmt: skip
_NAME_PARTS: Final = ("-eu", "/0", "-", "/2026", "-driver")
_NAMES: Final = 101  # a prime: lengths of names differ for as many rounds


@dataclass(frozen=True)
class Round:
    """One query or batch write that is killed once and begins again until all rows are copied.

    Attributes:
        number: from 1; with the seed of the campaign it makes the round again.
        victim: the process that is killed.
        step: the victim is killed when this step is complete; None: at a random point.
        moment: the random point, as a part of the time that a query takes without a kill.
        rows: the number of input rows; a streaming query copies them in two micro-batches.
        tasks: into which the rows of a batch are spread; 0: as the source has them.
        away_s: how long a killed broker stays away.
        is_batch: a batch write of all rows, instead of a streaming query.
    """

    number: int
    victim: Victim
    step: CrashStep | None
    moment: float
    rows: int
    tasks: int
    away_s: float
    is_batch: bool = False

    def __str__(self) -> str:
        when = f"at {self.moment:.0%} of the time" if self.step is None else f"after {self.step}"
        return f"{self.victim} {when}{', batch write' * self.is_batch}"


def rounds(seed: int, count: int) -> list[Round]:
    """The rounds of a campaign: first every step with every victim, then random points.

    The first `count` of an endless list, in an order that depends on the seed. Rounds that need a
    cluster with executors come last, because they share a session of their own.
    """
    order = random.Random(seed)
    steps = [(victim, step) for step in STEPS_OF_TASKS for victim in OF_A_TASK]
    steps += [(victim, step) for step in STEPS_OF_THE_DRIVER for victim in OF_THE_DRIVER]
    order.shuffle(steps)
    points = _points(steps)
    made = [_round(seed, number, *next(points)) for number in range(1, count + 1)]
    return sorted(made, key=lambda each: each.victim is Victim.EXECUTOR)


def _points(steps: list[tuple[Victim, CrashStep]]) -> Iterator[tuple[Victim, CrashStep | None]]:
    yield from steps
    while True:
        for victim in _AT_RANDOM:
            yield victim, None


def _round(seed: int, number: int, victim: Victim, step: CrashStep | None) -> Round:
    choices = random.Random(f"{seed} {number}")
    return Round(
        number,
        victim,
        step,
        moment=choices.random(),
        rows=choices.randrange(40, 161),
        tasks=choices.choice((0, 0, 2, 3)),
        away_s=choices.choice((0.0, 0.0, 0.2, 1.0, 3.0)),
        is_batch=choices.random() < _BATCH_WRITES and victim is not Victim.QUERY,
    )


def write_id(number: int, attempt: int) -> str:
    """The name of a batch write: of two names in a campaign, one is often the other's beginning.

    Args:
        attempt: of the round; its names differ.
    """
    length = number * 37 % _NAMES  # shorter names come after longer ones, and before them
    parts = (_NAME_PARTS[each % len(_NAME_PARTS)] for each in range(length))
    return f"orders{'x' * (number // _NAMES)}{''.join(parts)}{'~' * attempt}"
