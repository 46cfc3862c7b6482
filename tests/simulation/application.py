"""Programs with transactions: one writes orders, one reads orders and writes results.

A program has one transactional id and is restarted often. A new process may begin while the last
one is only paused. Its transactions and their results go into the history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ottla.coordinator.outcome import Producer
from ottla.coordinator.transactions.states import Partition
from ottla.protocol.errors import Code

from . import requests
from .cluster import OFFSETS, Cluster
from .consumer import Reader
from .history import Attempt, History, Known
from .producer import AbortableError, FencedError, TransactionalProducer
from .scheduler import Process, Steps

GROUP: Final = "accounting"
_MOST_READ: Final = 6
_AT_THE_END: Final = 2


@dataclass(frozen=True, slots=True)
class Habits:
    """Habits of a program: times in ms, chances of version 2 and of aborting.

    Attributes:
        patience: chance of a retry after a request without an answer.
        in_two_phases: another system decides the transactions, and a new process completes them.
    """

    bumps: float
    timeout_ms: int
    longest_sleep_ms: int
    patience: float
    in_two_phases: bool = False
    gives_up: float = 0.15


class Program:
    """A transactional id and the processes that use it.

    Attributes:
        prepared: the producer of the transaction that another system, which never fails, has
            committed and no process has completed; in two phases only (KIP-939).
        source: the partition that it consumes; None if it only writes.
        incarnation: number of its newest process.
        committed: number of transactions that the newest process has committed.
        has_read_all: its last fetch of the source returned nothing new.
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
        self.prepared: Producer | None = None
        self.incarnation = 0
        self.committed = 0
        self.has_read_all = False
        self.process = Process("none")
        self.process.is_alive = False
        self._processes: list[Process] = []

    def start(self) -> None:
        """Start a new process, even if the last one still runs."""
        self.incarnation += 1
        self.committed = 0
        self.has_read_all = False
        random = self.cluster.scheduler.random
        self.process = Process(f"{self.transactional_id} {self.incarnation}")
        self._processes.append(self.process)
        # Without bumps, two transactions have one epoch: the other system cannot tell them apart.
        bumps = random.random() < self.habits.bumps or self.habits.in_two_phases
        self.cluster.scheduler.note("program starts", self.process.name, bumps)
        producer = TransactionalProducer(
            self.cluster, self.process, self.transactional_id,
            bumps=bumps, timeout_ms=self.habits.timeout_ms, patience=self.habits.patience,
            in_two_phases=self.habits.in_two_phases,
        )  # fmt: skip
        self.cluster.scheduler.spawn(self.process, self._live(producer, self.process))

    def complete(self) -> None:
        """Start a process that only completes a prepared transaction."""
        self.incarnation += 1
        self.process = Process(f"{self.transactional_id} {self.incarnation}")
        self._processes.append(self.process)
        producer = TransactionalProducer(
            self.cluster, self.process, self.transactional_id,
            bumps=True, timeout_ms=self.habits.timeout_ms, in_two_phases=True,
        )  # fmt: skip
        self.cluster.scheduler.spawn(self.process, self._completed(producer, self.process))

    def _completed(self, producer: TransactionalProducer, process: Process) -> Steps[None]:
        while process.is_alive:
            try:
                yield from self._take_over(producer, self.incarnation)
            except FencedError:  # by a request of an earlier process that arrived late
                yield producer.backoff()
                continue
            process.is_alive = False

    def _take_over(self, producer: TransactionalProducer, incarnation: int) -> Steps[None]:
        """Complete what the last process left, as the other system decided.

        The other system refuses a process with a successor. Raises FencedError.
        """
        while (ongoing := (yield from producer.take_over())) is not None:
            if incarnation != self.incarnation:
                raise FencedError("a successor")
            commit = self.prepared == ongoing
            try:
                yield from producer.end(commit=commit)
            except AbortableError:
                yield producer.backoff()
                continue
            self.cluster.scheduler.note("prepared transaction ended", "commit" if commit else "")
            break
        if incarnation == self.incarnation:
            self.prepared = None

    def _commit_prepared(
        self, producer: TransactionalProducer, attempt: Attempt, incarnation: int
    ) -> Steps[None]:
        """Commit in the other system, which refuses a process with a successor, and then here."""
        if incarnation != self.incarnation:
            raise FencedError("a successor")
        self.prepared = producer.me
        self._note(attempt, Known.COMMITTED)
        try:
            yield from producer.end(commit=True)
        except AbortableError as failed:
            raise FencedError(failed.code) from failed
        if incarnation == self.incarnation:
            self.prepared = None

    def stop(self) -> None:
        """Kill all its processes."""
        for process in self._processes:
            process.is_alive = False

    def _live(self, producer: TransactionalProducer, process: Process) -> Steps[None]:
        scheduler, incarnation = self.cluster.scheduler, self.incarnation
        try:
            if self.habits.in_two_phases:
                yield from self._take_over(producer, incarnation)
            else:
                yield from producer.init()
            reader = None
            while True:
                if self.source is None:
                    yield from self._transaction(producer, incarnation, None)
                else:
                    if reader is None:
                        offset = yield from self._committed_offset(producer)
                        reader = Reader(self.cluster, process, self.source, offset)
                    if not (yield from self._transaction(producer, incarnation, reader)):
                        reader = None  # no transaction contains the records read last
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
        self, producer: TransactionalProducer, incarnation: int, reader: Reader | None
    ) -> Steps[bool]:
        """Run one transaction; True if it was committed. Raises FencedError."""
        read_from = -1 if reader is None else reader.position
        found: list[Any] = []
        if reader is not None:
            found = yield from reader.poll()
            self.has_read_all = not found and reader.last_stable_offset >= 0
            if not found:
                return True
            found = found[:_MOST_READ]
            reader.position = found[-1][0] + 1
        attempt = self.history.begin(self.transactional_id, incarnation)
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
                self._note(attempt, Known.ABORTED)
                return False
            attempt.asked_to_commit = True
            if self.habits.in_two_phases:
                yield from self._commit_prepared(producer, attempt, incarnation)
            else:
                yield from producer.end(commit=True)
        except AbortableError as error:
            self._note(attempt, Known.NOTHING if producer.is_unsure else Known.ABORTED)
            yield from producer.abort(error)
            return False
        except FencedError:
            if attempt.known is not Known.COMMITTED:
                self._note(attempt, Known.NOTHING if producer.is_unsure else Known.ABORTED)
            raise
        if attempt.known is not Known.COMMITTED:
            self._note(attempt, Known.COMMITTED)
        if incarnation == self.incarnation:
            self.committed += 1
        return True

    def _write(
        self, producer: TransactionalProducer, attempt: Attempt, found: list[Any]
    ) -> Steps[None]:
        random = self.cluster.scheduler.random
        if self.source is not None:
            partition = self.targets[0]
            values = [f"{attempt.tag}|{offset}" for offset, _ in found]
            attempt.sent[partition] = values
            yield from producer.send([(partition, values)])
            return
        number = 0
        for _ in range(random.randint(1, 2)):
            sendings = []
            for partition in random.choices(self.targets, k=random.randint(1, 3)):
                values = [f"{attempt.tag}#{number + at}" for at in range(random.randint(1, 2))]
                number += len(values)
                attempt.sent.setdefault(partition, []).extend(values)
                sendings.append((partition, values))
            yield from producer.send(sendings)

    def _note(self, attempt: Attempt, known: Known) -> None:
        attempt.known = known
        self.cluster.scheduler.note(f"client sees {known.name.lower()}", attempt.tag)
