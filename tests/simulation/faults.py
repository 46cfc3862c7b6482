"""Faults of a run: crashes, elections, killed and paused programs, clock steps, refused markers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions.coordinator import DAY_MS, Transactions
from ottla.protocol.errors import Refused
from tests.broker.runtime.marker_table import (
    COUNTS_AS_WRITTEN,
    MARKER_ANSWERS,
    NAMED,
    STAYS_PREPARED,
)

from .application import Program
from .cluster import EXPIRATION_MS, OFFSETS, Cluster
from .network import Crashed

_CROWD: Final = 30
_CROWDS_TIMEOUT_MS: Final = 1_500


@dataclass(frozen=True, slots=True)
class Plan:
    """Weights of the faults, and the time between two faults in ms."""

    every_ms: int
    crash: int = 1
    cut: int = 4
    move: int = 2
    kill: int = 2
    sleep: int = 2
    jump: int = 1
    step: int = 1
    refuse: int = 2
    crowd: int = 1


# A partition with records of a transaction never answers with an error that settles it.
_REFUSALS = [code for code in NAMED if MARKER_ANSWERS[code] is not COUNTS_AS_WRITTEN]
_HOUR_MS = 60 * 60 * 1000


class Faults:
    """Injects faults at random times until `stop`."""

    def __init__(self, cluster: Cluster, programs: list[Program], plan: Plan) -> None:
        self._cluster = cluster
        self._scheduler = cluster.scheduler
        self._random = cluster.scheduler.random
        self._programs = programs
        self._plan = plan
        self._is_stopped = False
        kinds: list[tuple[Callable[[], None], int]] = [
            (self._crash, plan.crash),
            (self._cut, plan.cut),
            (self._move, plan.move),
            (self._kill, plan.kill),
            (self._sleep, plan.sleep),
            (self._jump, plan.jump),
            (self._step, plan.step),
            (self._refuse, plan.refuse),
            (self._crowd, plan.crowd),
        ]
        self._kinds = [kind for kind, weight in kinds for _ in range(weight)]
        self._later()

    def stop(self) -> None:
        self._is_stopped = True
        for hosted in self._cluster.hosted.values():
            hosted.disk.cut_at = 0
            hosted.marker_refusals.clear()

    def _later(self) -> None:
        self._scheduler.after(self._random.randint(1, 2 * self._plan.every_ms), self._happen)

    def _happen(self) -> None:
        if self._is_stopped:
            return
        self._random.choice(self._kinds)()
        for program in self._programs:
            if not program.process.is_alive and self._random.random() < 0.7:
                program.start()
        self._later()

    def _crash(self) -> None:
        broker = self._random.randrange(len(self._cluster.brokers))
        if self._cluster.brokers[broker].is_alive:
            self._cluster.crash(broker)

    def _cut(self) -> None:
        """Let a disk fail at one of its next operations."""
        hosted = self._random.choice(list(self._cluster.hosted.values()))
        operations = self._random.randint(1, 6)
        self._scheduler.note("disk will be cut", *hosted.partition, operations)
        hosted.disk.cut_at = hosted.disk.operations + operations

    def _move(self) -> None:
        partitions = self._random.choice(
            [list(self._cluster.hosted), list(self._cluster.coordinators)]
        )
        hosted = self._cluster.hosted[self._random.choice(partitions)]
        self._cluster.move(hosted, leaves_zombie=self._random.random() < 0.5)

    def _kill(self) -> None:
        program = self._random.choice(self._programs)
        if program.process.is_alive:
            self._scheduler.note("program killed", program.process.name)
            program.process.is_alive = False

    def _sleep(self) -> None:
        """Pause a program; another process may start before it resumes."""
        program = self._random.choice(self._programs)
        sleep_ms = self._random.choice([100, 500, 2_500])
        self._scheduler.note("program sleeps", program.process.name, sleep_ms)
        program.process.paused_until_ms = self._scheduler.now_ms + sleep_ms
        if self._random.random() < 0.5:
            program.start()

    def _crowd(self) -> None:
        """Many producers start, some begin a transaction, and all stop."""
        self._scheduler.note("crowd")
        begins = self._random.random() < 0.5
        for number in range(_CROWD):
            transactional_id = f"one of a crowd {number}"
            hosted = self._cluster.hosted[self._cluster.coordinator_of(transactional_id)]
            with suppress(Refused, Crashed):
                producer = self._cluster.run(hosted, partial(_init, transactional_id))
                if begins and isinstance(producer, Producer):
                    partitions = self._cluster.data
                    self._cluster.run(
                        hosted, partial(_begin, transactional_id, producer, partitions)
                    )

    def _jump(self) -> None:
        jump_ms = self._random.choice([700, 1_500, 4_000, 4_000, DAY_MS, EXPIRATION_MS + DAY_MS])
        self._scheduler.note("clock jumps", jump_ms)
        if jump_ms >= DAY_MS:
            self._cluster.network.forget()
        self._scheduler.jump(jump_ms)
        if jump_ms >= DAY_MS:
            self._cluster.expire_producers()

    def _step(self) -> None:
        """Step the wall clock; the monotonic clock stays."""
        step_ms = self._random.choice([-_HOUR_MS, -2_000, -500, 500, 2_000, _HOUR_MS])
        self._scheduler.note("wall clock steps", step_ms)
        self._cluster.clock.step(step_ms)

    def _refuse(self) -> None:
        """A partition refuses the next markers with any error that Kafka's leader may answer."""
        cluster, code = self._cluster, self._random.choice(_REFUSALS)
        hosted = cluster.hosted[self._random.choice([*cluster.data, OFFSETS])]
        times = self._random.randint(1, 4)
        self._scheduler.note("markers will be refused", *hosted.partition, code.name, times)
        hosted.marker_refusals = [code] * times
        cluster.refused_for_good |= MARKER_ANSWERS[code] is STAYS_PREPARED


def _init(transactional_id: str, machine: Transactions, now: Moment) -> Outcome[Any]:
    return machine.init_producer_id(
        transactional_id, timeout_ms=_CROWDS_TIMEOUT_MS, now_ms=now.wall_ms
    )


def _begin(
    transactional_id: str,
    producer: Producer,
    partitions: Any,
    machine: Transactions,
    now: Moment,
) -> Outcome[None]:
    return machine.add_partitions(transactional_id, producer, partitions, now_ms=now.wall_ms)
