"""A share partition on its leader: the machine, what it stores, its timer, and waiting fetches.

The machine decides at once; the share coordinator stores the changes one after the other, in their
order. A fetch that finds nothing waits here. Records that are appended or given back wake the
fetch that has waited longest; if it leaves something, it wakes the next one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from ....coordinator.share_partition.changes import Change, Changed
from ....coordinator.share_partition.partition import SharePartition, dead_letters_of
from ....coordinator.share_partition.states import Acknowledgement, DeadLetters
from ....protocol.errors import Code, Refused
from ....storage.segments.reads import ReadLimits
from ...log_output import Log
from ...scheduling.turns import Turns
from ..fetching.fetch_waits import MOST_IN_A_TURN

if TYPE_CHECKING:
    from ....storage.log import PartitionLog
    from ...clock import Clock, Timer
    from ..fetching.fetch_waits import FetchWaits, TopicPartition
    from .dead_letters import DeadLetterQueues
    from .share_limits import ShareGroupSettings
    from .share_persister import SharePersister

_log = Log("share_partitions")

_PORTION: Final = 100  # of acknowledgements of single records: about a millisecond
_TICK_AGAIN_MS: Final = 1000

_CODES: Final = {
    Code.NOT_COORDINATOR: Code.COORDINATOR_NOT_AVAILABLE,
    Code.COORDINATOR_NOT_AVAILABLE: Code.COORDINATOR_NOT_AVAILABLE,
    Code.COORDINATOR_LOAD_IN_PROGRESS: Code.COORDINATOR_NOT_AVAILABLE,
    Code.GROUP_ID_NOT_FOUND: Code.GROUP_ID_NOT_FOUND,
    Code.UNKNOWN_TOPIC_OR_PARTITION: Code.UNKNOWN_TOPIC_OR_PARTITION,
    Code.FENCED_LEADER_EPOCH: Code.NOT_LEADER_OR_FOLLOWER,
    Code.FENCED_STATE_EPOCH: Code.NOT_LEADER_OR_FOLLOWER,
}
_FENCED: Final = frozenset(
    {
        Code.NOT_LEADER_OR_FOLLOWER,
        Code.FENCED_STATE_EPOCH,
        Code.GROUP_ID_NOT_FOUND,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""Errors after which the leader begins again with what is stored."""


def for_clients(refused: Refused) -> Refused:
    """An error of the share coordinator, as members see it (SharePartition.fetchPersisterError)."""
    return Refused(_CODES.get(refused.code, Code.UNKNOWN_SERVER_ERROR), refused.why)


class ShareKey(NamedTuple):
    """A partition in a share group."""

    group_id: str
    topic_id: UUID
    partition: int


class ShareCounts:
    """The counts of one node for the metrics.

    Attributes:
        acknowledged: records by the type of their acknowledgement.
        expired_fetches: ShareFetch requests that found nothing until their time was over.
        lock_timeouts: records whose lock has ended.
        lost_sessions: sessions that have ended with a connection.
    """

    __slots__ = ("acknowledged", "expired_fetches", "lock_timeouts", "lost_sessions")

    def __init__(self) -> None:
        self.acknowledged: Counter[int] = Counter()
        self.expired_fetches = 0
        self.lock_timeouts = 0
        self.lost_sessions = 0

    def count(self, acknowledged: Iterable[Acknowledgement]) -> None:
        """Count the records of acknowledgements."""
        for first_offset, last_offset, types in acknowledged:
            if len(types) == 1:
                self.acknowledged[types[0]] += last_offset - first_offset + 1
            else:
                self.acknowledged.update(types)


class ShareServices(NamedTuple):
    """What share partitions use of their node.

    Attributes:
        dead_letters: returns the dead letter queues; they are imported with the first letter.
        begin: runs work that no request waits for.
    """

    clock: Clock
    persister: SharePersister
    fetch_waits: FetchWaits
    settings_of: Callable[[str], ShareGroupSettings]
    dead_letters: Callable[[], DeadLetterQueues]
    begin: Callable[[Coroutine[object, None, None]], asyncio.Task[None]]
    counts: ShareCounts


class _Write(NamedTuple):
    change: Change
    stored: asyncio.Future[None] | None


class LedSharePartition:
    """A share partition that this node leads.

    Args:
        log: of the partition.
        machine: as it was loaded.
        state_epoch: of the state that was loaded.
        forget: called when another leader, or another state, is in its place.

    Attributes:
        leader_epoch: of the log when it was loaded.
        is_fenced: whether it is forgotten, so that no fetch uses it any more.
        writer: stores changes; None if there are none.
    """

    def __init__(
        self,
        key: ShareKey,
        log: PartitionLog,
        machine: SharePartition,
        *,
        state_epoch: int,
        services: ShareServices,
        forget: Callable[[LedSharePartition], None],
    ) -> None:
        self.key = key
        self.log = log
        self.machine = machine
        self.leader_epoch = log.leader_epoch
        self.is_fenced = False
        self._state_epoch = state_epoch
        self._services = services
        self._forget = forget
        self._timer: Timer | None = None
        self._due_ms: int | None = None
        self._writes: list[_Write] = []
        self.writer: asyncio.Task[None] | None = None
        self._waiting: dict[asyncio.Future[bool], int] = {}
        self._news = 0
        for dead in machine.waiting_dead_letters():
            services.begin(self._bury(dead))

    @property
    def settings(self) -> ShareGroupSettings:
        """The current settings of its group."""
        return self._services.settings_of(self.key.group_id)

    # Acknowledging

    async def acknowledge(
        self, member_id: str, asked: Sequence[Acknowledgement], turns: Turns
    ) -> None:
        """Acknowledge records for a member, all or none of them; return when that is stored.

        Raises:
            Refused: what `SharePartition.acknowledge` and `for_clients` say.
        """
        change, machine = Change(), self.machine
        try:
            async for each in turns.each(_portions(asked)):
                machine.acknowledge(
                    change, member_id, each, self.settings.limits, now_ms=self._now_ms()
                )
        except BaseException:
            machine.roll_back(change, self.settings.limits, now_ms=self._now_ms())
            self._tell_of_change()
            raise
        self.set_timer()
        await self._store(change)
        self._services.counts.count(asked)

    async def release(self, member_id: str) -> None:
        """Give back all that a member has.

        Raises:
            Refused: see `for_clients`.
        """
        change = Change()
        self.machine.release_member(change, member_id, self.settings.limits)
        await self._store(change)

    async def _store(self, change: Change) -> None:
        if change:
            stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._write(change, stored)
            await stored

    def _write(self, change: Change, stored: asyncio.Future[None] | None = None) -> None:
        self._writes.append(_Write(change, stored))
        if self.writer is None:
            self.writer = self._services.begin(self._write_all())

    async def _write_all(self) -> None:
        try:
            while self._writes:
                change, stored = self._writes[0]
                refused = await self._write_one(change)
                _answer(stored, refused)
                del self._writes[0]
        finally:
            self.writer = None
            for write in self._writes:  # an unexpected error; no request waits for ever
                _answer(write.stored, Refused(Code.UNKNOWN_SERVER_ERROR))
            self._writes.clear()

    async def _write_one(self, change: Change) -> Refused | None:
        """Store a change, then make it final or take it back; returns why it is not stored."""
        machine, key, limits = self.machine, self.key, self.settings.limits
        refused: Refused | None = None
        try:
            await self._services.persister.write(
                *key,
                state_epoch=self._state_epoch,
                leader_epoch=self.leader_epoch,
                start_offset=machine.start_offset,
                delivery_complete_count=machine.delivery_complete_count,
                batches=change.state_batches(),
            )
            async for parts in Turns().each(_in_portions(change.parts)):
                machine.commit_parts(change, parts)
        except Refused as failed:
            refused = for_clients(failed)
            async for parts in Turns().each(_in_portions(change.parts)):
                machine.roll_back_parts(change, parts, limits, now_ms=self._now_ms())
            _log.debug(
                "a change of a share partition is not stored", group=key.group_id,
                topic=self.log.topic, partition=key.partition, reason=str(failed),
            )  # fmt: skip
            if refused.code in _FENCED:
                self._forget(self)
        machine.advance()
        if refused is None or change.is_final:
            for dead in dead_letters_of(change):
                self._services.begin(self._bury(dead))
        self._tell_of_change()
        return refused

    async def _bury(self, dead: DeadLetters) -> None:
        """Write records to the dead letter queue, and be done with them even if that fails."""
        await self._services.dead_letters().write(
            self.key.group_id,
            self.log.topic,
            self.key.partition,
            first_offset=dead.first_offset,
            last_offset=dead.last_offset,
            delivery_count=dead.delivery_count,
            reason=dead.reason.value,
        )
        self._write(self.machine.bury(dead))

    # Locks

    def _now_ms(self) -> int:
        return self._services.clock.monotonic_ms()

    def set_timer(self) -> None:
        """Have the earliest lock end in time; after each acquisition and renewal."""
        due_ms = None if self.is_fenced else self.machine.next_deadline()
        if due_ms is None:
            return  # a timer that is set finds nothing
        if self._timer is not None:
            if self._due_ms is not None and self._due_ms <= due_ms:
                return
            self._timer.cancel()
        self._due_ms = due_ms
        self._timer = self._services.clock.call_at_ms(due_ms, self._tick)

    def _tick(self) -> None:
        self._timer = self._due_ms = None
        if self.is_fenced:
            return
        turns, limits = Turns(), self.settings.limits
        try:
            while (change := self.machine.tick(limits, now_ms=self._now_ms())) is not None:
                if change:
                    self._services.counts.lock_timeouts += change.record_count
                    self._write(change)
                if turns.is_over():
                    break
        except Exception:  # no memory, or a bug, which the event loop logs
            self._timer = self._services.clock.call_after_ms(_TICK_AGAIN_MS, self._tick)
            raise
        self.set_timer()
        self._tell_of_change()

    # Waiting fetches

    def wait(self, waiting: asyncio.Future[bool]) -> None:
        """Wake a fetch when the partition has news for it; `stop_waiting` must follow."""
        if not self._waiting:
            self._services.fetch_waits.watch((self.log.topic, self.key.partition), self, self.key)
        self._waiting[waiting] = self._news

    def stop_waiting(self, waiting: asyncio.Future[bool]) -> None:
        """End `wait`; another fetch may have what this one leaves."""
        if self._waiting.pop(waiting, None) is not None and not self._waiting:
            topic_partition = (self.log.topic, self.key.partition)
            self._services.fetch_waits.unwatch([(topic_partition, self.key)], self)

    def pass_on(self) -> None:
        """A fetch has taken what it may: wake the next one that has not seen the last news."""
        waiting = self._next_waiting()
        if waiting is not None and self.has_records():
            waiting.set_result(True)

    def has_records(self) -> bool:
        """Whether a fetch may find records."""
        settings = self.settings
        if not self.machine.may_acquire(settings.limits):
            return False
        end = self.log.last_stable_offset if settings.committed else self.log.high_watermark
        return self.machine.next_fetch_offset() < end

    def bytes_to_read(self, max_bytes: int) -> int:
        """The bytes that a fetch may find, for one that waits for more than one.

        Raises:
            Refused: what the log's `find` raises.
        """
        if not self.has_records():
            return 0
        offset = self.machine.next_fetch_offset()
        if offset < self.log.log_start_offset:
            return max_bytes  # it reads on from the log's start
        committed = self.settings.committed
        end = self.log.last_stable_offset if committed else self.log.high_watermark
        return len(self.log.find(offset, ReadLimits(max_bytes, end, at_once=0)).records)

    def note(self, key: object, topic_partition: TopicPartition) -> asyncio.Future[bool] | None:
        """There are new records in the log (`Watcher`)."""
        self._news += 1
        return self._next_waiting() if self.has_records() else None

    def wake(self, key: object) -> asyncio.Future[bool] | None:
        """The leader, the topic or the start of the log has changed (`Watcher`)."""
        self._wake_in_turns(list(self._waiting))
        return None

    def _wake_in_turns(self, waiting: list[asyncio.Future[bool]]) -> None:
        for each in waiting[:MOST_IN_A_TURN]:
            if not each.done():
                each.set_result(True)
        if len(waiting) > MOST_IN_A_TURN:
            rest = waiting[MOST_IN_A_TURN:]
            asyncio.get_running_loop().call_soon(self._wake_in_turns, rest)

    def _tell_of_change(self) -> None:
        """Records may have become available, or the start may have moved."""
        self._news += 1
        self.pass_on()

    def _next_waiting(self) -> asyncio.Future[bool] | None:
        for waiting, seen in self._waiting.items():
            if not waiting.done():  # those behind it have seen as much, or more
                return waiting if seen < self._news else None
        return None

    def end(self) -> None:
        """Decide nothing more: the partition has another leader, or the group no session here."""
        self.is_fenced = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.wake(self.key)


def _portions(asked: Iterable[Acknowledgement]) -> Iterator[Acknowledgement]:
    """Acknowledgements with many types in portions, so that other requests run between them."""
    for each in asked:
        if len(each.types) <= _PORTION:
            yield each
            continue
        for start in range(0, len(each.types), _PORTION):
            types = each.types[start : start + _PORTION]
            first = each.first_offset + start
            yield Acknowledgement(first, first + len(types) - 1, types)


def _in_portions(parts: Sequence[Changed]) -> Iterator[Sequence[Changed]]:
    for start in range(0, len(parts), _PORTION):
        yield parts[start : start + _PORTION]


def _answer(stored: asyncio.Future[None] | None, refused: Refused | None) -> None:
    if stored is None or stored.done():
        return
    if refused is None:
        stored.set_result(None)
    else:
        stored.set_exception(refused)
