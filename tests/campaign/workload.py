"""The steps of the campaign on a broker's storage, and views of their results.

A `World` is a data directory with its catalog, logs and coordinators, opened as in a broker. Each
step is one acknowledged operation, which a client repeats if it got no answer. Worlds share nothing
but the disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

from ottla.broker.event_stream import Events
from ottla.broker.events import RecordsAppended, RequestAnswered
from ottla.broker.runtime.controller.controller import Controller
from ottla.broker.runtime.groups.group_settings import group_machine
from ottla.broker.runtime.markers import markers
from ottla.broker.runtime.shards.shard import Shard, ShardServices
from ottla.broker.runtime.share.share_persister import share_state_shard
from ottla.broker.settings.config import BrokerConfig
from ottla.coordinator import group_records
from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.coordinator.consumer.requests import HeartbeatRequest
from ottla.coordinator.groups import ClaimedMember, Groups
from ottla.coordinator.offsets import OffsetToCommit
from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.share_state.coordinator import ShareStates
from ottla.coordinator.share_state.states import SharePartition, StateBatch
from ottla.coordinator.transactions import records as transaction_records
from ottla.coordinator.transactions.coordinator import Transactions
from ottla.metadata.catalog import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    Catalog,
)
from ottla.metadata.records import EndPoint
from ottla.protocol.api_keys import ApiKey
from ottla.storage.disk.damage import Damage
from ottla.storage.kraft.metadata_log import MetadataLog, MetadataLogConfig
from ottla.storage.log import PartitionLog
from ottla.storage.log_directory import LogDirectory
from tests.campaign.crash_disk import CrashDisk
from tests.clocks import StillClock
from tests.storage.compacting import committed, compacted, values
from tests.storage.logs import batch, everything, in_transaction, sent_by

SETTINGS = {
    "log.flush.interval.messages": "1",
    "offsets.topic.num.partitions": "1",
    "share.coordinator.snapshot.update.records.per.snapshot": "2",
    "share.coordinator.state.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
CONFIG = BrokerConfig.from_settings(SETTINGS)
METADATA = MetadataLogConfig(flush_messages=1, retention_bytes=3000)
SEGMENT_BYTES = 420
INTERNAL_SEGMENT_BYTES = 900
HERE = EndPoint("PLAINTEXT", "localhost", 9092)


class World:
    """One run of a broker, without sockets and an event loop."""

    def __init__(self, disk: CrashDisk, now_ms: int) -> None:
        self.disk = disk
        self.clock = StillClock(now_ms)
        self.damages: list[Damage] = []
        self.directory = LogDirectory.open(
            disk, "data", node_id=1, cluster_id="campaign", now_ms=now_ms
        )
        self.directory.report = self.damages.append
        self.catalog = Catalog()
        metadata_log = MetadataLog.open(self.directory, now_ms=now_ms, config=METADATA)
        metadata_log.replay_into(self.catalog)
        made: Counter[int] = Counter()

        def new_id() -> UUID:
            """An id of this time, so that a step has the same one after a restart."""
            made[self.time_ms] += 1
            return UUID(bytes=Random(f"{self.time_ms} {made[self.time_ms]}").randbytes(16))

        self.metadata_log = metadata_log
        self.events = Events()
        self.controller = Controller(
            self.catalog, metadata_log, self.directory, config=CONFIG, clock=self.clock,
            events=self.events, new_id=new_id,
        )  # fmt: skip
        self.controller.bootstrap()
        self.controller.topic_logs.open_all()
        self.directory.permit_saves()
        self.controller.register_broker(1, [HERE])
        made.clear()  # a start takes an id for itself, and the step at which it starts does not
        self.events.on_change = self._update_observers
        self.groups: Shard[Groups] | None = None
        self.transactions: Shard[Transactions] | None = None
        self.share_states: Shard[ShareStates] | None = None
        self.refresh()

    @property
    def time_ms(self) -> int:
        """The wall time."""
        return self.clock.wall_ms

    @time_ms.setter
    def time_ms(self, now_ms: int) -> None:
        self.clock.wall_ms = now_ms

    def refresh(self) -> None:
        """Use small segments, and load the coordinators."""
        for log in self.directory.logs():
            internal = log.topic.startswith("__")
            size = INTERNAL_SEGMENT_BYTES if internal else SEGMENT_BYTES
            log.config = replace(log.config, segment_bytes=size, index_interval_bytes=200)
        if self.groups is None and CONSUMER_OFFSETS in self.catalog.topics:
            machine = group_machine(CONFIG, self.catalog)
            self.groups = self._shard(CONSUMER_OFFSETS, machine)
            self.groups.load()
        if self.transactions is None and TRANSACTION_STATE in self.catalog.topics:
            transactions = Transactions(next_producer_id=lambda: 1000)
            self.transactions = self._shard(TRANSACTION_STATE, transactions)
            self.transactions.load()
        if self.share_states is None and SHARE_GROUP_STATE in self.catalog.topics:
            log = self.log(SHARE_GROUP_STATE)
            self.share_states = share_state_shard(CONFIG, self.catalog, log, self._services())
            self.share_states.load()
            self.share_states.run_now(lambda machine, now: machine.forget_missing_topics())

    def _services(self) -> ShardServices:
        return ShardServices(self.clock, wake_fetches=_nothing, events=self.events)

    def _shard(self, topic: str, machine: Any) -> Shard[Any]:
        records = group_records if topic == CONSUMER_OFFSETS else transaction_records
        codec: Any = (records.encode, records.decode)
        return Shard(self.log(topic), machine, codec, self._services(), carry_out=_nothing)

    def _update_observers(self) -> None:
        self.disk.on_event = self.events.tell

    def answered(self, api_key: ApiKey) -> None:
        """A step is acknowledged, as a request of this API would be."""
        if self.events.tell is not None:
            here = (self.node_id, "campaign", "campaign")
            self.events.tell(RequestAnswered(*here, api_key, 0, 0))

    # The partitions for `markers.append`

    @property
    def node_id(self) -> int:
        return 1

    def leader_of(self, topic: str, partition: int) -> int | None:
        return self.node_id

    def open_led_log(self, topic: str, partition: int) -> PartitionLog:
        return self.log(topic, partition)

    def check_in_sync(self, log: PartitionLog) -> None:
        """The only replica is in sync."""

    def group_shard_at(self, partition: int) -> Shard[Any]:
        assert self.groups is not None
        return self.groups

    def wake_fetches(self, topic: str, partition: int) -> None:
        """No fetch waits here."""

    def log(self, topic: str, partition: int = 0) -> PartitionLog:
        log = self.directory.log_of(topic, partition)
        assert log is not None, (topic, partition)
        return log

    def close(self) -> None:
        self.directory.close(clean=True)

    # Operations of steps

    def append(self, data: bytearray, topic: str = "orders", partition: int = 0) -> None:
        log = self.log(topic, partition)
        log.append(bytes(data), now_ms=self.time_ms)
        if self.events.tell is not None:
            self.events.tell(RecordsAppended(topic, partition, log.log_end_offset))

    def init_producer(self) -> None:
        self.coordinator.run_now(
            lambda machine, now: machine.init_producer_id(
                "shop", timeout_ms=60_000, now_ms=now.wall_ms
            )
        )

    @property
    def coordinator(self) -> Shard[Transactions]:
        assert self.transactions is not None
        return self.transactions

    @property
    def shop(self) -> Producer:
        return self.coordinator.ask(lambda machine: machine.describe("shop").producer)

    def add_partitions(self, *partitions: tuple[str, int]) -> None:
        self.coordinator.run_now(
            lambda machine, now: machine.add_partitions(
                "shop", self.shop, partitions, now_ms=now.wall_ms
            )
        )

    def write_in_transaction(self, sequence: int, partition: int) -> None:
        shop = self.shop
        data = in_transaction(shop.producer_id, sequence, 2, shop.producer_epoch)
        self.append(data, partition=partition)

    def commit_in_transaction(self, offset: int) -> None:
        assert self.groups is not None
        self.groups.run_now(
            lambda machine, now: machine.commit_in_transaction(
                "g", ClaimedMember(), self.shop, [OffsetToCommit("orders", 0, offset)], now=now
            )
        )

    def commit_offset(self, partition: int, offset: int) -> None:
        assert self.groups is not None
        self.groups.run_now(
            lambda machine, now: machine.commit(
                "g", ClaimedMember(), [OffsetToCommit("orders", partition, offset)], now=now
            )
        )

    def join_group(self, member_id: str) -> None:
        """A member joins the consumer group `readers` (KIP-848)."""
        self._heartbeat(
            HeartbeatRequest(
                "readers", member_id, 0,
                rebalance_timeout_ms=60_000,
                subscribed_topic_names=frozenset({"orders"}),
                owned={},
            )
        )  # fmt: skip

    def leave_group(self, member_id: str) -> None:
        """A member leaves the consumer group `readers`."""
        self._heartbeat(HeartbeatRequest("readers", member_id, -1))

    def _heartbeat(self, request: HeartbeatRequest) -> None:
        assert self.groups is not None
        self.groups.run_now(
            lambda machine, now: machine.kind(ConsumerKind).consumer_heartbeat(request, now=now)
        )

    def share(
        self, decide: Callable[[ShareStates, SharePartition, int], Outcome[Any]], topic: str
    ) -> None:
        """Decide on the state of the share group `s` for a topic, with the wall time."""
        assert self.share_states is not None
        key = SharePartition("s", self.catalog.topics[topic].topic_id, 0)
        self.share_states.run_now(lambda machine, now: decide(machine, key, now.wall_ms))

    def initialize_share(self, topic: str, epoch: int) -> None:
        self.share(
            lambda machine, key, now_ms: machine.initialize(
                key, state_epoch=epoch, start_offset=0, now_ms=now_ms
            ),
            topic,
        )

    def write_share(self, topic: str, start_offset: int, *batches: StateBatch) -> None:
        """Write what has changed: an update, or after two of them a snapshot."""
        self.share(
            lambda machine, key, now_ms: machine.write(
                key, state_epoch=1, leader_epoch=0, start_offset=start_offset,
                delivery_complete_count=0, batches=batches, now_ms=now_ms,
            ),
            topic,
        )  # fmt: skip

    def delete_share(self, topic: str) -> None:
        self.share(lambda machine, key, _: machine.delete(key), topic)

    def age_share(self) -> None:
        """Let the time for snapshots of unchanged states pass; then the log is pruned."""
        assert self.share_states is not None
        self.share_states.tick()
        interval_ms = CONFIG["share.coordinator.cold.partition.snapshot.interval.ms"]
        self.time_ms += interval_ms
        self.clock.passed_ms += interval_ms
        self.share_states.tick()
        self.directory.checkpoint()

    def delete_shared(self, name: str) -> None:
        """Delete a topic, and then the states of it."""
        gone = self.catalog.topics.get(name)
        if gone is not None:
            self.controller.delete_topic(name)
        assert self.share_states is not None
        self.share_states.run_now(lambda machine, now: machine.forget_missing_topics())

    def end(self, *, commit: bool) -> None:
        self.coordinator.run_now(
            lambda machine, now: machine.end("shop", self.shop, commit=commit, now_ms=now.wall_ms)
        )

    def write_marker(self, topic: str, partition: int) -> None:
        """Write the markers of the prepared transaction."""
        (effect,) = self.coordinator.ask(lambda machine: machine.unfinished())
        prepared = effect.transaction
        commit = prepared.state.name == "PREPARE_COMMIT"
        place, producer = (topic, partition), prepared.producer
        markers.append(self, place, producer, commit=commit, coordinator_epoch=0)

    def complete(self) -> None:
        (effect,) = self.coordinator.ask(lambda machine: machine.unfinished())
        self.coordinator.run_now(
            lambda machine, now: machine.markers_written(effect.transaction, now_ms=now.wall_ms)
        )

    def delete_records(self, before_offset: int, topic: str = "orders") -> None:
        self.log(topic).delete_records(before_offset)
        self.directory.checkpoint()

    def compact(self, topic: str) -> None:
        log = self.log(topic)
        log.config = replace(log.config, min_cleanable_dirty_ratio=0.0)
        compacted(log, self.disk, now_ms=self.time_ms)
        log.remove_deleted(self.time_ms)
        log.remove_deleted(self.time_ms + 10**9)

    def snapshot(self) -> None:
        """Write a metadata snapshot; the second one replaces the first and old segments."""
        content = self.metadata_log.take_snapshot(self.catalog, now_ms=self.time_ms)
        if content is not None:  # it already exists if the step is repeated
            self.metadata_log.log.flush()
            for blocking in self.metadata_log.write_snapshot(content, now_ms=self.time_ms):
                if blocking is not None:
                    blocking()
        self.metadata_log.log.roll(self.time_ms)

    def internal(self, name: str) -> None:
        self.controller.create_internal_topic(name)

    def create(self, name: str, partitions: int, **configs: str) -> None:
        if name not in self.catalog.topics:
            self.controller.create_topic(
                name, partitions=partitions, configs={k: v for k, v in configs.items()}
            )

    def delete(self, name: str) -> None:
        if name in self.catalog.topics:
            self.controller.delete_topic(name)


def _nothing(*_: object) -> None:
    """Carry out no effects, because separate steps do that."""


@dataclass(frozen=True)
class Step:
    """One operation, acknowledged when it returns.

    Attributes:
        again: a repetition changes nothing.
        api_key: of its request.
    """

    name: str
    do: Callable[[World], None]
    again: bool = False
    api_key: ApiKey = ApiKey.PRODUCE


def _transaction(sequence: int, *, commit: bool, offset: int) -> list[Step]:
    places = (("orders", 0), ("orders", 1), (CONSUMER_OFFSETS, 0))
    steps = [
        Step("init", World.init_producer),
        Step("add", lambda world: world.add_partitions(*places)),
        *(
            Step(
                f"write {n}", partial(World.write_in_transaction, sequence=n * 2, partition=n % 2),
                again=True,
            )
            for n in range(1)
        ),
        Step("offsets", partial(World.commit_in_transaction, offset=offset)),
        Step("write other", partial(World.write_in_transaction, sequence=0, partition=1)),
        Step("end", partial(World.end, commit=commit), api_key=ApiKey.END_TXN),
        *(
            Step(f"marker {topic}-{partition}", partial(
                World.write_marker, topic=topic, partition=partition
            ))
            for topic, partition in places
        ),
        Step("complete", World.complete),
    ]  # fmt: skip
    return [replace(step, name=f"{step.name} #{sequence}") for step in steps]


def _append(data: bytearray, **place: Any) -> Callable[[World], None]:
    return lambda world: world.append(data, **place)


def _share(start_offset: int, batch: StateBatch) -> Callable[[World], None]:
    return lambda world: world.write_share("orders", start_offset, batch)


def steps() -> list[Step]:
    """The script."""
    table = {"cleanup.policy": "compact"}
    return [
        Step("create orders", lambda world: world.create("orders", 2)),
        Step("internal topics", lambda world: world.internal(CONSUMER_OFFSETS)),
        Step("internal topics 2", lambda world: world.internal(TRANSACTION_STATE)),
        Step("internal topics 3", lambda world: world.internal(SHARE_GROUP_STATE)),
        Step("create table", lambda world: world.create("table", 1, **table)),
        Step("first", _append(sent_by(1, 0, 2)), again=True),
        Step("plain", _append(batch(b"plain" * 9))),
        Step("second", _append(sent_by(1, 2, 3)), again=True),
        Step("commit offset", partial(World.commit_offset, partition=1, offset=1)),
        Step("join a", partial(World.join_group, member_id="a"), again=True),
        Step("join b", partial(World.join_group, member_id="b")),
        Step("share orders", partial(World.initialize_share, topic="orders", epoch=1)),
        *_transaction(0, commit=True, offset=4),
        *(Step(f"share {n}", _share(n, StateBatch(n, n + 1, n % 2 * 2, 1))) for n in range(3)),
        *(Step(f"key {n}", _append(batch(b"v%d" % n, key=b"k%d" % (n % 3)), topic="table"))
          for n in range(9)),
        Step("snapshot", World.snapshot, again=True),
        Step("checkpoint", lambda world: world.directory.checkpoint()),
        Step("create gone", lambda world: world.create("gone", 1)),
        Step("into gone", _append(batch(b"x", b"y", b"z"), topic="gone")),
        Step("share gone", partial(World.initialize_share, topic="gone", epoch=1)),
        Step("gone begins late", partial(World.delete_records, before_offset=2, topic="gone")),
        *_transaction(1, commit=False, offset=9),
        Step("delete gone", lambda world: world.delete_shared("gone"), again=True),
        Step("compact table", partial(World.compact, topic="table")),
        Step("create gone again", lambda world: world.create("gone", 1)),
        Step("into gone again", _append(batch(b"x"), topic="gone")),
        Step("third", _append(sent_by(1, 5, 4)), again=True),
        Step("leave a", partial(World.leave_group, member_id="a")),
        Step("snapshot again", World.snapshot, again=True),
        Step("create late", lambda world: world.create("late", 1)),
        Step("snapshot at last", World.snapshot, again=True),
        *(Step(f"commit offset {n}", partial(World.commit_offset, partition=1, offset=n))
          for n in range(2, 6)),
        Step("share late", partial(World.initialize_share, topic="late", epoch=1)),
        Step("share grows old", World.age_share),
        Step("share late no more", partial(World.delete_share, topic="late"), again=True),
        *(Step(f"share {n}", _share(n, StateBatch(n, n + 3, 4, 1))) for n in range(3, 7)),
        Step("share orders anew", partial(World.initialize_share, topic="orders", epoch=2)),
        Step("delete records", partial(World.delete_records, before_offset=6)),
        *(Step(f"filler {n}", _append(batch(b"f" * 60), partition=0)) for n in range(5)),
        Step("key last", _append(batch(None, key=b"k0"), topic="table")),
        *_transaction(2, commit=True, offset=12),
        Step("compact offsets", partial(World.compact, topic=CONSUMER_OFFSETS)),
        Step("compact transactions", partial(World.compact, topic=TRANSACTION_STATE)),
        Step("compact table again", partial(World.compact, topic="table")),
        Step("delete more records", partial(World.delete_records, before_offset=14)),
        Step("last", _append(sent_by(1, 9, 1)), again=True),
    ]  # fmt: skip


# Views

Seen = dict[str, Any]


def seen(world: World) -> Seen:
    """All values that a client could read."""
    found: Seen = {
        "topics": {
            name: (len(topic.partitions), dict(world.catalog.overrides(2, name)))
            for name, topic in world.catalog.topics.items()
        }
    }
    for log in world.directory.logs():
        if log.topic != "__cluster_metadata":
            found[f"{log.topic}-{log.partition}"] = _log_seen(log)
    if world.share_states is not None:
        found[SHARE_GROUP_STATE] = world.share_states.ask(partial(_shares_seen, world))
    for shard in (world.groups, world.transactions):
        if shard is not None:
            found[shard.log.topic] = shard.ask(_machine_seen)
    return found


def _log_seen(log: PartitionLog) -> Seen:
    rows = sorted(
        (
            entry.producer_id, entry.producer_epoch, entry.coordinator_epoch,
            entry.transaction_first_offset, entry.last_sequence,
        )
        for entry in log.producers.producers()
    )  # fmt: skip
    found: Seen = {
        "end": log.log_end_offset,
        "stable": log.last_stable_offset,
        "producers": rows,
    }
    if log.config.compacts:
        if not log.topic.startswith("__"):
            newest = dict(values(log).values())
            found["table"] = {key: value for key, value in newest.items() if value is not None}
        return found
    found["start"] = log.log_start_offset
    found["batches"] = [(header.base_offset, data[17:]) for header, data in everything(log)]
    found["committed"] = [(record.offset, record.value) for record in committed(log)]
    return found


def _shares_seen(world: World, machine: ShareStates) -> Any:
    """The states of the share group `s` by topic, and their number."""
    states = {
        name: machine.state_of(SharePartition("s", topic.topic_id, 0))
        for name, topic in world.catalog.topics.items()
    }
    return (states, len(machine))


def _machine_seen(machine: Any) -> Any:
    if isinstance(machine, Transactions):
        try:
            known = machine.describe("shop")
        except Exception:
            return None
        return (known.producer, known.state, known.partitions)
    members: dict[str, Any] = {}
    if machine.kinds.find("readers") is not None:
        described = machine.kind(ConsumerKind).describe("readers")
        members = {member.member_id: member for member in described.members}
        members["epochs"] = (described.state, described.epoch, described.target_epoch)
    return members | {
        (partition, stable): machine.fetch_offset("g", "orders", partition, require_stable=stable)
        for partition in (0, 1)
        for stable in (False, True)
    }


def agrees(found: Seen, expected: Seen, other: Seen) -> bool:
    """Whether the found view equals the expected one, or has only deleted less than `other`.

    Records may be deleted segment by segment: a log begins anywhere between the two. The log of
    share states may begin earlier: what a crash has kept from being pruned goes an interval later.
    """
    if found.keys() != expected.keys():
        return False
    pruned = f"{SHARE_GROUP_STATE}-0"
    return all(
        _log_agrees(
            found[name], expected[name], {"start": 0} if name == pruned else other.get(name, {})
        )
        if isinstance(found[name], dict) and "start" in found[name]
        else found[name] == expected[name]
        for name in found
    )


def _log_agrees(found: Seen, expected: Seen, other: Seen) -> bool:
    starts = sorted((expected["start"], other.get("start", expected["start"])))
    if not starts[0] <= found["start"] <= starts[1]:
        return False
    first = max(found["start"], expected["start"])
    for name in ("batches", "committed"):
        if [row for row in found[name] if row[0] >= first] != [
            row for row in expected[name] if row[0] >= first
        ]:
            return False
    return all(found[name] == expected[name] for name in ("end", "stable", "producers"))
