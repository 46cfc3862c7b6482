"""Runs a state machine over a partition of an internal topic.

Decide, append, replay, carry out, reply: in this order and, up to the reply, without an await, so
that no lock exists. A restart replays the same records into a fresh machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ..coordinator.outcome import PARKED, Answer, Effect, Outcome, Producer
from ..protocol.batch import BatchHeader, Bytes, build, headers_in
from ..protocol.control import marker, read_marker
from ..protocol.errors import Code, Refused
from ..protocol.records import records_in
from ..storage.log import Origin, PartitionLog
from .clock import Clock, monotonic_s
from .flushes import Flushes
from .logs import Log

if TYPE_CHECKING:
    from .transaction_metrics import Observer

_LOAD_BYTES = 1 << 20
_SLICE_S = 0.002
_RETRY_S = 1.0

_log = Log("shard")


class Machine(Protocol):
    """What the shard asks of a machine, whatever it decides about."""

    def replay(self, record: Any) -> None: ...
    def next_deadline(self) -> int | None: ...
    def tick(self, now_ms: int) -> Outcome[None]: ...


class PendingMachine(Machine, Protocol):
    """A machine of which some records are pending until their transaction ends."""

    def replay_pending(self, record: Any, producer: Producer) -> None: ...
    def replay_marker(self, producer: Producer, *, commit: bool) -> None: ...


M = TypeVar("M")
Reply = TypeVar("Reply")
Encode = Callable[[Any], tuple[bytes, bytes | None]]
Decode = Callable[[bytes, bytes | None], Any]


class Shard(Generic[M]):
    """One partition of `__transaction_state` or `__consumer_offsets`, and the machine it feeds.

    Args:
        machine: fresh; `load` replays the log into it.
        encode, decode: a record to key and value, and back; decode gives None for unknown ones.
        carry_out: does what an effect says, except for `Answer`, which the shard does itself.
        on_refused: hears of records that the log did not take.
        flushes: of the log, when it does not flush by itself.
        check_may_append: raises Refused while too few replicas are in sync.

    Attributes:
        leader_epoch: of the partition when this was made, which is the coordinator's epoch; under
            another one nothing is decided any more, nor appended.
        observer: is told what was decided, and what was refused.
    """

    def __init__(
        self,
        log: PartitionLog,
        machine: M,
        codec: tuple[Encode, Decode],
        *,
        clock: Clock,
        carry_out: Callable[[Shard[Any], Effect], None],
        on_append: Callable[[PartitionLog], None],
        on_refused: Callable[[PartitionLog, Refused], None] = lambda log, refused: None,
        flushes: Flushes | None = None,
        check_may_append: Callable[[PartitionLog], None] | None = None,
    ) -> None:
        self.log = log
        self.leader_epoch = log.leader_epoch
        self.machine = machine
        self._any: Any = machine  # the same, as what `Machine` and `PendingMachine` promise
        self._encode, self._decode = codec
        self._clock = clock
        self._carry_out = carry_out
        self._on_append = on_append
        self._on_refused = on_refused
        self._flushes = flushes
        self._check_may_append = check_may_append
        self.observer: Observer | None = None
        self._last_ticket = 0
        self._parked: dict[int, asyncio.Future[Any]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_deadline_ms: int | None = None
        self._was_tick_refused = False
        self._closed = False
        self._loading = False

    @property
    def partition(self) -> int:
        return self.log.partition

    @property
    def is_closed(self) -> bool:
        """Whether it has been unloaded, or another epoch has begun: somebody else coordinates."""
        return self._closed or self.log.leader_epoch != self.leader_epoch

    @property
    def is_loading(self) -> bool:
        """Whether not all of the log has been replayed yet."""
        return self._loading

    async def run(self, decide: Callable[[M, int], Outcome[Reply]]) -> Reply:
        """Decide and make it so; the reply. Raises Refused, and then nothing has changed.

        Others may decide on the new state while this one waits, but no reply that rests on it
        leaves before it is on disk, where `flush.messages` wants that.
        """
        try:
            reply = self.run_now(decide)
        except Refused as refused:
            raise _in_words_of_a_coordinator(refused) from refused.__cause__
        if self.log.recovery_point < self.log.flush_asked:
            await self._flushed()
        return reply

    def run_now(self, decide: Callable[[M, int], Outcome[Reply]]) -> Reply:
        """`run` for who cannot wait: the marker channel, timers."""
        self._check_open()
        now_ms = self._clock.now_ms()
        due_ms = self._timer_deadline_ms
        if due_ms is not None and due_ms <= now_ms and not self._was_tick_refused:
            self._tick()  # what is due comes first, however late the event loop is
        try:
            outcome = decide(self.machine, now_ms)
        except Refused as refused:
            if self.observer is not None:
                self.observer.refused(refused.code)
            raise
        self._make_so(outcome, now_ms)
        return outcome.reply

    async def run_parked(self, decide: Callable[[M, int, int], Outcome[Any]]) -> Any:
        """`run` with a ticket; when the reply is PARKED, waits for the `Answer` of that ticket."""
        self._last_ticket += 1
        ticket = self._last_ticket
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._parked[ticket] = waiting
        try:
            try:
                reply = self.run_now(lambda machine, now_ms: decide(machine, now_ms, ticket))
            except Refused as refused:
                raise _in_words_of_a_coordinator(refused) from refused.__cause__
            if reply is PARKED:
                return await waiting
            if self.log.recovery_point < self.log.flush_asked:
                await self._flushed()
            return reply
        finally:
            self._parked.pop(ticket, None)

    def ask(self, read: Callable[[M], Reply]) -> Reply:
        """What the machine says, changing nothing. Raises Refused when it is unloaded."""
        self._check_open()
        try:
            return read(self.machine)
        except Refused as refused:
            if self.observer is not None:
                self.observer.refused(refused.code)
            raise

    def write_marker(self, producer: Producer, *, commit: bool, coordinator_epoch: int) -> None:
        """End a producer's transaction on this partition: the marker into the log, then replayed.

        Raises:
            Refused: the log does not take it (TRANSACTION_COORDINATOR_FENCED, storage errors), or
                the coordinator has been unloaded.
        """
        self._check_open()
        now_ms = self._clock.now_ms()
        batch = marker(
            commit=commit,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=now_ms,
        )
        self.log.append_marker(batch, now_ms=now_ms)
        self._any.replay_marker(producer, commit=commit)
        self._on_append(self.log)
        self._set_timer()

    def begin_loading(self) -> None:
        """From now on answer nobody, until the log has been replayed."""
        self._loading = True

    def load(self) -> None:
        """Replay the whole log into the machine. Raises Refused or Malformed: it is damaged."""
        for _ in self.load_in_slices():
            pass

    def load_in_slices(self) -> Iterator[None]:
        """Replay the log, pausing every few milliseconds; it answers nobody before the end.

        Raises:
            Refused, Malformed: the log is damaged.
        """
        self._loading = True
        offset, end = self.log.log_start_offset, self.log.log_end_offset
        until_s = monotonic_s() + _SLICE_S
        while offset < end:
            data = self.log.read(offset, max_bytes=_LOAD_BYTES, up_to=end, min_one=True).records
            before = offset
            for position, header in headers_in(data):
                offset = header.next_offset
                self._replay_batch(data, position, header)
                if monotonic_s() > until_s:
                    yield
                    if self.is_closed:
                        return
                    until_s = monotonic_s() + _SLICE_S
            if offset == before:
                break
        self._loading = False
        self._set_timer()

    def start_timer(self) -> None:
        """Begin to tick; called when the event loop runs."""
        self._set_timer()

    def close(self) -> None:
        """Unload: no timer runs, and who waits is told to look for another coordinator."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for waiting in self._parked.values():
            if not waiting.done():
                waiting.set_exception(Refused(Code.NOT_COORDINATOR))

    def _check_open(self) -> None:
        if self._closed:
            raise Refused(Code.NOT_COORDINATOR, "the coordinator has been unloaded")
        if self.log.leader_epoch != self.leader_epoch:
            why = f"of epoch {self.leader_epoch}; it is {self.log.leader_epoch} now"
            raise Refused(Code.NOT_COORDINATOR, f"a coordinator {why}")
        if self._loading:
            raise Refused(Code.COORDINATOR_LOAD_IN_PROGRESS)

    def _replay_batch(self, data: Bytes, position: int, header: BatchHeader) -> None:
        producer = Producer(header.producer_id, header.producer_epoch)
        if header.record_count == 0:
            return  # compaction took its records
        if header.is_control:
            ended = read_marker(data, position, header)
            if ended is not None:
                self._any.replay_marker(producer, commit=ended.commit)
            return
        for stored in records_in(data, position, header):
            record = self._decode(stored.key or b"", stored.value)
            if record is None:
                continue
            if header.is_transactional:
                self._any.replay_pending(record, producer)
            else:
                self._any.replay(record)

    def _make_so(self, outcome: Outcome[Any], now_ms: int, *, by_timer: bool = False) -> None:
        if outcome.records:
            try:
                self._append(outcome.records, outcome.producer, now_ms)
            except Refused:
                self._carry_out_all(filter(_is_true_anyway, outcome.effects))
                raise
            if self.observer is not None:
                self.observer.decided(outcome, now_ms, by_timer=by_timer)
        if outcome.effects and self.log.recovery_point < self.log.flush_asked:
            assert self._flushes is not None, "without them an append flushes"
            self._flushes.when_flushed(self.log, partial(self._carry_out_all, outcome.effects))
        else:
            self._carry_out_all(outcome.effects)
        self._set_timer()

    def _carry_out_all(self, effects: Iterable[Effect], refused: Refused | None = None) -> None:
        """Do what a decision asked for besides the records; they are on disk by now, or never."""
        for effect in effects:
            if isinstance(effect, Answer):
                waiting = self._parked.get(effect.ticket)
                if waiting is not None and not waiting.done():
                    if refused is None:
                        waiting.set_result(effect.reply)
                    else:
                        waiting.set_exception(_in_words_of_a_coordinator(refused))
            elif refused is None:
                self._carry_out(self, effect)

    async def _flushed(self) -> None:
        assert self._flushes is not None, "without them an append flushes"
        refused = await self._flushes.flushed(self.log)
        if refused is not None:
            raise _in_words_of_a_coordinator(refused)

    def _append(self, records: Iterable[Any], producer: Producer | None, now_ms: int) -> None:
        if self._check_may_append is not None:
            self._check_may_append(self.log)
        encoded = [self._encode(record) for record in records]
        if producer is None:
            batch = build(encoded, timestamp_ms=now_ms)
        else:
            batch = build(
                encoded,
                timestamp_ms=now_ms,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                transactional=True,
            )
        try:
            self.log.append(batch, now_ms=now_ms, origin=Origin.COORDINATOR)
        except Refused as refused:
            self._on_refused(self.log, refused)
            raise
        for record in records:
            if producer is None:
                self._any.replay(record)
            else:
                self._any.replay_pending(record, producer)
        self._on_append(self.log)

    def _set_timer(self) -> None:
        deadline_ms = None if self._closed or self._loading else self._any.next_deadline()
        if deadline_ms == self._timer_deadline_ms:
            return
        armed_ms = self._timer_deadline_ms
        if armed_ms is not None and deadline_ms is not None and armed_ms < deadline_ms:
            return  # it wakes up too early and looks again: cheaper than a timer for each request
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_deadline_ms = None, None
        if deadline_ms is None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # loading before the loop runs; start_timer comes later
        wait_s = max(0, deadline_ms - self._clock.now_ms()) / 1000
        self._timer = loop.call_later(wait_s, self._tick)
        self._timer_deadline_ms = deadline_ms

    def _tick(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_deadline_ms, self._was_tick_refused = None, None, False
        if self.is_closed:
            return
        now_ms = self._clock.now_ms()
        deadline_ms = self._any.next_deadline()
        if deadline_ms is None or deadline_ms > now_ms:
            self._set_timer()  # it has moved meanwhile
            return
        try:
            self._make_so(self._any.tick(now_ms), now_ms, by_timer=True)
        except Refused as refused:
            _log.error(
                "a timer's work was refused",
                topic=self.log.topic,
                partition=self.partition,
                reason=str(refused),
            )
            # Not at once, and not again for each request that comes meanwhile.
            self._timer = asyncio.get_running_loop().call_later(_RETRY_S, self._tick)
            self._timer_deadline_ms, self._was_tick_refused = self._any.next_deadline(), True


def _is_true_anyway(effect: Effect) -> bool:
    return isinstance(effect, Answer) and effect.is_true_anyway


def _in_words_of_a_coordinator(refused: Refused) -> Refused:
    """Of a disk that fails clients of a coordinator know nothing: they look for another one."""
    if refused.code == Code.KAFKA_STORAGE_ERROR:
        return Refused(Code.NOT_COORDINATOR, refused.why)
    if refused.code == Code.NOT_ENOUGH_REPLICAS:
        return Refused(Code.COORDINATOR_NOT_AVAILABLE, refused.why)
    return refused
