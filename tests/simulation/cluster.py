"""Brokers: real logs and coordinators on disks in memory, led by one broker after another.

Each partition has a disk that outlives its leader, as if it were replicated; whoever leads it next
opens it under the next leader epoch. A disk may be cut at any of its operations, which kills the
broker that leads it. What is lost then is by the seed's kind of durability.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import partial
from itertools import count
from typing import Any, Final, TypeVar

from ottla.broker.clock import SystemClock
from ottla.broker.runtime.marker_channel import resume
from ottla.broker.runtime.shard import Shard, ShardServices
from ottla.coordinator.classic.requests import GroupSettings
from ottla.coordinator.group_records import decode as decode_of_groups
from ottla.coordinator.group_records import encode as encode_of_groups
from ottla.coordinator.groups import Groups
from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import Outcome
from ottla.coordinator.partitioning import partition_for
from ottla.coordinator.transactions.coordinator import DAY_MS, Transactions
from ottla.coordinator.transactions.producer_ids import ProducerIds
from ottla.coordinator.transactions.records import decode, encode
from ottla.coordinator.transactions.states import (
    NO_EPOCH,
    NO_PRODUCER_ID,
    Expired,
    Partition,
    State,
    Transaction,
    TransactionRecord,
)
from ottla.metadata.catalog import CONSUMER_OFFSETS, TRANSACTION_STATE
from ottla.protocol.errors import Code, Refused
from ottla.storage.checking import Checked
from ottla.storage.damage import Damage
from ottla.storage.log import Appended, LogServices, PartitionLog
from ottla.storage.log_config import LONG_MAX, LogConfig
from ottla.storage.recovery import Stop
from tests.storage.disk import PowerCut

from .channel import Channel
from .disk import TornDisk
from .handling import Flushed, HandlingNode, handled, topics_of
from .loop import SimulatedLoop, running
from .network import Crashed, Network, Request, Respond
from .nodes import SimulatedNode
from .requests import Ask, Fencing
from .scheduler import Process, Scheduler

Reply = TypeVar("Reply")
Answered = tuple[Any, tuple[PartitionLog, ...]]
"""An answer, and the logs that are to be on disk before it leaves."""

OFFSETS: Final = (CONSUMER_OFFSETS, 0)
EXPIRATION_MS: Final = 7 * DAY_MS
MAX_TIMEOUT_MS: Final = 15 * 60 * 1000
_IDS_IN_A_BLOCK: Final = 5
_FOR_EVER_MS: Final = 1 << 50


class Durability(Enum):
    """What the death of a broker costs: `flush.messages`, and process or power."""

    KILL = auto()
    """Nothing that was written; the write that it died in is there by half."""
    POWER = auto()
    """Each append is synced before anything else happens."""
    DEFERRED = auto()
    """Appends are synced a little later, and answers wait; half of the unsynced bytes stay."""


@dataclass
class Hosted:
    """A partition, wherever it is led now."""

    place: Partition
    disk: TornDisk
    leader: int
    leader_epoch: int = -1
    log: PartitionLog | None = None
    shard: Shard[Any] | None = None
    channel: Channel | None = None
    is_clean: bool = True
    synced_to: int = 0
    marker_refusals: list[Code] = field(default_factory=list)
    written: dict[str, list[TransactionRecord]] = field(default_factory=dict)
    known: dict[str, Transaction] = field(default_factory=dict)

    @property
    def open_log(self) -> PartitionLog:
        if self.log is None:
            raise Refused(Code.NOT_LEADER_OR_FOLLOWER)
        return self.log

    def check_marker(self) -> None:
        """Refuse a marker with the next of the errors that there are to be."""
        if self.marker_refusals:
            raise Refused(self.marker_refusals.pop(), "as a fault")


class _Watched(Transactions):
    """The machine as it is, and somebody who is told what time does."""

    def __init__(self, on_time: Callable[[TransactionRecord], None], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._on_time = on_time

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        for outcome in super().tick(now):
            for record in outcome.records:
                self._on_time(record)
            yield outcome


class _NotedLog(PartitionLog):
    """The log as it is, and somebody who is told of duplicates."""

    on_duplicate: Callable[[], None]

    def append_checked(self, checked: Checked, *, now_ms: int) -> Appended:
        appended = super().append_checked(checked, now_ms=now_ms)
        if appended.is_duplicate:
            self.on_duplicate()
        return appended


class _Clock(SystemClock):
    """The brokers' clock.

    Attributes:
        step_ms, has_stepped: by how much the wall clock was set, and whether it ever was.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler
        self._latest_step_ms, self.step_ms, self.has_stepped = 0, 0, False

    def step(self, by_ms: int) -> None:
        """Set the wall clock, forward or back."""
        self.step_ms += by_ms
        self.has_stepped = True
        self._latest_step_ms = max(self._latest_step_ms, self.step_ms)

    def catch_up(self) -> None:
        """Let the wall clock show at least what it has ever shown."""
        self.step_ms = self._latest_step_ms

    def now_ms(self) -> int:
        return self._scheduler.now_ms + self.step_ms

    def monotonic_ms(self) -> int:
        return self._scheduler.now_ms


class _DeferredFlushes:
    """As broker/runtime/flushes.py, with events of the scheduler for threads."""

    def __init__(self, cluster: Cluster, longest_ms: int) -> None:
        self._cluster = cluster
        self._longest_ms = longest_ms
        self._waiting: dict[PartitionLog, list[tuple[int, Callable[[Any], None]]]] = {}

    def ask(self, log: PartitionLog, up_to: int) -> None:
        if log not in self._waiting:
            self._waiting[log] = []
            scheduler = self._cluster.scheduler
            scheduler.after(scheduler.random.randint(0, self._longest_ms), lambda: self._flush(log))

    def when_flushed(self, log: PartitionLog, done: Callable[[Any], None]) -> None:
        if not log.awaits_flush:
            done(None)
            return
        self.ask(log, log.flush_due_offset)
        self._waiting[log].append((log.flush_due_offset, done))

    def flushed(self, log: PartitionLog) -> Flushed:
        told = Flushed()
        self.when_flushed(log, told.tell)
        return told

    def _flush(self, log: PartitionLog) -> None:
        waiting = self._waiting.pop(log)
        if log.is_closed:  # by a clean end, which flushed it, or by a crash
            for offset, done in waiting:
                gone = Refused(Code.KAFKA_STORAGE_ERROR, "the log was closed")
                done(None if offset <= log.recovery_point else gone)
            return
        with suppress(Crashed), self._cluster.dying():
            log.flush()
            for _, done in waiting:
                done(None)


class Cluster:
    """All brokers and partitions.

    Args:
        partitions: of data; the internal topics are its own matter.
        coordinators: partitions of `__transaction_state`.
        flush_ms: how long a deferred flush takes at most.
        batch_bytes: how large a batch of the logs of coordinators may be.
        has_own_channel: markers go by the broker's own channel, on a simulated event loop, instead
            of by one that follows Kafka's rules alone.

    Attributes:
        nodes: the brokers as that channel sees them; empty without it.
        refused_for_good: a marker was refused with an error after which it is not sent again.
        refused: how likely a coordinator's log does not take what was decided, until it is calm.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        network: Network,
        *,
        brokers: int,
        partitions: Iterable[Partition],
        coordinators: int,
        durability: Durability,
        segment_bytes: int,
        flush_ms: int,
        batch_bytes: int,
        has_own_channel: bool,
    ) -> None:
        self.scheduler = scheduler
        self.network = network
        self.durability = durability
        self.is_calm = False
        self.refused_for_good = False
        # How often each id had a new owner, or lost its last one to time, until now; and until each
        # owner had it. Who is fenced must have been fenced by somebody.
        self.fencings: Counter[str] = Counter()
        self.fencings_before: dict[tuple[str, Any], int] = {}
        self.fencing = Fencing.NOBODY
        flush_messages = LONG_MAX if durability is Durability.KILL else 1
        self._config = LogConfig(flush_messages=flush_messages, segment_bytes=segment_bytes)
        self._config_of_coordinators = replace(self._config, max_message_bytes=batch_bytes)
        self.refused = 0.0
        self.clock = _Clock(scheduler)
        self.flushes = _DeferredFlushes(self, flush_ms)
        self._blocks = count(1, _IDS_IN_A_BLOCK)
        self.brokers = [Process(f"broker {number}") for number in range(brokers)]
        self._ids = [self._producer_ids() for _ in range(brokers)]
        self.nodes: list[SimulatedNode] = []
        self.loop = SimulatedLoop(scheduler, self._guard) if has_own_channel else None
        self.data = tuple(partitions)
        self.coordinators = tuple((TRANSACTION_STATE, index) for index in range(coordinators))
        self.hosted: dict[Partition, Hosted] = {}
        for place in (*self.data, OFFSETS, *self.coordinators):
            disk = TornDisk(scheduler.random)
            disk.make_directory("data")
            disk.make_directory(_directory(place))
            leader = scheduler.random.randrange(brokers)
            self.hosted[place] = Hosted(place, disk, leader)
        if has_own_channel:
            self.nodes = [SimulatedNode(self, number) for number in range(brokers)]
        topics = topics_of(self)
        self.handling = [HandlingNode(self, number, topics) for number in range(brokers)]
        with running(scheduler, self.loop):
            for hosted in self.hosted.values():
                self._open(hosted)

    def coordinator_of(self, transactional_id: str) -> Partition:
        return self.coordinators[partition_for(transactional_id, len(self.coordinators))]

    # What brokers do

    def handle(self, broker: int, ask: Ask) -> Request:
        """What a request to a handler does where it arrives."""
        return handled(self, broker, ask)

    def serve(self, broker: int, place: Partition, work: Callable[[Hosted], Answered]) -> Request:
        """What a request does where it arrives: at a broker that may be dead or not the leader."""

        def request(respond: Respond) -> None:
            process, hosted = self.brokers[broker], self.hosted[place]
            if not process.is_alive:
                return
            if hosted.leader != broker or hosted.log is None:
                is_data = place[0] != TRANSACTION_STATE and place != OFFSETS
                respond(Code.NOT_LEADER_OR_FOLLOWER if is_data else Code.NOT_COORDINATOR)
                return
            try:
                with self.dying():
                    result, logs = work(hosted)
            except Refused as refused:
                result, logs = refused.code, ()
            except Crashed:
                return
            self.when_flushed(process, logs, lambda: respond(result))

        return request

    def run(self, hosted: Hosted, decide: Callable[[Any, Moment], Outcome[Reply]]) -> Reply:
        """Let a coordinator decide, in the work of some broker. Raises Refused, Crashed."""
        if hosted.shard is None:
            raise Refused(Code.NOT_COORDINATOR)
        try:
            with self.dying():
                return hosted.shard.run_now(decide)
        finally:
            self.fencing = Fencing.NOBODY

    @contextmanager
    def dying(self) -> Iterator[None]:
        """Kill the broker whose disk is cut by what is done within. Raises Crashed then."""
        try:
            yield
        except PowerCut:
            for hosted in self.hosted.values():
                if hosted.log is not None and hosted.disk.operations == hosted.disk.cut_at:
                    self.crash(hosted.leader)
            raise Crashed from None

    def _guard(self, callback: Callable[[], None]) -> None:
        with suppress(Crashed), self.dying():
            callback()

    def when_flushed(
        self, process: Process, logs: tuple[PartitionLog, ...], done: Callable[[], None]
    ) -> None:
        if not process.is_alive:
            return
        if not logs:
            done()
            return
        first, *rest = logs

        def flushed(refused: Refused | None) -> None:
            if refused is None:
                self.when_flushed(process, tuple(rest), done)

        self.flushes.when_flushed(first, flushed)

    def tick(self, late_ms: int) -> None:
        """Do what is due by the coordinators' own deadlines, or was due `late_ms` ago.

        On an event loop they do that themselves.
        """
        if self.loop is not None:
            return
        for place in (*self.coordinators, OFFSETS):
            hosted = self.hosted[place]
            if hosted.shard is None or self._sleeps(hosted.leader):
                continue
            now = Moment(self.clock.now_ms(), self.clock.monotonic_ms())
            due_ms = hosted.shard.machine.next_deadline(now)
            if due_ms is not None and due_ms + late_ms <= now.monotonic_ms:
                self.scheduler.note("tick", *place)
                try:
                    with self.dying():
                        hosted.shard.tick()
                except Crashed:
                    return
                finally:
                    self.fencing = Fencing.NOBODY

    def _sleeps(self, broker: int) -> bool:
        return self.brokers[broker].paused_until_ms > self.scheduler.now_ms

    # What happens to them

    def crash(self, broker: int) -> None:
        """A broker loses its memory, and comes again later; others take over what it led."""
        scheduler = self.scheduler
        scheduler.note("broker crashes", broker)
        self.brokers[broker].is_alive = False
        if self.nodes:
            self.nodes[broker].markers.stop()
        for hosted in self.hosted.values():
            if hosted.leader == broker and hosted.log is not None:
                self._lose(hosted)
        longest_ms = 100 if self.is_calm else 800
        scheduler.after(scheduler.random.randint(1, longest_ms), lambda: self._restart(broker))

    def _lose(self, hosted: Hosted) -> None:
        log, scheduler = hosted.log, self.scheduler
        assert log is not None
        hosted.is_clean = False
        hosted.synced_to = scheduler.random.choice([0, log.recovery_point])
        if self.durability is Durability.KILL:
            hosted.synced_to = 0
        hosted.disk = hosted.disk.left(power_cut=self.durability is not Durability.KILL)
        self._let_go(hosted)
        longest_ms = 100 if self.is_calm else 300
        scheduler.after(scheduler.random.randint(1, longest_ms), lambda: self._take_over(hosted))

    def _let_go(self, hosted: Hosted) -> None:
        if hosted.place in self.coordinators and hosted.shard is not None:
            known = hosted.shard.machine.listed(now_ms=0)
            hosted.known = {each.transactional_id: each for each in known}
        if hosted.log is not None:
            hosted.log.is_closed = True
        if hosted.shard is not None:
            hosted.shard.close()
            if self.nodes and hosted.place in self.coordinators:
                self.nodes[hosted.leader].markers.forget(hosted.shard)
        hosted.log = hosted.shard = hosted.channel = None

    def _restart(self, broker: int) -> None:
        self.scheduler.note("broker restarts", broker)
        self.brokers[broker] = Process(f"broker {broker}")
        self._ids[broker] = self._producer_ids()
        if self.nodes:
            self.nodes[broker] = SimulatedNode(self, broker)

    def _take_over(self, hosted: Hosted) -> None:
        alive = [number for number, each in enumerate(self.brokers) if each.is_alive]
        if not alive:
            self.scheduler.after(50, lambda: self._take_over(hosted))
            return
        hosted.leader = self.scheduler.random.choice(alive)
        if not self.is_calm and self.scheduler.random.random() < 0.1:
            hosted.disk.cut_at = hosted.disk.operations + self.scheduler.random.randint(1, 6)
        try:
            self._open(hosted)
            self._tell_of_leader()
        except PowerCut:
            self.scheduler.note("broker crashes opening", *hosted.place)
            hosted.disk = hosted.disk.left(power_cut=self.durability is not Durability.KILL)
            hosted.log = None
            hosted.is_clean = False
            self.scheduler.after(50, lambda: self._take_over(hosted))

    def _tell_of_leader(self) -> None:
        for node, process in zip(self.nodes, self.brokers, strict=False):
            if process.is_alive:
                self._guard(node.markers.leaders_changed)

    def move(self, hosted: Hosted, *, leaves_zombie: bool) -> None:
        """Another broker leads a partition from now on, or the same one anew.

        Args:
            leaves_zombie: the old leader does not know: its markers keep coming.
        """
        if hosted.log is None:
            return
        self.scheduler.note("leader moves", *hosted.place, leaves_zombie)
        log = hosted.log
        if hosted.channel is not None and not leaves_zombie:
            hosted.channel.stop()
        try:
            with self.dying():
                log.close(clean=True)
        except Crashed:
            return
        hosted.is_clean = True
        hosted.synced_to = log.recovery_point
        self._let_go(hosted)
        self.scheduler.after(self.scheduler.random.randint(0, 100), lambda: self._take_over(hosted))

    def load_anew(self) -> None:
        """Have other leaders, or the same ones, begin anew with what coordinators have prepared."""
        for place in self.coordinators:
            self.move(self.hosted[place], leaves_zombie=False)

    def expire_producers(self) -> None:
        """Partitions forget producers that were silent for a day, as they do in the background."""
        for hosted in self.hosted.values():
            if hosted.log is not None:
                hosted.log.producers.expire(
                    self.clock.now_ms(), self._config.producer_id_expiration_ms
                )

    # Opening

    def _producer_ids(self) -> ProducerIds:
        return ProducerIds(lambda: (next(self._blocks), _IDS_IN_A_BLOCK))

    def _open(self, hosted: Hosted) -> None:
        topic, index = hosted.place
        hosted.leader_epoch += 1
        config = self._config if hosted.place in self.data else self._config_of_coordinators
        on_flush_due = self.flushes.ask if self.durability is Durability.DEFERRED else None
        services = LogServices(hosted.disk, "data", _no_damage, on_flush_due)
        stop = Stop(hosted.is_clean, recovery_point=hosted.synced_to)
        log = _NotedLog(
            services, topic, index, config=config, stop=stop, now_ms=self.scheduler.now_ms
        )
        log.leader_epoch = hosted.leader_epoch
        log.on_duplicate = partial(self.scheduler.note, "duplicate batch", *hosted.place)
        hosted.log = log
        try:
            if hosted.place in self.coordinators:
                self._load_transactions(hosted, log)
            elif hosted.place == OFFSETS:
                groups = Groups(GroupSettings(offsets_retention_ms=_FOR_EVER_MS))
                hosted.shard = self._shard(
                    log, groups, (encode_of_groups, decode_of_groups), lambda shard, effect: None
                )
                hosted.shard.load()
        except PowerCut:
            self._let_go(hosted)
            raise
        hosted.is_clean = False

    def _load_transactions(self, hosted: Hosted, log: PartitionLog) -> None:
        machine = _Watched(
            self._note_time,
            next_producer_id=lambda: self._ids[hosted.leader].next(),
            transaction_max_timeout_ms=MAX_TIMEOUT_MS,
            transactional_id_expiration_ms=EXPIRATION_MS,
            coordinator_epoch=hosted.leader_epoch,
        )

        def encoded(record: TransactionRecord) -> tuple[bytes, bytes | None]:
            hosted.written.setdefault(record.transactional_id, []).append(record)
            self._note_fencing(record)
            return encode(record)

        if self.nodes:
            node = self.nodes[hosted.leader]
            shard = hosted.shard = self._shard(log, machine, (encoded, decode), node.markers.write)
            shard.load()
            self._check_reloaded(hosted, machine)
            self._guard(lambda: resume(node.markers, shard))
            return
        channel = hosted.channel = Channel(self, hosted.leader, hosted.leader_epoch)
        shard = hosted.shard = self._shard(log, machine, (encoded, decode), channel.carry_out)
        shard.load()
        self._check_reloaded(hosted, machine)
        for effect in machine.unfinished():
            channel.carry_out(shard, effect)

    def _note_time(self, record: TransactionRecord) -> None:
        self.scheduler.note("expired" if isinstance(record, Expired) else "timed out")
        self.fencings[record.transactional_id] += 1

    def _note_fencing(self, record: TransactionRecord) -> None:
        is_aborted = isinstance(record, Transaction) and record.state is State.PREPARE_ABORT
        if self.fencing is Fencing.NEW_OWNER or (self.fencing is Fencing.SAME_OWNER and is_aborted):
            self.fencings[record.transactional_id] += 1
        if (
            self.fencing is not Fencing.NOBODY
            and isinstance(record, Transaction)
            and record.state is State.EMPTY
        ):
            owner = (record.transactional_id, record.producer)
            self.fencings_before[owner] = self.fencings[record.transactional_id]

    def _shard(self, log: PartitionLog, machine: Any, codec: Any, carry_out: Any) -> Shard[Any]:
        flushes = self.flushes if self.durability is Durability.DEFERRED else None
        services = ShardServices(
            self.clock, lambda log: None, flushes=flushes, check_may_append=self._check_in_sync
        )
        return Shard(log, machine, codec, services, carry_out=carry_out)

    def _check_in_sync(self, log: PartitionLog) -> None:
        """Now and then too few replicas are. Raises Refused."""
        if self.refused and not self.is_calm and self.scheduler.random.random() < self.refused:
            self.scheduler.note("append refused", log.topic, log.partition)
            raise Refused(Code.NOT_ENOUGH_REPLICAS)

    def _check_reloaded(self, hosted: Hosted, machine: Transactions) -> None:
        """The log alone must lead back to what the coordinator knew, or to the write it died in."""
        found = {each.transactional_id: each for each in machine.listed(now_ms=0)}
        for transactional_id in {**hosted.known, **found}:
            history = hosted.written.get(transactional_id, [])
            possible = [hosted.known.get(transactional_id), *history[-1:]]
            if self.durability is Durability.DEFERRED:
                possible += [*history, None]
            self_again = _as_logged(found.get(transactional_id))
            assert self_again in map(_as_logged, possible), (
                f"the log leads back to another state: {self_again}, not {possible[:2]}"
            )


def _as_logged(record: TransactionRecord | None) -> Transaction | None:
    """Without what Kafka's record has no field for, and who nobody repeats anything as."""
    if record is None or isinstance(record, Expired):
        return None
    if record.last_producer_epoch == NO_EPOCH:
        record = replace(record, previous_producer_id=NO_PRODUCER_ID)
    return replace(record, last_producer_epoch=NO_EPOCH)


def _directory(place: Partition) -> str:
    return f"data/{place[0]}-{place[1]}"


def _no_damage(damage: Damage) -> None:
    """Nothing of what was acknowledged is ever damaged.

    What was not synced may be: a write that a loss of power tore, a recovery that cut it off and
    was not synced either; and the epochs, which are made anew from the data.
    """
    if damage.file.endswith("leader-epoch-checkpoint") or "not synced" in damage.why:
        return
    raise AssertionError(f"the log found damage where there is none: {damage}")
