"""A node: what a handler is given.

It has an id and a listener and leads partitions; whether it leads is asked of it from the first
day, although one node leads all. It owns the logs, the catalog and the coordinators, and knows
neither sockets nor frames.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..coordinator.outcome import Effect
from ..coordinator.producer_ids import ProducerIds
from ..coordinator.transaction_states import TransactionRecord, WriteMarkers
from ..coordinator.transactions import Transactions
from ..protocol.errors import Code, Refused
from ..storage.catalog import CONSUMER_OFFSETS, TRANSACTION_STATE, Catalog, Topic
from ..storage.doubt import Damage
from ..storage.files import RealFiles
from ..storage.log import PartitionLog
from ..storage.log_directory import LogDirectory
from ..storage.metadata_log import MetadataLog
from ..storage.metadata_records import EndPoint
from .authorization import authorizer_of
from .background import Background
from .clock import Clock
from .config import BrokerConfig
from .controller import Controller
from .coordinators import Coordinator
from .fetch_sessions import FetchSessions
from .fetch_waits import FetchWaits
from .flushes import Flushes
from .listeners import Listener
from .loading import Loading
from .logs import Log
from .metadata_snapshots import MetadataSnapshots, metadata_log_config
from .marker_channel import MarkerChannel, resume
from .shard import Shard
from .storage_trouble import StorageTrouble

if TYPE_CHECKING:
    from ..coordinator.groups import Groups

_NO_EPOCH = -1
_log = Log("node")


class Node:
    """One broker.

    Args:
        config: its settings.
        data_dir: where its logs are; locked while it runs.
        clock: the time.

    Raises:
        DirectoryInUse, WrongDirectory: what `LogDirectory.open` raises.
        Refused: CORRUPT_MESSAGE: the log of the metadata is damaged.
    """

    def __init__(self, config: BrokerConfig, data_dir: Path, clock: Clock) -> None:
        self.config = config
        self.clock = clock
        self.node_id = config.node_id
        self.is_stopping = False
        self.listener = ("", 0)  # what clients are told where they say nothing of a listener
        self.storage_trouble = StorageTrouble(clock)
        self.fetch_waits = FetchWaits()
        self.fetch_sessions = FetchSessions(
            limit=config["max.incremental.fetch.session.cache.slots"]
        )
        now_ms = clock.now_ms()
        self.logs = LogDirectory.open(
            RealFiles(), str(data_dir), node_id=self.node_id, cluster_id=None, now_ms=now_ms
        )
        self.logs.report = _tell_of_damage
        self.cluster_id = self.logs.cluster_id
        self.catalog = Catalog()
        metadata_log = MetadataLog.open(
            self.logs, now_ms=now_ms, config=metadata_log_config(config)
        )
        metadata_log.replay_into(self.catalog)
        self.authorizer = authorizer_of(config, self.catalog.acls)
        self.flushes = Flushes(metadata_log.log)
        self.logs.on_flush_due = metadata_log.log.on_flush_due = self.flushes.ask
        self.controller = Controller(
            self.catalog, metadata_log, self.logs, node_id=self.node_id, config=config, clock=clock
        )
        self._snapshots = MetadataSnapshots(metadata_log, self.catalog, self.flushes, clock)
        self.controller.on_decided = self._snapshots.decided
        self.controller.bootstrap()
        self.controller.open_logs()
        self.producer_ids = ProducerIds(self.controller.next_producer_id_block)
        self.loading = Loading()
        self.marker_channel = MarkerChannel(self)
        self.transactions: Coordinator[Transactions] = Coordinator(
            TRANSACTION_STATE, self._transaction_shard, self.loading,
            on_loaded=partial(resume, self.marker_channel),
            on_unloaded=self.marker_channel.forget,
        )  # fmt: skip
        self.groups: Coordinator[Groups] = Coordinator(
            CONSUMER_OFFSETS, self._group_shard, self.loading, on_loaded=self._group_loaded
        )
        self._deleted_while_loading: set[str] = set()
        self.controller.on_topic_created.append(self._topic_created)
        self.controller.on_topic_deleted.append(self._topic_deleted)
        self.controller.on_partitions_created.append(lambda topic, _: self._topic_created(topic))
        self._background = Background(self)

    def log_of(self, topic: str, partition: int) -> PartitionLog | None:
        """The log of a partition; None: see `why_missing`."""
        log = self.logs.log_of(topic, partition)
        if log is None and (topic, partition) in self.logs.failed:
            self.controller.open_logs_of(topic)  # the disk may have room again
            log = self.logs.log_of(topic, partition)
        return log

    def why_missing(self, topic: str, partition: int) -> Code:
        """What to say of a partition that has no log."""
        if (topic, partition) in self.logs.failed:
            return Code.KAFKA_STORAGE_ERROR
        return Code.UNKNOWN_TOPIC_OR_PARTITION

    def leads(self, topic: str, partition: int) -> bool:
        """Whether this node is the partition's leader."""
        known = self.catalog.topics.get(topic)
        return (
            known is not None
            and 0 <= partition < len(known.partitions)
            and known.partitions[partition].leader_id == self.node_id
        )

    def led_log(self, topic: str, partition: int) -> PartitionLog:
        """The log of a partition that this node leads.

        Raises:
            Refused: what `why_missing` says, NOT_LEADER_OR_FOLLOWER.
        """
        log = self.log_of(topic, partition)
        if log is None:
            raise Refused(self.why_missing(topic, partition))
        if not self.leads(topic, partition):
            raise Refused(Code.NOT_LEADER_OR_FOLLOWER)
        return log

    def check_leader_epoch(self, log: PartitionLog, current_leader_epoch: int) -> None:
        """Compare the epoch that a client believes in with the log's (KIP-320).

        Raises:
            Refused: FENCED_LEADER_EPOCH when the client's is older, UNKNOWN_LEADER_EPOCH when it
                is newer; -1 is no epoch and always right.
        """
        if current_leader_epoch in (_NO_EPOCH, log.leader_epoch):
            return
        if current_leader_epoch < log.leader_epoch:
            raise Refused(Code.FENCED_LEADER_EPOCH)
        raise Refused(Code.UNKNOWN_LEADER_EPOCH)

    async def decided(self) -> None:
        """Wait until what was decided is on disk, if `log.flush.interval.messages` wants it there.

        Raises:
            Refused: KAFKA_STORAGE_ERROR.
        """
        log = self.flushes.metadata_log
        if log.recovery_point < log.flush_asked:
            refused = await self.flushes.flushed(log)
            if refused is not None:
                raise refused

    def appended(self, log: PartitionLog) -> None:
        """Records or a marker came to a log: whoever waits for them looks again."""
        self.fetch_waits.wake(log.topic, log.partition)

    def start(self, advertised: list[Listener]) -> None:
        """Register, finish what a crash left unfinished, and begin to tick; the event loop runs.

        Args:
            advertised: what clients are told to connect to; the first is the default.
        """
        self.listener = (advertised[0].host, advertised[0].port)
        self.controller.register_broker(
            self.node_id,
            [EndPoint(each.name, each.host, each.port, 0) for each in advertised],
        )
        for name in (TRANSACTION_STATE, CONSUMER_OFFSETS):
            topic = self.catalog.topics.get(name)
            if topic is not None:
                self._topic_created(topic)
        self._background.start()
        self._snapshots.start()

    def carry_out(self, shard: Shard[Any], effect: Effect) -> None:
        """Do what a decision asked for besides records and a reply."""
        if isinstance(effect, WriteMarkers):
            self.marker_channel.write(shard, effect)
        else:
            raise TypeError(f"nobody carries out {effect!r}")

    def stop_coordinating(self) -> None:
        """Send away who waits for a coordinator: members of groups would wait for each other."""
        self.is_stopping = True
        self.loading.stop()
        self.transactions.unload()
        self.groups.unload()
        self.marker_channel.stop()

    def close(self, *, clean: bool = True) -> None:
        """Unload the coordinators, flush and close all logs, and leave the clean mark."""
        self.stop_coordinating()
        self._background.stop()
        self._snapshots.stop()
        self.flushes.close()
        if clean:
            with suppress(Refused):  # the disk fails: the next start meets a broker that lives
                self.controller.unregister_broker(self.node_id)
            self.flushes.flush_all(self.logs.logs())
        self.logs.close(clean=clean)

    def _topic_created(self, topic: Topic) -> None:
        """A topic, or more partitions of one, are there; internal ones get their coordinators."""
        led = {
            partition.index: partition.leader_epoch
            for partition in topic.partitions
            if partition.leader_id == self.node_id
        }
        for coordinator in (self.transactions, self.groups):
            if coordinator.topic == topic.name:
                coordinator.follow(len(topic.partitions), led)

    def _topic_deleted(self, topic: Topic) -> None:
        for coordinator in (self.transactions, self.groups):
            if coordinator.topic == topic.name:
                coordinator.unload()
        for partition in topic.partitions:
            self.fetch_waits.wake(topic.name, partition.index)
        if self.loading.left:
            self._deleted_while_loading.add(topic.name)
        for shard in self.groups.shards():
            if not shard.is_loading:
                self._forget_topic(shard, topic.name)

    @staticmethod
    def _forget_topic(shard: Shard[Groups], name: str) -> None:
        shard.run_now(lambda machine, now_ms: machine.forget_topic(name, now_ms=now_ms))

    def _group_loaded(self, shard: Shard[Groups]) -> None:
        for name in self._deleted_while_loading - self.catalog.topics.keys():
            self._forget_topic(shard, name)
        if not self.loading.left:
            self._deleted_while_loading.clear()

    @property
    def transaction_version(self) -> int:
        """The finalized level of the feature: 0, 1 or 2 (KIP-890)."""
        return self.catalog.features.get("transaction.version", 0)

    def _transaction_shard(self, partition: int) -> Shard[Transactions]:
        from ..coordinator.transaction_records import decode, encode, value_version_of

        def encode_now(record: TransactionRecord) -> tuple[bytes, bytes | None]:
            return encode(record, value_version_of(self.transaction_version))

        log = self._internal_log(TRANSACTION_STATE, partition)
        machine = Transactions(
            next_producer_id=self.producer_ids.next,
            transaction_max_timeout_ms=self.config["transaction.max.timeout.ms"],
            transactional_id_expiration_ms=self.config["transactional.id.expiration.ms"],
            coordinator_epoch=log.leader_epoch,
            transaction_version=lambda: self.transaction_version,
            timeout_check_interval_ms=self.config[
                "transaction.abort.timed.out.transaction.cleanup.interval.ms"
            ],
        )
        return Shard(
            log, machine, (encode_now, decode),
            clock=self.clock, carry_out=self.carry_out, on_append=self.appended,
            flushes=self.flushes, on_refused=self.storage_trouble.tell,
        )  # fmt: skip

    def _group_shard(self, partition: int) -> Shard[Groups]:
        from ..coordinator.group_records import decode, encode
        from ..coordinator.groups import Groups
        from .group_settings import group_settings

        log = self._internal_log(CONSUMER_OFFSETS, partition)
        machine = Groups(group_settings(self.config))
        return Shard(
            log, machine, (encode, decode),
            clock=self.clock, carry_out=self.carry_out, on_append=self.appended,
            flushes=self.flushes, on_refused=self.storage_trouble.tell,
        )  # fmt: skip

    def _internal_log(self, topic: str, partition: int) -> PartitionLog:
        log = self.log_of(topic, partition)
        if log is None:
            raise Refused(Code.KAFKA_STORAGE_ERROR, self.logs.failed.get((topic, partition), ""))
        return log


def _tell_of_damage(damage: Damage) -> None:
    _log.error(
        "data on disk are damaged",
        file=damage.file,
        position=damage.position,
        first_offset=damage.first_offset,
        end_offset=damage.end_offset,
        reason=damage.why,
    )
