"""The coordinator of one partition of `__consumer_offsets`, and the share coordinator behind it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar
from uuid import UUID

from ottla.coordinator.classic.requests import GroupSettings
from ottla.coordinator.groups import Groups
from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import Outcome
from ottla.coordinator.share.effects import InitializeShareState
from ottla.coordinator.share.groups import ShareSetup
from ottla.coordinator.share.kind import ShareKind
from ottla.coordinator.share.requests import ShareGroupLimits
from ottla.protocol.errors import Code, Refused
from tests.coordinator.consumer.conversation import FakeTopics

from ..groups.log import Log, replay
from ..network import Crashed
from ..scheduler import START_MS, Scheduler

Reply = TypeVar("Reply")
Decide = Callable[[Groups, Moment], Outcome[Reply]]

LIMITS: Final = ShareGroupLimits(3_000, 500, 700)
SPACE: Final = tuple(f"m{number}" for number in range(6))
RETRY_MS: Final = 4_000
_BACK_MS: Final = 300


class Coordinator:
    """Runs the machine, as the shard does.

    Attributes:
        machine: None while the coordinator is not there.
        refused: the chance that the log refuses records.
        crashes: the chance that an append is the last one.
        fails: the chance that share state is not initialized.
        late_ms: the longest initialization.
    """

    def __init__(self, scheduler: Scheduler, topics: FakeTopics) -> None:
        self.scheduler = scheduler
        self.topics = topics
        self.refused = self.crashes = self.fails = 0.0
        self.late_ms = 1_000
        self._log = Log()
        self.machine: Groups | None = self._fresh()

    def _fresh(self) -> Groups:
        setup = ShareSetup(self.topics, lambda _: LIMITS, len(SPACE) - 2, RETRY_MS)
        return Groups(GroupSettings(), {"share": lambda: setup})

    @property
    def now(self) -> Moment:
        return Moment(self.scheduler.now_ms, self.scheduler.now_ms - START_MS)

    def run(self, decide: Decide[Reply]) -> Reply:
        """Decide, append, replay, carry out. Raises Refused, Crashed."""
        machine = self.machine
        if machine is None:
            raise Refused(Code.NOT_COORDINATOR)
        self._tick(machine)
        return self._commit(machine, decide(machine, self.now))

    def tick(self) -> None:
        """Run the due timers."""
        if self.machine is not None:
            with suppress(Crashed):
                self._tick(self.machine)

    def _tick(self, machine: Groups) -> None:
        due_ms = machine.next_deadline(self.now)
        if due_ms is None or due_ms > self.now.monotonic_ms:
            return
        for outcome in machine.tick(self.now):
            try:
                self._commit(machine, outcome)
            except Refused:
                return  # the machine tries again

    def _commit(self, machine: Groups, outcome: Outcome[Reply]) -> Reply:
        random = self.scheduler.random
        if outcome.records:
            if random.random() < self.refused:
                self.scheduler.note("append refused")
                raise Refused(Code.COORDINATOR_NOT_AVAILABLE)
            dies = random.random() < self.crashes
            if dies and random.random() < 0.5:
                self.crash("before an append")
                raise Crashed
            self._log.append(outcome.records, None, self.scheduler.now_ms)
            if dies:
                self.crash("after an append")
                raise Crashed
            for record in outcome.records:
                machine.replay(record)
        for effect in outcome.effects:
            if isinstance(effect, InitializeShareState):
                self._initialize(machine, effect)
        return outcome.reply

    def _initialize(self, machine: Groups, order: InitializeShareState) -> None:
        """Have the share coordinator initialize state, some time later."""
        random = self.scheduler.random
        partitions: dict[UUID, frozenset[int]] = {}
        for topic_id, index, start_offset in order.partitions:
            assert start_offset in (-1, 0), order
            partitions[topic_id] = partitions.get(topic_id, frozenset()) | {index}
        fails = random.random() < self.fails

        def done() -> None:
            if self.machine is not machine:
                return  # the shard that waited for it is closed
            self.scheduler.note("state fails" if fails else "state initialized", order.group_id)
            kind = machine.kind(ShareKind)
            note = kind.not_initialized if fails else kind.initialized
            self.attempt(lambda _, __: note(order.group_id, partitions))

        self.scheduler.after(random.randint(0, self.late_ms), done)

    def attempt(self, decide: Decide[Reply]) -> Reply | None:
        """As `run`; None if it is refused or the coordinator crashes."""
        try:
            return self.run(decide)
        except (Refused, Crashed):
            return None

    def crash(self, why: str) -> None:
        """Lose the memory; the log is there again after a while."""
        if self.machine is not None:
            self.scheduler.note("coordinator crashes", why)
            self.machine = None
            self.scheduler.after(_BACK_MS, self._come_back)

    def _come_back(self) -> None:
        self.machine = self._fresh()
        replay(self.machine, self._log.compacted(self.scheduler.random))

    def check_replay(self) -> None:
        """The machine is as a new one that has read the log."""
        assert self.machine is not None
        again = self._fresh()
        replay(again, self._log.stored())
        assert contents(again) == contents(self.machine)


def contents(machine: Groups) -> dict[str, Any]:
    """What the log holds of all groups."""
    return {
        group_id: (
            group.epoch,
            group.metadata_hash,
            group.target_epoch,
            group.target_timestamp_ms,
            dict(group.members),
            dict(group.targets),
            dict(group.subscribers),
            group.state_topics,
        )
        for group_id, group in machine.kind(ShareKind).groups.items()
    }
