"""Common parts of the members of both protocols: requests and commits.

A member starts at the offset that its predecessor committed, and its own commits only grow. A
committed offset that goes back therefore comes from a member that should have been refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from ottla.coordinator.groups import ClaimedMember, Groups
from ottla.coordinator.moment import Moment
from ottla.coordinator.offsets import OffsetToCommit
from ottla.coordinator.outcome import Outcome, Producer
from ottla.protocol.errors import Code
from tests.coordinator.consumer.conversation import FakeTopics

from ..network import LOST, Crashed, Network, Request, always
from ..scheduler import Process, Resume, Scheduler, Steps, Wait
from .coordinator import Coordinator, Decide
from .oracle import Held, Oracle, Promise

RETRIABLE: Final = (
    LOST,
    Code.NOT_COORDINATOR,
    Code.COORDINATOR_NOT_AVAILABLE,
    Code.UNKNOWN_SERVER_ERROR,  # a batch was too large; the limit is corrected at the end
)
FENCING: Final = (
    Code.UNKNOWN_MEMBER_ID,
    Code.ILLEGAL_GENERATION,
    Code.STALE_MEMBER_EPOCH,
    Code.FENCED_INSTANCE_ID,
)
TRANSACTION_MS: Final = 1_500
_USUAL_PATIENCE_MS: Final = 600


@dataclass
class Timing:
    """Timeouts of all members of a group, in ms."""

    session_ms: int = 3_000
    heartbeat_ms: int = 800
    rebalance_ms: int = 4_000
    commit_ms: int = 500


class PatientNetwork(Network):
    """The network, for requests with a long timeout."""

    def ask(
        self,
        name: str,
        request: Request,
        *,
        patience_ms: int = _USUAL_PATIENCE_MS,
        details: tuple[object, ...] = (),
        only_while: Callable[[], bool] = always,
    ) -> Wait:
        """Send a request and wait for the first answer; LOST after the timeout."""

        def wait(resume: Resume) -> None:
            is_open = True

            def answer(result: Any) -> None:
                nonlocal is_open
                if is_open:
                    is_open = False
                    self._scheduler.note(f"{name} answered", *details, result)
                    resume(result)

            def arrive() -> None:
                if only_while():
                    request(lambda result: self._carry(name, lambda: answer(result)))

            self._scheduler.note(name, *details)
            self._carry(name, arrive)
            self._scheduler.after(patience_ms, lambda: answer(LOST))

        return wait


@dataclass
class Surroundings:
    """The simulated environment of a member."""

    scheduler: Scheduler
    network: PatientNetwork
    coordinator: Coordinator
    topics: FakeTopics
    oracle: Oracle
    timing: Timing
    is_calm: bool = False


class Transaction:
    """A transaction of one producer, and its transaction coordinator, which always ends it."""

    def __init__(self, around: Surroundings, producer: Producer) -> None:
        self.producer = producer
        self.is_open = True
        self.has_ended = False
        self.promises: list[Promise] = []
        self._around = around
        around.scheduler.after(TRANSACTION_MS, lambda: self.end(commit=False))

    def end(self, *, commit: bool) -> None:
        """Write the marker, now or as soon as possible."""
        if self.is_open:
            self.is_open = False
            self._write(commit)

    def _write(self, commit: bool) -> None:
        around = self._around
        try:
            around.coordinator.write_marker(self.producer, commit=commit)
        except Crashed:
            around.scheduler.after(100, lambda: self._write(commit))
            return
        around.scheduler.note("transaction ended", commit)
        self.has_ended = True
        if commit:
            for promise in self.promises:
                around.oracle.keep(promise)


class Client:
    """The process of a member.

    Attributes:
        generation: its generation or member epoch.
        owned: the partitions that it uses.
        is_stable: it has its assignment and may commit.
        was_stalled: it was paused so long that it may have been fenced.
    """

    is_classic = True

    def __init__(
        self,
        around: Surroundings,
        group_id: str,
        name: str,
        *,
        instance: str | None,
        topics: Iterable[str],
        regex: str = "",
        producer_id: int,
    ) -> None:
        self.around = around
        self.group_id = group_id
        self.name = name
        self.instance = instance
        self.topics = frozenset(topics)
        self.regex = regex
        self.process = Process(name)
        self.member_id = ""
        self.generation = -1
        self.owned: frozenset[Held] = frozenset()
        self.is_stable = False
        self.was_stalled = False
        self._producer = Producer(producer_id, 0)
        self._transaction: Transaction | None = None
        self._positions: dict[Held, int] = {}
        self._commits: Counter[Held] = Counter()

    @property
    def topics_now(self) -> frozenset[str]:
        """The existing topics of its subscription."""
        known = self.around.topics.names()
        asked = self.topics | frozenset(self.regex.split("|"))
        return frozenset(name for name in known if name in asked)

    def start(self) -> None:
        """Start the process."""
        scheduler = self.around.scheduler
        self.around.oracle.holders.append(self)
        scheduler.spawn(self.process, self.live())
        scheduler.spawn(self.process, self._commit_now_and_then())

    def live(self) -> Steps[None]:
        raise NotImplementedError

    def leave(self) -> Steps[None]:
        raise NotImplementedError

    def die(self) -> None:
        """Stop without a request."""
        self.process.is_alive = False
        self.owned = frozenset()
        self.is_stable = False
        if self in self.around.oracle.holders:
            self.around.oracle.holders.remove(self)

    def hold(self, owned: Iterable[Held]) -> None:
        """Use these partitions from now on, and no others."""
        owned = frozenset(owned)
        for lost in self.owned - owned:
            self._positions.pop(lost, None)
        self.owned = owned
        if owned:
            self.around.oracle.adopted(self, self.around.coordinator.machine)

    def ask(
        self,
        name: str,
        request: Request,
        *,
        patience_ms: int = _USUAL_PATIENCE_MS,
        details: tuple[object, ...] = (),
        only_while: Callable[[], bool] = always,
    ) -> Steps[Any]:
        return (
            yield self.around.network.ask(
                name, request, patience_ms=patience_ms, only_while=only_while,
                details=(self.name, self.generation, *details),
            )
        )  # fmt: skip

    def backoff(self) -> Wait:
        return self.around.scheduler.sleep(self.around.scheduler.random.randint(20, 120))

    # Commits

    def _commit_now_and_then(self) -> Steps[None]:
        scheduler = self.around.scheduler
        while True:
            yield scheduler.sleep(scheduler.random.randint(50, 2 * self.around.timing.commit_ms))
            if not self.is_stable or not self.owned:
                continue
            held = scheduler.random.choice(sorted(self.owned))
            if held not in self._positions:
                yield from self._fetch(held)
            if held in self._positions:
                if scheduler.random.random() < 0.3 and not self._has_a_transaction():
                    scheduler.spawn(self.process, self._commit_in_transaction(held))
                else:
                    yield from self._commit(held)

    def commit_at_once(self) -> Steps[None]:
        """Commit all its partitions with its present generation, as after a pause."""
        return self._commit_all(self._committer())

    def _commit_all(self, committer: ClaimedMember) -> Steps[None]:
        for held in sorted(self._positions):
            if held in self.owned and held in self._positions:
                if self.around.scheduler.random.random() < 0.4 and not self._has_a_transaction():
                    self.around.scheduler.spawn(
                        self.process, self._commit_in_transaction(held, committer)
                    )
                else:
                    yield from self._commit(held, committer)

    def _has_a_transaction(self) -> bool:
        """A producer has one transaction at a time: a second one would end the first."""
        return self._transaction is not None and not self._transaction.has_ended

    def _committer(self) -> ClaimedMember:
        return ClaimedMember(self.member_id, self.generation, self.instance)

    def _fetch(self, held: Held) -> Steps[None]:
        generation = self.generation

        def decide(machine: Groups, now: Moment) -> Outcome[Any]:
            if not self.is_classic:
                machine.check_fetch(self.group_id, self.member_id, generation)
            topic, _, partition = held
            reply = machine.fetch_offset(self.group_id, topic, partition, require_stable=True)
            return Outcome(reply)

        reply = yield from self.ask("OffsetFetch", self.around.coordinator.serve(decide))
        is_answer = reply is not LOST and not isinstance(reply, Code)
        if is_answer and reply.error == 0 and held in self.owned and self.generation == generation:
            self._positions[held] = max(0, reply.offset)

    def _advance(self, held: Held) -> int:
        self._positions[held] += self.around.scheduler.random.randint(1, 5)
        return self._positions[held]

    def _number(self, held: Held) -> int:
        self._commits[held] += 1
        return self._commits[held]

    def forget_commits(self) -> None:
        """Drop commits under way, because it joins again under its id, maybe in the same epoch.

        A connection keeps the order: an earlier commit arrives before the join or never.
        """
        for held in self._commits:
            self._commits[held] += 1

    def _promise(self, held: Held, offset: int) -> Promise:
        return self.around.oracle.promise((self.group_id, held.topic, held.partition), offset)

    def _request(self, held: Held, decide: Decide) -> Request:
        """A commit for a topic that must exist at the arrival."""

        def checked(machine: Groups, now: Moment) -> Outcome[Any]:
            facts = self.around.topics.by_name(held.topic)
            if facts is None or facts.topic_id != held.topic_id:
                return Outcome((Code.UNKNOWN_TOPIC_OR_PARTITION,))
            return decide(machine, now)

        return self.around.coordinator.serve(checked)

    @staticmethod
    def _to_commit(held: Held, offset: int) -> OffsetToCommit:
        return OffsetToCommit(held.topic, held.partition, offset, topic_id=held.topic_id)

    def _commit(self, held: Held, committer: ClaimedMember | None = None) -> Steps[None]:
        offset = self._advance(held)
        committer = committer or self._committer()
        promise = self._promise(held, offset)
        number = self._number(held)
        codes = yield from self.ask(
            "OffsetCommit",
            self._request(
                held,
                lambda machine, now: machine.commit(
                    self.group_id, committer,
                    [self._to_commit(held, offset)], now=now,
                ),
            ),
            details=(held.topic, held.partition, offset),
            only_while=lambda: number == self._commits[held],  # a connection keeps their order
        )  # fmt: skip
        if codes == (Code.NONE,):
            self.around.oracle.keep(promise)
        self._received(codes)

    def _commit_in_transaction(
        self, held: Held, committer: ClaimedMember | None = None
    ) -> Steps[None]:
        offset = self._advance(held)
        committer = committer or self._committer()
        number = self._number(held)
        transaction = self._transaction = Transaction(self.around, self._producer)
        transaction.promises.append(self._promise(held, offset))
        codes = yield from self.ask(
            "TxnOffsetCommit",
            self._request(
                held,
                lambda machine, now: machine.commit_in_transaction(
                    self.group_id, committer, self._producer,
                    [self._to_commit(held, offset)], now=now,
                ),
            ),
            details=(held.topic, held.partition, offset),
            only_while=lambda: transaction.is_open and number == self._commits[held],
        )  # fmt: skip
        random = self.around.scheduler.random
        yield self.around.scheduler.sleep(random.randint(0, random.choice([100, 1_200])))
        transaction.end(commit=codes == (Code.NONE,) and random.random() < 0.8)
        self._received(codes)

    def _received(self, codes: Any) -> None:
        if codes in FENCING:
            self.around.scheduler.note("commit refused", codes.name)
            if self.was_stalled:
                self.around.scheduler.note("zombie refused", codes.name)
                self.was_stalled = False
