"""Brokers with the real logs and coordinators, on disks in memory.

Each partition has a disk that outlives its leader, as if it were replicated. The next leader opens
it with the next epoch. A disk that fails kills the leader; the seed says which data is lost.
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

from ottla.broker.runtime.markers.marker_channel import resume
from ottla.broker.runtime.shards.shard import Shard, ShardServices
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
from ottla.storage.appended import Appended
from ottla.storage.disk.damage import Damage
from ottla.storage.log import LogServices, PartitionLog
from ottla.storage.log_config import LogConfig
from ottla.storage.recovery.recovery import Stop
from tests.storage.disk import PowerCut

from .broker_clock import BrokerClock
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
"""An answer, and the logs that must be flushed before it is sent."""

OFFSETS: Final = (CONSUMER_OFFSETS, 0)
EXPIRATION_MS: Final = 7 * DAY_MS
MAX_TIMEOUT_MS: Final = 15 * 60 * 1000
_IDS_IN_A_BLOCK: Final = 5
_FOR_EVER_MS: Final = 1 << 50


class Durability(Enum):
    """Data lost in a crash: `flush.messages`, and whether process or power fails."""

    KILL = auto()
    """No complete write is lost; the write of the crash is partial."""
    POWER = auto()
    """Each append is flushed at once."""
    DEFERRED = auto()
    """Appends are flushed later and answers wait; half of the unflushed bytes stay."""


@dataclass
class Hosted:
    """A partition and its present leader."""

    partition: Partition
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
        """Refuse a marker with the next planned error."""
        if self.marker_refusals:
            raise Refused(self.marker_refusals.pop(), "as a fault")


class _Watched(Transactions):
    """The real machine; its ticks are reported to an observer."""

    def __init__(self, on_time: Callable[[TransactionRecord], None], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._on_time = on_time

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        for outcome in super().tick(now):
            for record in outcome.records:
                self._on_time(record)
            yield outcome


class _NotedLog(PartitionLog):
    """The real log; duplicates are reported to an observer."""

    on_duplicate: Callable[[], None]

    def append_checked(self, checked: Any, *, now_ms: int, from_client: bool = True) -> Appended:
        appended = super().append_checked(checked, now_ms=now_ms, from_client=from_client)
        if appended.is_duplicate:
            self.on_duplicate()
        return appended


class _DeferredFlushes:
    """Like broker/runtime/logs/flushes.py, with events of the scheduler instead of threads."""

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
        known = Flushed()
        self.when_flushed(log, known.tell)
        return known

    def _flush(self, log: PartitionLog) -> None:
        waiting = self._waiting.pop(log)
        if log.is_closed:  # closed by a clean stop, which flushed it, or by a crash
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
        partitions: data partitions; internal topics are added.
        coordinators: number of partitions of `__transaction_state`.
        flush_ms: longest time of a deferred flush.
        batch_bytes: limit of a batch in the coordinators' logs.
        has_own_channel: use the broker's own marker channel, and not a second implementation.

    Attributes:
        nodes: the brokers of that channel; empty without it.
        refused_for_good: a partition refused a marker permanently.
        refused: chance that a coordinator's log refuses an append, until the faults end.
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
        # How often each transactional id got a new owner or expired, until now and until each owner
        # got it. A fenced producer must have been fenced by a later owner.
        self.fencings: Counter[str] = Counter()
        self.fencings_before: dict[tuple[str, Any], int] = {}
        self.fencing = Fencing.NOBODY
        self._config = LogConfig(segment_bytes=segment_bytes, min_insync_replicas=2)
        if durability is not Durability.KILL:
            self._config = replace(self._config, flush_messages=1)
        self._config_of_coordinators = replace(self._config, max_message_bytes=batch_bytes)
        self.refused = 0.0
        self.clock = BrokerClock(scheduler)
        self.flushes = _DeferredFlushes(self, flush_ms)
        self._blocks = count(1, _IDS_IN_A_BLOCK)
        self.brokers = [Process(f"broker {number}") for number in range(brokers)]
        self._ids = [self._producer_ids() for _ in range(brokers)]
        self.nodes: list[SimulatedNode] = []
        self.loop = SimulatedLoop(scheduler, self._guard) if has_own_channel else None
        self.data = tuple(partitions)
        self.coordinators = tuple((TRANSACTION_STATE, index) for index in range(coordinators))
        self.hosted: dict[Partition, Hosted] = {}
        for partition in (*self.data, OFFSETS, *self.coordinators):
            disk = TornDisk(scheduler.random)
            disk.make_directory("data")
            disk.make_directory(_directory(partition))
            leader = scheduler.random.randrange(brokers)
            self.hosted[partition] = Hosted(partition, disk, leader)
        if has_own_channel:
            self.nodes = [SimulatedNode(self, number) for number in range(brokers)]
        topics = topics_of(self)
        self.handling = [HandlingNode(self, number, topics) for number in range(brokers)]
        with running(scheduler, self.loop):
            for hosted in self.hosted.values():
                self._open(hosted)

    def coordinator_of(self, transactional_id: str) -> Partition:
        return self.coordinators[partition_for(transactional_id, len(self.coordinators))]

    # Requests to brokers

    def handle(self, broker: int, ask: Ask) -> Request:
        """The work of a request to a handler at the broker that receives it."""
        return handled(self, broker, ask)

    def serve(
        self, broker: int, partition: Partition, work: Callable[[Hosted], Answered]
    ) -> Request:
        """The work of a request at a broker that may be dead or not the leader."""

        def request(respond: Respond) -> None:
            process, hosted = self.brokers[broker], self.hosted[partition]
            if not process.is_alive:
                return
            if hosted.leader != broker or hosted.log is None:
                is_data = partition[0] != TRANSACTION_STATE and partition != OFFSETS
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
        """Let a coordinator decide, for some broker. Raises Refused, Crashed."""
        if hosted.shard is None:
            raise Refused(Code.NOT_COORDINATOR)
        try:
            with self.dying():
                return hosted.shard.run_now(decide)
        finally:
            self.fencing = Fencing.NOBODY

    @contextmanager
    def dying(self) -> Iterator[None]:
        """Kill the broker whose disk fails inside the block, and raise Crashed."""
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
        """Tick each coordinator whose deadline passed `late_ms` ago.

        On an event loop the shards tick by themselves.
        """
        if self.loop is not None:
            return
        for partition in (*self.coordinators, OFFSETS):
            hosted = self.hosted[partition]
            if hosted.shard is None or self._sleeps(hosted.leader):
                continue
            now = Moment(*self.clock.both_ms())
            due_ms = hosted.shard.machine.next_deadline(now)
            if due_ms is not None and due_ms + late_ms <= now.monotonic_ms:
                self.scheduler.note("tick", *partition)
                try:
                    with self.dying():
                        hosted.shard.tick()
                except Crashed:
                    return
                finally:
                    self.fencing = Fencing.NOBODY

    def _sleeps(self, broker: int) -> bool:
        return self.brokers[broker].paused_until_ms > self.scheduler.now_ms

    # Faults of brokers

    def crash(self, broker: int) -> None:
        """Crash a broker; others take over its partitions, and it restarts later."""
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
        if hosted.partition in self.coordinators and hosted.shard is not None:
            known = hosted.shard.machine.listed(now_ms=0)
            hosted.known = {each.transactional_id: each for each in known}
        if hosted.log is not None:
            hosted.log.is_closed = True
        if hosted.shard is not None:
            hosted.shard.close()
            if self.nodes and hosted.partition in self.coordinators:
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
            self.scheduler.note("broker crashes opening", *hosted.partition)
            hosted.disk = hosted.disk.left(power_cut=self.durability is not Durability.KILL)
            hosted.log = None
            hosted.is_clean = False
            self.scheduler.after(50, lambda: self._take_over(hosted))

    def _tell_of_leader(self) -> None:
        for node, process in zip(self.nodes, self.brokers, strict=False):
            if process.is_alive:
                self._guard(node.markers.leaders_changed)

    def move(self, hosted: Hosted, *, leaves_zombie: bool) -> None:
        """Elect a leader of a partition: another broker, or the same one in a new epoch.

        Args:
            leaves_zombie: the old leader does not notice and keeps sending markers.
        """
        if hosted.log is None:
            return
        self.scheduler.note("leader moves", *hosted.partition, leaves_zombie)
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

    def reload(self) -> None:
        """Reload all coordinators on some brokers, so that they send markers again."""
        for partition in self.coordinators:
            self.move(self.hosted[partition], leaves_zombie=False)

    def expire_producers(self) -> None:
        """Partitions remove producers that were idle for a day."""
        for hosted in self.hosted.values():
            if hosted.log is not None:
                hosted.log.producers.expire(
                    self.clock.now_ms(), self._config.producer_id_expiration_ms
                )

    # Opening

    def _producer_ids(self) -> ProducerIds:
        return ProducerIds(lambda: (next(self._blocks), _IDS_IN_A_BLOCK))

    def _open(self, hosted: Hosted) -> None:
        topic, index = hosted.partition
        hosted.leader_epoch += 1
        config = self._config if hosted.partition in self.data else self._config_of_coordinators
        on_flush_due = self.flushes.ask if self.durability is Durability.DEFERRED else None
        services = LogServices(hosted.disk, "data", _no_damage, on_flush_due)
        stop = Stop(hosted.is_clean, recovery_point=hosted.synced_to)
        log = _NotedLog(
            services, topic, index, config=config, stop=stop, now_ms=self.scheduler.now_ms
        )
        log.leader_epoch = hosted.leader_epoch
        log.on_duplicate = partial(self.scheduler.note, "duplicate batch", *hosted.partition)
        hosted.log = log
        try:
            if hosted.partition in self.coordinators:
                self._load_transactions(hosted, log)
            elif hosted.partition == OFFSETS:
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
            and (record.state is State.EMPTY or (record.state is State.ONGOING and record.is_kept))
        ):
            owner = (record.transactional_id, record.owner)
            self.fencings_before[owner] = self.fencings[record.transactional_id]

    def _shard(self, log: PartitionLog, machine: Any, codec: Any, carry_out: Any) -> Shard[Any]:
        flushes = self.flushes if self.durability is Durability.DEFERRED else None
        services = ShardServices(
            self.clock, lambda *_: None, flushes=flushes, check_may_append=self._check_in_sync
        )
        return Shard(log, machine, codec, services, carry_out=carry_out)

    def _check_in_sync(self, log: PartitionLog) -> None:
        """Sometimes there are too few in-sync replicas. Raises Refused."""
        if self.refused and not self.is_calm and self.scheduler.random.random() < self.refused:
            self.scheduler.note("append refused", log.topic, log.partition)
            raise Refused(Code.NOT_ENOUGH_REPLICAS)

    def _check_reloaded(self, hosted: Hosted, machine: Transactions) -> None:
        """A replay of the log must give the coordinator's state, or that of its last append."""
        found = {each.transactional_id: each for each in machine.listed(now_ms=0)}
        for transactional_id in {**hosted.known, **found}:
            history = hosted.written.get(transactional_id, [])
            possible = [hosted.known.get(transactional_id), *history[-1:]]
            if self.durability is Durability.DEFERRED:
                possible += [*history, None]
            self_again = _as_logged(found.get(transactional_id))
            assert self_again in map(_as_logged, possible), (
                f"a replay of the log gives another state: {self_again}, not {possible[:2]}"
            )


def _as_logged(record: TransactionRecord | None) -> Transaction | None:
    """Without values that Kafka's record does not store."""
    if record is None or isinstance(record, Expired):
        return None
    if record.last_producer_epoch == NO_EPOCH:
        record = record._replace(previous_producer_id=NO_PRODUCER_ID)
    return record._replace(last_producer_epoch=NO_EPOCH)


def _directory(partition: Partition) -> str:
    return f"data/{partition[0]}-{partition[1]}"


def _no_damage(damage: Damage) -> None:
    """Raise AssertionError, because acknowledged data is never damaged.

    Unflushed data may be (a torn write, a truncation), and the leader epoch file: it is rebuilt.
    """
    if damage.file.endswith("leader-epoch-checkpoint") or "not synced" in damage.why:
        return
    raise AssertionError(f"the log reports damage of undamaged data: {damage}")
