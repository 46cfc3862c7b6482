"""A coordinator of groups over a log that is compacted, refuses appends and crashes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

from ottla.coordinator.groups import Groups
from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import Outcome
from ottla.protocol.errors import Code, Refused

from .groups.log import Log, replay
from .network import Crashed
from .scheduler import START_MS, Scheduler

Reply = TypeVar("Reply")
Decide = Callable[[Groups, Moment], Outcome[Reply]]

_BACK_MS: Final = 300


class GroupCoordinator(ABC):
    """Runs the machine of one partition of `__consumer_offsets`, as the shard does.

    Attributes:
        machine: None while the coordinator is not there.
        refused: the chance that the log refuses records.
        crashes: the chance that an append is the last one.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.refused = self.crashes = 0.0
        self._log = Log()
        self.machine: Groups | None = self.fresh()

    @abstractmethod
    def fresh(self) -> Groups:
        """A machine that has read nothing."""

    @abstractmethod
    def contents(self, machine: Groups) -> dict[str, Any]:
        """What the log holds of all groups."""

    def carry_out(self, machine: Groups, effect: Any) -> None:  # noqa: B027  # most have none
        """Do what a decision asks for, besides its records."""

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
            self.carry_out(machine, effect)
        return outcome.reply

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
        self.machine = self.fresh()
        replay(self.machine, self._log.compacted(self.scheduler.random))

    def check_replay(self) -> None:
        """The machine is as a new one that has read the log."""
        assert self.machine is not None
        again = self.fresh()
        replay(again, self._log.stored())
        assert self.contents(again) == self.contents(self.machine)
