"""Runs a coordinator's state machine over a partition of an internal topic.

Each request is decided, appended, replayed, carried out and answered, in this order. No lock is
needed, as nothing awaits before the reply. A restart replays the same records into a new machine.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, TypeVarTuple, Unpack

from ....coordinator.moment import Moment
from ....coordinator.outcome import Answer, Effect, Notice, Outcome, Parked, Producer
from ....protocol.batch import (
    NO_PRODUCER,
    TRANSACTIONAL,
    BatchHeader,
    Bytes,
    Framed,
    Pair,
    build_with_header,
    headers_in,
    spans,
)
from ....protocol.control import marker_for_all, read_marker
from ....protocol.errors import Code, Malformed, Refused
from ....protocol.lazy_dataclass import dataclass
from ....protocol.records import records_in
from ....storage.log import PartitionLog
from ....storage.records.size_and_times import check_size
from ...clock import Clock, Timer, is_in_event_loop
from ...event_stream import Events
from ...scheduling.turns import Turns, run_in_turn
from .append_errors import TOO_LARGE, of_groups
from .failing_timers import log_failing_timers, log_working_timers
from .machines import MAY_FOLLOW, Machine, PendingMachine, ReplaysAtOffsets, ReplaysMany, State

if TYPE_CHECKING:
    from ..logs.flushes import FlushQueue
    from .group_transitions import GroupTransitions

_LOAD_BYTES = 1 << 20
_OPEN: Final = State.OPEN  # a member of an enum costs 0.1 us to look up, for each request
_RETRY_S = 1.0
_FEW: Final = 50


class NotTaken(Refused):
    """The log refused the records of a decision."""


M = TypeVar("M", bound=Machine, covariant=True)
Reply = TypeVar("Reply")
More = TypeVarTuple("More")
# Any: the records of the shard's machine.
Encode = Callable[[Any], tuple[bytes, bytes | None]]
Decode = Callable[[bytes, bytes | None], object]


@dataclass(frozen=True, slots=True)
class ShardServices:
    """What all shards of a node share.

    Attributes:
        clock: gives the time, and wakes the timers.
        wake_fetches: called with topic and partition after each append.
        on_refused: called when the log refuses records.
        flushes: of the logs, if a log does not flush each append itself.
        check_may_append: raises Refused while too few replicas are in sync.
        events: the stream of events, for decisions and refusals.
        node_id: the id of the node, for the events.
        on_timer_decision: called with each decision of a timer and the wall time.
    """

    clock: Clock
    wake_fetches: Callable[[str, int], object]
    on_refused: Callable[[PartitionLog, Refused], None] = lambda log, refused: None
    flushes: FlushQueue | None = None
    check_may_append: Callable[[PartitionLog], None] | None = None
    events: Events = field(default_factory=Events)
    node_id: int = -1
    on_timer_decision: Callable[[Outcome[object], int], None] = lambda outcome, now_ms: None


def _no_effects(_shard: object, effect: Effect) -> None:
    if not isinstance(effect, Notice):
        raise TypeError(f"unknown effect {effect!r}")


class Shard(Generic[M]):
    """One partition of an internal topic, and its state machine.

    Args:
        machine: a new one; `load` replays the log into it.
        codec: a record to key and value, and back; the latter returns None for unknown ones.
        carry_out: carries out an effect, except `Answer`, which the shard handles itself.
        code_for_clients: the error code for clients, by the code of the log.
        machine_code_for_clients: the same, by the code of the machine.
        group_transitions: emits the transitions of groups; None: the machine has no groups.

    Attributes:
        leader_epoch: of the partition when the shard was created, and so the coordinator's epoch;
            under another one the shard neither decides nor appends.
        encode: key and value of a record.
        failing_timer: the error of the log for the last decision of a timer; None if it succeeded.
    """

    def __init__(
        self,
        log: PartitionLog,
        machine: M,
        codec: tuple[Encode, Decode],
        services: ShardServices,
        *,
        carry_out: Callable[[Shard[M], Effect], None] = _no_effects,
        code_for_clients: Callable[[Code], Code] = of_groups,
        machine_code_for_clients: Callable[[Code], Code] = of_groups,
        group_transitions: GroupTransitions | None = None,
    ) -> None:
        self.log = log
        self.leader_epoch = log.leader_epoch
        self.machine = machine
        any_machine: object = machine  # it may have any of these interfaces
        self._pending_machine = any_machine if isinstance(any_machine, PendingMachine) else None
        self._replays_many = any_machine if isinstance(any_machine, ReplaysMany) else None
        self._at_offsets = any_machine if isinstance(any_machine, ReplaysAtOffsets) else None
        self.encode, self._decode = codec
        self._clock = services.clock
        self._wake_fetches = services.wake_fetches
        self._on_refused = services.on_refused
        self._flushes = services.flushes
        self._check_may_append = services.check_may_append
        self._events = services.events
        self._node_id = services.node_id
        self._on_timer_decision = services.on_timer_decision
        self._carry_out = carry_out
        self._code_for_clients = code_for_clients
        self._machine_code_for_clients = machine_code_for_clients
        self._group_transitions = group_transitions
        self._last_ticket = 0
        self._parked_requests: dict[int, asyncio.Future[Any]] = {}  # Any: the reply of each
        self._timer: Timer | None = None
        self._timer_deadline_ms: int | None = None
        self._was_tick_refused = False
        self._ticks = False
        self._committing: Moment | None = None  # the time of the decision that is carried out now
        self.failing_timer: Refused | None = None
        self._was_too_large = False  # a decision that is due now
        self._state = State.OPEN

    @property
    def partition(self) -> int:
        return self.log.partition

    @property
    def is_closed(self) -> bool:
        """Whether it is unloaded, or another leader epoch has begun under another coordinator."""
        return self._state is State.CLOSED or self.log.leader_epoch != self.leader_epoch

    @property
    def is_loading(self) -> bool:
        """Whether the log is not replayed completely yet."""
        return self._state is State.LOADING

    async def run(self, decide: Callable[[M, Moment], Outcome[Reply]]) -> Reply:
        """Decide, append, replay and carry out; return the reply.

        Other requests may decide on the new state while this one waits for a flush, but each reply
        waits until the state it depends on is on disk, if `flush.messages` requires that.

        Raises:
            Refused: nothing has changed.
        """
        try:
            reply = self.run_now(decide)
        except Refused as refused:
            raise self._for_clients(refused) from refused.__cause__
        if self.log.awaits_flush:
            await self._flushed()
        return reply

    def run_now(
        self, decide: Callable[[M, Moment, Unpack[More]], Outcome[Reply]], *more: *More
    ) -> Reply:
        """`run` for callers that cannot wait, with more arguments for the decision.

        An effect of a decision may run another one: the markers of a transaction complete it.
        """
        if self._state is not _OPEN or self.log.leader_epoch != self.leader_epoch:
            self._check_open()
        outer = self._committing
        now = outer or Moment(*self._clock.both_ms())
        due_ms = self._timer_deadline_ms
        if due_ms is not None and due_ms <= now.monotonic_ms and not self._was_tick_refused:
            self.tick()  # due timers come first, however late the event loop is
        try:
            outcome = decide(self.machine, now, *more)
        except Refused as refused:
            self._tell_refusal(refused)
            raise
        self._committing = now
        try:
            if outcome.records or outcome.effects:
                return self._commit(outcome, now.wall_ms)
            return outcome.reply  # as for most heartbeats
        finally:
            self._committing = outer
            if outer is None:
                self._set_timer(now)

    async def run_parked(
        self, decide: Callable[[M, Moment, int], Outcome[Reply | Parked]]
    ) -> Reply:
        """`run` with a ticket; if the reply is PARKED, wait for the `Answer` with that ticket."""
        self._last_ticket += 1
        ticket = self._last_ticket
        waiting: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._parked_requests[ticket] = waiting
        try:
            try:
                reply = self.run_now(decide, ticket)
            except Refused as refused:
                raise self._for_clients(refused) from refused.__cause__
            if isinstance(reply, Parked):
                return await waiting
            if self.log.awaits_flush:
                await self._flushed()
            return reply
        finally:
            self._parked_requests.pop(ticket, None)

    def ask(self, read: Callable[[M], Reply]) -> Reply:
        """Read from the machine without a change; raises Refused if the shard is unloaded."""
        if self._state is not _OPEN or self.log.leader_epoch != self.leader_epoch:
            self._check_open()
        try:
            return read(self.machine)
        except Refused as refused:
            self._tell_refusal(refused)
            raise

    def foreseen(self, decide: Callable[[M, Moment], Outcome[Reply]]) -> Outcome[Reply]:
        """The outcome that a decision without volatile effects would have now; raises Refused."""
        self._check_open()
        return decide(self.machine, Moment(*self._clock.both_ms()))

    def write_marker(self, producer: Producer, *, commit: bool, coordinator_epoch: int) -> None:
        """End a producer's transaction on this partition: append the marker and replay it.

        The caller wakes the fetches that wait for the log.

        Raises:
            Refused: the log refuses it (TRANSACTION_COORDINATOR_FENCED, storage errors), or the
                coordinator is unloaded.
        """
        self._check_open()
        machine = self._pending()
        now_ms = self._clock.now_ms()
        batch, content, header = marker_for_all(
            commit=commit,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=now_ms,
        )
        self.log.append_marker(bytearray(batch), content, header, now_ms=now_ms)
        machine.replay_marker(producer, commit=commit)
        if self._events.tell is not None:
            from ...events import OffsetsMaterialized

            self._events.tell(OffsetsMaterialized(self.partition, producer, commit))

    def begin_loading(self) -> None:
        """Refuse all requests until the log is replayed."""
        self._enter(State.LOADING)

    def load(self) -> None:
        """Replay the whole log into the machine; raises Refused or Malformed if it is damaged."""
        for _ in self.load_in_slices():
            pass

    def load_in_slices(
        self, slice_s: float = math.inf, *, read_bytes: int = _LOAD_BYTES
    ) -> Iterator[None]:
        """Replay the log, with a pause after each slice; requests are refused until the end.

        Args:
            slice_s: the time between two pauses.
            read_bytes: the number of bytes that are read at once.

        Raises:
            Refused, Malformed: the log is damaged.
        """
        self._enter(State.LOADING)
        offset, end = self.log.log_start_offset, self.log.log_end_offset
        now_s = self._clock.live.monotonic_s
        until_s = now_s() + slice_s
        while offset < end:
            data = self.log.read(offset, max_bytes=read_bytes, up_to=end, min_one=True).records
            before = offset
            for position, header in headers_in(data):
                offset = header.next_offset
                self._replay_batch(data, position, header)
                if now_s() > until_s:
                    yield
                    if self.is_closed:
                        return
                    until_s = now_s() + slice_s
            if offset == before:
                break
        self._enter(State.OPEN)
        self._set_timer(Moment(*self._clock.both_ms()))

    def close(self) -> None:
        """Unload: stop the timer, and refuse waiting requests with NOT_COORDINATOR."""
        self._enter(State.CLOSED)
        if self._timer is not None:
            self._timer.cancel()
        for waiting in self._parked_requests.values():
            if not waiting.done():
                waiting.set_exception(Refused(Code.NOT_COORDINATOR))

    def _tell_refusal(self, refused: Refused) -> None:
        if self._events.tell is not None:
            from ...events import DecisionRefused

            at = self._node_id, self.log.topic, self.partition
            self._events.tell(DecisionRefused(*at, refused.code))

    def _tell_appended(self, outcome: Outcome[object], now_ms: int, *, by_timer: bool) -> None:
        if self._events.tell is not None:
            from ...events import DecisionAppended

            at = self._node_id, self.log.topic, self.partition
            self._events.tell(DecisionAppended(*at, outcome, now_ms, by_timer))

    def _enter(self, state: State) -> None:
        assert self._state in MAY_FOLLOW[state], (self._state, state)
        self._state = state

    def _check_open(self) -> None:
        if self._state is State.CLOSED:
            raise Refused(Code.NOT_COORDINATOR, "the coordinator has been unloaded")
        if self.log.leader_epoch != self.leader_epoch:
            why = f"of epoch {self.leader_epoch}; it is {self.log.leader_epoch} now"
            raise Refused(Code.NOT_COORDINATOR, f"a coordinator {why}")
        if self._state is State.LOADING:
            raise Refused(Code.COORDINATOR_LOAD_IN_PROGRESS)

    def _pending(self) -> PendingMachine:
        """The machine, for a batch of a transaction. Raises Malformed: it has no such records."""
        if self._pending_machine is None:
            raise Malformed(f"a transactional batch in {self.log.topic}")
        return self._pending_machine

    def _replay_batch(self, data: Bytes, position: int, header: BatchHeader) -> None:
        producer = Producer(header.producer_id, header.producer_epoch)
        if header.record_count == 0:
            return  # compaction has removed its records
        if header.is_control:
            ended = read_marker(data, position, header)
            if ended is not None:
                self._pending().replay_marker(producer, commit=ended.commit)
            return
        for stored in records_in(data, position, header):
            record = self._decode(stored.key or b"", stored.value)
            if record is None:
                continue
            if header.is_transactional:
                self._pending().replay_pending(record, producer)
            elif self._at_offsets is not None:
                self._at_offsets.replay_at(record, stored.offset)
            else:
                self.machine.replay(record)

    def _commit(self, outcome: Outcome[Reply], now_ms: int, *, by_timer: bool = False) -> Reply:
        """Append, replay and carry out; return the reply. Raises NotTaken: nothing has changed."""
        if outcome.records:
            transitions = self._group_transitions
            if self._events.tell is not None and transitions is not None:
                transitions.begin(outcome.records)
            try:
                if outcome.is_atomic:
                    records, framed = outcome.records, outcome.framed
                    encoded = [*map(self.encode, records)] if framed is None else framed
                    self._append(records, encoded, outcome.producer, now_ms)
                else:
                    self._append_in_parts(outcome, now_ms, by_timer=by_timer)
            except Refused as refused:
                if transitions is not None:
                    transitions.end()
                self._tell_refusal(refused)
                self._carry_out_all(filter(_is_sent_even_if_not_logged, outcome.effects))
                if outcome.if_refused is not None:
                    other: Outcome[Reply] = outcome.if_refused(self._code_for_clients(refused.code))
                    assert not other.records, "the log takes nothing"
                    return self._commit(other, now_ms, by_timer=by_timer)
                raise NotTaken(refused.code, refused.why) from refused.__cause__
            if self._events.tell is not None:
                self._tell_appended(outcome, now_ms, by_timer=by_timer)
                if transitions is not None:
                    transitions.end()
        if outcome.effects and self.log.awaits_flush:
            assert self._flushes is not None, "without them an append flushes"
            self._flushes.when_flushed(self.log, partial(self._carry_out_all, outcome.effects))
        elif outcome.effects:
            self._carry_out_all(outcome.effects)
        return outcome.reply

    def _carry_out_all(self, effects: Iterable[Effect], refused: Refused | None = None) -> None:
        """Carry out the effects of a decision after its flush, which succeeded unless `refused`."""
        for effect in effects:
            if isinstance(effect, Answer):
                waiting = self._parked_requests.get(effect.ticket)
                if waiting is not None and not waiting.done():
                    if refused is None:
                        waiting.set_result(effect.reply)
                    else:
                        code = self._code_for_clients(refused.code)
                        waiting.set_exception(Refused(code, refused.why))
            elif refused is None:
                self._carry_out(self, effect)

    async def _flushed(self) -> None:
        assert self._flushes is not None, "without them an append flushes"
        refused = await self._flushes.flushed(self.log)
        if refused is not None:
            raise Refused(self._code_for_clients(refused.code), refused.why)

    def _for_clients(self, refused: Refused) -> Refused:
        """The error for a client, for a refusal of the log or of the machine."""
        is_of_log = isinstance(refused, NotTaken)
        code_of = self._code_for_clients if is_of_log else self._machine_code_for_clients
        return Refused(code_of(refused.code), refused.why)

    def _append_in_parts(self, outcome: Outcome[object], now_ms: int, *, by_timer: bool) -> None:
        """Append and replay, in several batches if the records do not fit in one.

        If the log refuses a later batch, the machine has replayed the earlier ones, and will decide
        on the rest again.
        """
        records = outcome.records
        encoded = [*map(self.encode, records)]
        config = self.log.config
        max_bytes = min(config.max_message_bytes, config.segment_bytes)
        appended = 0
        try:
            for span in spans(encoded, max_bytes=max_bytes):
                self._append(records[span], encoded[span], outcome.producer, now_ms)
                appended = span.stop
        except Refused:
            if appended and self._events.tell is not None:
                part = outcome._replace(records=records[:appended], effects=())
                self._tell_appended(part, now_ms, by_timer=by_timer)
            raise

    def _append(
        self,
        records: Sequence[object],
        encoded: Sequence[Pair] | Framed,
        producer: Producer | None,
        now_ms: int,
    ) -> None:
        """Append one batch, and replay its records. Raises Refused: nothing has changed."""
        log, machine = self.log, self.machine
        if self._check_may_append is not None and log.config.min_insync_replicas > 1:
            self._check_may_append(log)
        attributes = 0 if producer is None else TRANSACTIONAL
        batch, header = build_with_header(encoded, now_ms, attributes, producer or NO_PRODUCER)
        limit_bytes = log.config.max_message_bytes
        try:
            if len(batch) > limit_bytes:
                check_size(len(batch), limit_bytes)
            appended = log.append_checked((batch, header), now_ms=now_ms, from_client=False)
        except Refused as refused:
            self._on_refused(log, refused)
            raise
        if self._at_offsets is not None:
            for offset, record in enumerate(records, appended.base_offset):
                self._at_offsets.replay_at(record, offset)
        elif len(records) > _FEW and self._replays_many is not None:
            self._replays_many.replay_many(records, producer)
        else:
            for record in records:
                if producer is None:
                    machine.replay(record)
                else:
                    self._pending().replay_pending(record, producer)
        self._wake_fetches(log.topic, log.partition)
        if self._events.tell is not None:
            from ...events import RecordsAppended

            self._events.tell(RecordsAppended(log.topic, log.partition, log.log_end_offset))

    def now_ms(self) -> int:
        """The wall time, in ms."""
        return self._clock.now_ms()

    def _set_timer(self, now: Moment) -> None:
        if self._ticks:
            return  # the running tick sets it at its end
        deadline_ms = self.machine.next_deadline(now) if self._state is State.OPEN else None
        armed_ms = self._timer_deadline_ms
        if deadline_ms == armed_ms:
            return
        # It may wake up early and set itself again: cheaper than a timer for each request. Both
        # clocks cut off fractions, which shifts the same wall time by a millisecond.
        if armed_ms is not None and deadline_ms is not None and armed_ms <= deadline_ms + 1:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_deadline_ms = None, None
        if deadline_ms is None:
            return
        if not is_in_event_loop():
            return  # loaded before the event loop runs
        self._timer = self._clock.call_at_ms(deadline_ms, run_in_turn, self.tick)
        self._timer_deadline_ms = deadline_ms

    def tick(self) -> None:
        """Make the decisions that are due, as many as fit in a slice of the event loop.

        The rest follows in the next turns; all coordinators of the process share a slice for due
        work. Without a running event loop all is done at once.
        """
        if self._ticks:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_deadline_ms, self._was_tick_refused = None, None, False
        if self.is_closed:
            return
        now = Moment(*self._clock.both_ms())
        deadline_ms = self.machine.next_deadline(now)
        if deadline_ms is None or deadline_ms > now.monotonic_ms:
            self._set_timer(now)  # the deadline has changed meanwhile
            return
        self._ticks, fails = True, True
        try:
            fails = self._make_due_decisions(now) is not None
        finally:  # also after a fault, such as a lack of memory, which the event loop logs
            self._ticks = False
            if self.is_closed or not fails:
                self._set_timer(now)
            else:  # later, and not at each request before
                self._tick_later(now)

    def _tick_later(self, now: Moment) -> None:
        self._timer_deadline_ms, self._was_tick_refused = self.machine.next_deadline(now), True
        if is_in_event_loop():
            self._timer = self._clock.live.call_after_ms(_RETRY_S * 1000, run_in_turn, self.tick)

    def _make_due_decisions(self, now: Moment) -> Refused | None:
        """Make due decisions; return the refusal of the log, or None if it took all in this slice.

        A decision that is too large for the log does not prevent the others.
        """
        turns = Turns()
        work = self.machine.tick(now)
        try:
            for outcome in work:
                try:
                    self._commit(outcome, now.wall_ms, by_timer=True)
                    self._on_timer_decision(outcome, now.wall_ms)
                except Refused as refused:
                    self._log_failing_timer(refused)
                    if refused.code not in TOO_LARGE or not outcome.is_atomic:
                        return refused
                    self._was_too_large = True
                if turns.is_over() or self.is_closed:
                    break
        except Refused as refused:
            self._log_failing_timer(refused)
            return refused
        finally:
            work.close()
        left_ms = self.machine.next_deadline(now)
        if left_ms is not None and left_ms <= now.monotonic_ms:
            return None  # the slice is over; the rest follows
        was_too_large, self._was_too_large = self._was_too_large, False
        if not was_too_large and self.failing_timer is not None:
            self.failing_timer = None
            log_working_timers(self.log)
        return None

    def _log_failing_timer(self, refused: Refused) -> None:
        """Log once that timers fail, with the consequences, until they work again."""
        if self.failing_timer is None:
            log_failing_timers(self.log, refused, retry_s=_RETRY_S)
        self.failing_timer = refused


def _is_sent_even_if_not_logged(effect: Effect) -> bool:
    return isinstance(effect, Answer) and effect.send_even_if_not_logged
