"""Programs that use transactions: one writes orders, one turns orders into results exactly once.

A program has one transactional id and many lives; a new one may begin while the last one is not
dead but asleep. What it tries and hears goes into the history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ottla.coordinator.transactions.states import Partition
from ottla.protocol.errors import Code

from . import requests
from .cluster import OFFSETS, Cluster
from .consumer import Reader
from .history import Attempt, History, Told
from .producer import AbortableError, FencedError, TransactionalProducer
from .scheduler import Process, Steps

GROUP: Final = "accounting"
_MOST_READ: Final = 6
_AT_THE_END: Final = 2


@dataclass(frozen=True, slots=True)
class Habits:
    """How a program goes about it; times in ms, chances of version 2 and of giving up.

    Attributes:
        patience: how likely it tries again what had no answer.
    """

    bumps: float
    timeout_ms: int
    longest_sleep_ms: int
    patience: float
    gives_up: float = 0.15


class Program:
    """A transactional id and who uses it.

    Attributes:
        source: what it consumes; None when it only writes.
        life: of its newest incarnation.
        committed: how many transactions the newest incarnation has committed.
        has_read_all: its last look at the source found nothing new.
    """

    def __init__(
        self,
        cluster: Cluster,
        history: History,
        transactional_id: str,
        habits: Habits,
        *,
        targets: tuple[Partition, ...],
        source: Partition | None = None,
    ) -> None:
        self.cluster = cluster
        self.history = history
        self.transactional_id = transactional_id
        self.habits = habits
        self.targets = targets
        self.source = source
        self.life = 0
        self.committed = 0
        self.has_read_all = False
        self.process = Process("nobody")
        self.process.is_alive = False
        self._processes: list[Process] = []

    def start(self) -> None:
        """Begin another life, whatever became of the last one."""
        self.life += 1
        self.committed = 0
        self.has_read_all = False
        random = self.cluster.scheduler.random
        self.process = Process(f"{self.transactional_id} {self.life}")
        self._processes.append(self.process)
        bumps = random.random() < self.habits.bumps
        self.cluster.scheduler.note("program starts", self.process.name, bumps)
        producer = TransactionalProducer(
            self.cluster, self.process, self.transactional_id,
            bumps=bumps, timeout_ms=self.habits.timeout_ms, patience=self.habits.patience,
        )  # fmt: skip
        self.cluster.scheduler.spawn(self.process, self._live(producer, self.process))

    def stop(self) -> None:
        """All its lives are over."""
        for process in self._processes:
            process.is_alive = False

    def _live(self, producer: TransactionalProducer, process: Process) -> Steps[None]:
        scheduler, life = self.cluster.scheduler, self.life
        try:
            yield from producer.init()
            reader = None
            while True:
                if self.source is None:
                    yield from self._transaction(producer, life, None)
                else:
                    if reader is None:
                        offset = yield from self._committed_offset(producer)
                        reader = Reader(self.cluster, process, self.source, offset)
                    if not (yield from self._transaction(producer, life, reader)):
                        reader = None  # what was read belongs to nobody
                if self.cluster.is_calm and self.source is None and self.committed >= _AT_THE_END:
                    return
                longest_ms = 30 if self.cluster.is_calm else self.habits.longest_sleep_ms
                yield scheduler.sleep(scheduler.random.randint(0, longest_ms))
        except FencedError:
            process.is_alive = False

    def _committed_offset(self, producer: TransactionalProducer) -> Steps[int]:
        assert self.source is not None
        source = self.source
        while True:
            result = yield from producer.ask(
                "OffsetFetch",
                OFFSETS,
                lambda hosted: requests.fetch_offset(hosted, GROUP, source),
            )
            if isinstance(result, int) and not isinstance(result, Code):
                return max(result, 0)
            yield producer.backoff()

    def _transaction(
        self, producer: TransactionalProducer, life: int, reader: Reader | None
    ) -> Steps[bool]:
        """One transaction; whether it was committed. Raises FencedError."""
        read_from = -1 if reader is None else reader.position
        found: list[Any] = []
        if reader is not None:
            found = yield from reader.poll()
            self.has_read_all = not found and reader.last_stable_offset >= 0
            if not found:
                return True
            found = found[:_MOST_READ]
            reader.position = found[-1][0] + 1
        attempt = self.history.begin(self.transactional_id, life)
        producer.begin()
        try:
            yield from self._write(producer, attempt, found)
            if reader is not None:
                attempt.read_from, attempt.read_to = read_from, reader.position
                assert self.source is not None
                yield from producer.send_offset(GROUP, self.source, reader.position)
            chance = self.cluster.scheduler.random.random()
            if chance < self.habits.gives_up and not self.cluster.is_calm:
                yield from producer.abort(None)
                self._note(attempt, Told.ABORTED)
                return False
            attempt.asked_to_commit = True
            yield from producer.end(commit=True)
        except AbortableError as error:
            self._note(attempt, Told.NOTHING if producer.is_unsure else Told.ABORTED)
            yield from producer.abort(error)
            return False
        except FencedError:
            self._note(attempt, Told.NOTHING if producer.is_unsure else Told.ABORTED)
            raise
        self._note(attempt, Told.COMMITTED)
        if life == self.life:
            self.committed += 1
        return True

    def _write(
        self, producer: TransactionalProducer, attempt: Attempt, found: list[Any]
    ) -> Steps[None]:
        random = self.cluster.scheduler.random
        if self.source is not None:
            place = self.targets[0]
            values = [f"{attempt.tag}|{offset}" for offset, _ in found]
            attempt.sent[place] = values
            yield from producer.send([(place, values)])
            return
        number = 0
        for _ in range(random.randint(1, 2)):
            sendings = []
            for place in random.choices(self.targets, k=random.randint(1, 3)):
                values = [f"{attempt.tag}#{number + at}" for at in range(random.randint(1, 2))]
                number += len(values)
                attempt.sent.setdefault(place, []).extend(values)
                sendings.append((place, values))
            yield from producer.send(sendings)

    def _note(self, attempt: Attempt, told: Told) -> None:
        attempt.told = told
        self.cluster.scheduler.note(f"client told {told.name.lower()}", attempt.tag)
