"""The group coordinator: the real machine, run like a shard runs it, with crashes at its appends.

Decide, append, replay, carry out effects, reply; timers that are due run first. A restart loads the
log, complete or compacted, and must restore the earlier state.

This repeats the order of broker/runtime/shards/shard.py instead of running it. The log here has
records and no bytes, so that it can be compacted at random and the oracle sees each record; a
request is a decision and no message, and it is parked without a future. The broker's Shard runs
with the same machine in tests/simulation/cluster.py, where it holds the offsets of transactions;
its parking and its timers are tested in tests/broker/runtime/test_shard.py and
test_shard_timers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from ottla.coordinator.classic.requests import GroupSettings
from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.coordinator.consumer.records import (
    ConsumerRemoved,
    CurrentMember,
    MemberSubscription,
    TargetEpoch,
)
from ottla.coordinator.consumer.regexes import MatchTopics
from ottla.coordinator.consumer.requests import ConsumerGroupSettings
from ottla.coordinator.group_records import GroupRemoved, GroupStored, OffsetRemoved, encode
from ottla.coordinator.groups import Groups
from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import PARKED, Answer, Effect, Notice, Outcome, Producer
from ottla.protocol.batch import spans
from ottla.protocol.errors import Code, Refused
from tests.coordinator.consumer.conversation import ConsumerTalk, FakeTopics
from tests.coordinator.group_conversation import found_by

from ..network import Crashed, Request, Respond
from ..scheduler import Scheduler
from . import log as log_module
from . import states
from .log import Ended, Log
from .oracle import Oracle

Decide = Callable[[Groups, Moment], Outcome[Any]]
DecideParked = Callable[[Groups, Moment, int], Outcome[Any]]

_RETRY_MS: Final = 1_000  # as in broker/runtime/shards/shard.py
_MOST_TICKS_AT_ONCE: Final = 100
_SLICE_ENDS: Final = 0.1
"""Chance that the event loop has other work after a decision of a timer."""
_MOST_TICKS_A_SECOND: Final = 200


@dataclass(frozen=True, slots=True)
class Parking:
    """A parked request: its member, kind and begin; a retry keeps the begin."""

    who: tuple[object, ...]
    respond: Respond
    since_ms: int


class Coordinator:
    """The coordinator of one partition, over all its restarts.

    Args:
        late_ms: the longest delay of its timers.
        refused: chance that the log refuses an append.
        batch_bytes: limit of a batch of the log.

    Attributes:
        machine: None while it is down or loads.
        crashes: number of its crashes.
        wall_step_ms: sum of the steps of its wall clock.
        dies_in: appends until its crash; 0: none planned.
        forgot_to_rebalance: groups that had become classic before a crash. The log does not say
            that their members have to join again, as in Apache Kafka.
        owing: groups with partitions that a cooperative member revoked and no member gets before
            the next rebalance, as in Apache Kafka. The member revoked them in a generation that
            was lost in the crash; or it stopped before, and another member replaced it.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        topics: FakeTopics,
        settings: tuple[GroupSettings, ConsumerGroupSettings],
        oracle: Oracle,
        *,
        late_ms: int,
        refused: float,
        batch_bytes: int,
    ) -> None:
        self.scheduler = scheduler
        self.topics = topics
        self.oracle = oracle
        self.log = Log()
        self.wall_step_ms = 0
        self.dies_in = 0
        self._to_rebalance: set[str] = set()
        self.forgot_to_rebalance: set[str] = set()
        self.owing: set[str] = set()
        self.late_ms = late_ms
        self.refused = refused
        self.batch_bytes = batch_bytes
        self._quiet_until_ms = 0  # the log refused a timer's decision
        self.parked: dict[int, Parking] = {}
        self._talk = ConsumerTalk(topics)
        self._talk.settings, self._talk.consumer_settings = settings
        self._ticket = 0
        self.crashes = 0
        self._armed_ms: int | None = None
        self._ticks: tuple[int, int] = (0, 0)  # a second, and the number of ticks in it
        self._ticks_at_once: tuple[int, int] = (0, 0)
        self.machine: Groups | None = self._fresh()

    def _fresh(self) -> Groups:
        return self._talk.fresh_machine()

    @property
    def now(self) -> Moment:
        return Moment(self.scheduler.now_ms + self.wall_step_ms, self.scheduler.now_ms)

    # Requests

    def serve(self, decide: Decide) -> Request:
        """The work of a request at the coordinator."""
        return self.serve_parked((), lambda machine, now, ticket: decide(machine, now))

    def serve_parked(self, who: tuple[object, ...], decide: DecideParked) -> Request:
        """The same for requests that may be parked; of each kind only the last of `who` counts."""

        def request(respond: Respond) -> None:
            if self.machine is None:
                respond(Code.NOT_COORDINATOR)
                return
            self._ticket += 1
            ticket = self._ticket
            try:
                self._tick_if_due()
                reply = self._commit(decide(self.machine, self.now, ticket))
            except Refused as refused:
                reply = refused.code
            except Crashed:
                return
            finally:
                self._arm()
            since_ms = self.scheduler.now_ms
            for other, parking in list(self.parked.items()):
                if parking.who == who:
                    since_ms = min(since_ms, parking.since_ms)
                    del self.parked[other]
            if reply is not PARKED:
                respond(reply)
                return
            self.scheduler.note("request parked", *who)
            self.parked[ticket] = Parking(who, respond, since_ms)

        return request

    def run(self, decide: Decide) -> Any:
        """Let the machine decide, without a network. Raises Refused, Crashed."""
        if self.machine is None:
            raise Crashed
        try:
            self._tick_if_due()
            return self._commit(decide(self.machine, self.now))
        finally:
            self._arm()

    def write_marker(self, producer: Producer, *, commit: bool) -> None:
        """Write the marker of a transaction. Raises Crashed."""
        if self.machine is None:
            raise Crashed
        self._append((Ended(commit),), producer)
        self._arm()

    def _commit(self, outcome: Outcome[Any]) -> Any:
        if outcome.records:
            try:
                self._append_all(outcome)
            except Refused as refused:
                self._answer(
                    [each for each in outcome.effects if _is_sent_even_if_not_logged(each)]
                )
                if outcome.if_refused is not None:
                    return self._commit(outcome.if_refused(refused.code))
                raise
        self._answer(outcome.effects)
        return outcome.reply

    def _answer(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Notice):
                continue
            if isinstance(effect, MatchTopics):
                assert self.machine is not None
                decide = self.machine.kind(ConsumerKind).matched
                self._commit(decide(effect, found_by(effect), now=self.now))
                continue
            assert isinstance(effect, Answer), effect
            parking = self.parked.pop(effect.ticket, None)
            if parking is not None:
                self.scheduler.note("parked request answered", *parking.who, effect.reply)
                parking.respond(effect.reply)

    def _append_all(self, outcome: Outcome[Any]) -> None:
        """Append one batch, or several if the records are divisible."""
        records = outcome.records
        pieces = list(spans([encode(record) for record in records], max_bytes=self.batch_bytes))
        if outcome.is_atomic and len(pieces) > 1:
            self.scheduler.note("append too large")
            raise Refused(Code.UNKNOWN_SERVER_ERROR)
        if len(pieces) > 1:
            self.scheduler.note("append split")
        for piece in pieces:
            self._append(records[piece], outcome.producer)

    def _append(self, records: tuple[Any, ...], producer: Producer | None) -> None:
        is_marker = isinstance(records[0], Ended)
        if self.refused and not is_marker and self.scheduler.random.random() < self.refused:
            self.scheduler.note("append refused")
            raise Refused(Code.COORDINATOR_NOT_AVAILABLE)  # too few in-sync replicas
        dies = self.dies_in == 1
        self.dies_in = max(0, self.dies_in - 1)
        if dies and self.scheduler.random.random() < 0.5:
            self.crash("before an append")
            raise Crashed
        self.log.append(records, producer, self.now.wall_ms)
        for record in records:
            self._replay(record, producer)
        self._note(records)
        self.oracle.logged(self, records, producer)
        if dies:
            self.crash("after an append")
            raise Crashed

    def _replay(self, record: Any, producer: Producer | None) -> None:
        machine = self.machine
        assert machine is not None
        if isinstance(record, Ended):
            assert producer is not None
            machine.replay_marker(producer, commit=record.commit)
        elif producer is not None:
            machine.replay_pending(record, producer)
        else:
            machine.replay(record)

    def _note(self, records: tuple[Any, ...]) -> None:
        """Count the events that the tests require."""
        kinds = {type(record) for record in records}
        stored = [record for record in records if isinstance(record, GroupStored)]
        if any(record.members for record in stored):
            is_new = ConsumerRemoved not in kinds
            self.scheduler.note("rebalanced" if is_new else "became classic")
            group_ids = {record.group_id for record in stored}
            if is_new:
                self._to_rebalance -= group_ids
                self.forgot_to_rebalance -= group_ids
                self.owing -= group_ids
            else:
                self._to_rebalance |= group_ids
        if GroupRemoved in kinds and MemberSubscription in kinds and CurrentMember in kinds:
            became = len([r for r in records if isinstance(r, CurrentMember)]) > 1
            self.scheduler.note("became a consumer group" if became else "group replaced")
        if TargetEpoch in kinds:
            self.scheduler.note("new assignment")
        removed = [record for record in records if isinstance(record, OffsetRemoved)]
        if removed:
            there = self.oracle.positions
            counts = any((each.group_id, each.topic, each.partition) in there for each in removed)
            self.scheduler.note("offsets expired" if counts else "offsets forgotten")

    # Time

    def _arm(self) -> None:
        if self.machine is None:
            return
        due_ms = self.machine.next_deadline(self.now)
        if due_ms is None or (self._armed_ms is not None and self._armed_ms <= due_ms):
            return
        self._armed_ms = due_ms
        crashes = self.crashes
        late_ms = self.scheduler.random.randint(0, self.late_ms) if self.late_ms else 0

        def wake() -> None:
            if crashes == self.crashes and self._armed_ms == due_ms:
                self._armed_ms = None
                try:
                    self._tick_if_due()
                except Crashed:
                    return
                self._arm()

        quiet_ms = self._quiet_until_ms - self.scheduler.now_ms
        self.scheduler.after(max(0, due_ms - self.scheduler.now_ms, quiet_ms) + late_ms, wake)

    def _tick_if_due(self) -> None:
        assert self.machine is not None
        due_ms = self.machine.next_deadline(self.now)
        if due_ms is None or due_ms > self.scheduler.now_ms:
            return
        if self._quiet_until_ms > self.scheduler.now_ms:
            return
        self._count_tick()
        self.oracle.ticks = True
        try:
            for outcome in self.machine.tick(self.now):
                if outcome.records:
                    self.scheduler.note("timed out", len(outcome.records))
                try:
                    self._commit(outcome)
                except Refused as refused:
                    if refused.code is not Code.UNKNOWN_SERVER_ERROR:
                        raise  # a batch that is too large does not delay the others
                if self.scheduler.random.random() < _SLICE_ENDS:
                    self.scheduler.note("slice is over")
                    break
        except Refused:
            self._quiet_until_ms = self.scheduler.now_ms + _RETRY_MS
        finally:
            self.oracle.ticks = False

    def _count_tick(self) -> None:
        second, now_ms = self.scheduler.now_ms // 1000, self.scheduler.now_ms
        self._ticks = (second, self._ticks[1] + 1 if self._ticks[0] == second else 1)
        at_once = self._ticks_at_once
        self._ticks_at_once = (now_ms, at_once[1] + 1 if at_once[0] == now_ms else 1)
        assert self._ticks[1] <= _MOST_TICKS_A_SECOND, "its timers never end"
        assert self._ticks_at_once[1] <= _MOST_TICKS_AT_ONCE, "it ticks without end at one moment"

    # Crashes

    def crash(self, when: str) -> None:
        """Crash, and load the log again some time later."""
        assert self.machine is not None
        scheduler = self.scheduler
        scheduler.note("coordinator crashes", when)
        self._check_replay(self.machine)
        self.forgot_to_rebalance |= self._to_rebalance
        self._to_rebalance.clear()
        answers = list(self.parked.values())
        self.machine, self._armed_ms, self.dies_in = None, None, 0
        self.crashes += 1
        self.parked.clear()
        if scheduler.random.random() < 0.5:  # another coordinator took over, or the process is dead
            for parking in answers:
                parking.respond(Code.NOT_COORDINATOR)
        scheduler.after(scheduler.random.randint(1, 1500), self._load)

    def _check_replay(self, before: Groups) -> None:
        """A replay of the log, compacted or not, must give the present state."""
        whole, compacted = self._fresh(), self._fresh()
        log_module.replay(whole, self.log.stored())
        log_module.replay(compacted, self.log.compacted(self.scheduler.random))
        with_members = {
            each.group_id for each in before.kinds.classic.groups.values() if each.members
        }
        unlogged = with_members - self.log.classic_groups()
        states.check_same("the log loaded again", before, whole, unlogged)
        states.check_same("the compacted log", whole, compacted)
        self.oracle.check_offsets(whole)
        self._loaded = compacted if self.scheduler.random.random() < 0.5 else whole

    def _load(self) -> None:
        self.scheduler.note("coordinator loaded")
        self.machine = self._loaded
        self._arm()

    def check_replay(self) -> None:
        """Check the replay without a crash."""
        if self.machine is not None:
            self._check_replay(self.machine)


def _is_sent_even_if_not_logged(effect: Effect) -> bool:
    return isinstance(effect, Answer) and effect.send_even_if_not_logged
