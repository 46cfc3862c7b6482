"""The nodes of this process and the parts they share: storage, catalog, controller, timed jobs.

Each node leads some of the partitions; all nodes use the same logs. So the replica of a running
node is always in sync, and a record in the metadata log is enough to change a leader.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ..coordinator.partitioning import partition_for
from ..metadata.catalog import TRANSACTION_STATE, Catalog, ResourceType, Topic
from ..metadata.features import OTTLAS, why_unreadable
from ..metadata.leader_changes import balanced
from ..protocol.errors import Code, Refused
from ..storage.disk.damage import Damage
from ..storage.disk.files import Files, RealFiles
from ..storage.disk.meta_properties import WrongDirectory
from ..storage.kraft.metadata_log import MetadataLog
from ..storage.log import PartitionLog
from ..storage.log_directory import LogDirectory
from .clock import Clock, Timer
from .event_stream import Events
from .log_output import Log
from .runtime.controller.controller import Controller
from .runtime.fetching.fetch_waits import FetchWaits
from .runtime.logs.flushes import Flushes
from .runtime.logs.storage_trouble import StorageTrouble
from .runtime.shards.loading import Loading
from .runtime.work_limits import WORK_LIMITS, WorkLimits
from .scheduling.large_requests import LargeRequests
from .scheduling.long_work import LongWork
from .scheduling.turns import measure_slices_by
from .scheduling.workers import Workers
from .settings.config import BrokerConfig
from .upkeep.background import Background
from .upkeep.directory_watch import DirectoryWatch, log_gone
from .upkeep.metadata_snapshots import MetadataSnapshots, metadata_log_config
from .upkeep.removals import Removals
from .variants import USUAL, Variants

if TYPE_CHECKING:
    from pathlib import Path

    from ..coordinator.transactions.coordinator import Transactions
    from .cluster_node import ClusterNode
    from .runtime.shards.name_matching import NameMatching
    from .runtime.shards.shard import Shard
    from .runtime.shards.state_log import StateLog
    from .runtime.share.dead_letters import DeadLetterQueues
    from .runtime.share.share_persister import SharePersister
    from .runtime.share.share_state_work import ShareStateWork
    from .scheduling.holds import Holds

_MOST_ELECTIONS: Final = 1000
_log = Log("nodes")


class Cluster:
    """The parts that all nodes of a process share.

    Args:
        config: of the first node; its settings apply to the storage and to new topics.
        data_dir: the directory of the logs; locked while they are open.
        clock: the time.
        cluster_id: the id that the directory's cluster must have; None for any.
        files: the operations on files; None: the operating system's.
        limits: of the work that is done at once.
        variants: parts that a test may replace.
        holds: measures how long work holds the event loop; None if that is not measured.
        on_directory_gone: called once, with its path, when the data directory is removed; None
            logs it.

    Attributes:
        nodes: by id, running or not; the directory belongs to the first one.
        events: the stream of events of all nodes.
        release: the release of Kafka that the brokers answer as; None for Ottla's own.
        features: the features of that release, or of Ottla.
        directory_watch: detects that the data directory is removed.
        peers: addresses, HOST:PORT, from which nodes are connecting to each other.
        workers: threads for long work that needs no state of the broker.
        long_work: checks large batches in steps between requests.

    Raises:
        DirectoryInUse, WrongDirectory: what `LogDirectory.open` raises.
        Refused: CORRUPT_MESSAGE: the log of the metadata is damaged.
    """

    def __init__(
        self,
        config: BrokerConfig,
        data_dir: Path | str,
        clock: Clock,
        *,
        cluster_id: str | None = None,
        files: Files | None = None,
        limits: WorkLimits = WORK_LIMITS,
        variants: Variants = USUAL,
        holds: Holds | None = None,
        on_directory_gone: Callable[[str], None] | None = None,
    ) -> None:
        self.config = config
        self.clock = clock
        self.nodes: dict[int, ClusterNode] = {}
        self.peers: set[str] = set()
        self.storage_trouble = StorageTrouble(clock)
        self.limits = limits
        self.fetch_waits = FetchWaits(limits.awaited_partitions)
        self.loading = Loading(limits)
        self.holds = holds
        self.variants = variants
        self.release = variants.release
        self.features = OTTLAS if self.release is None else self.release.features
        self.workers = Workers()
        self.large_requests = LargeRequests()
        self.long_work = LongWork(self.workers)
        now_ms = clock.now_ms()
        self.log_directory = LogDirectory.open(
            files or RealFiles(), str(data_dir), node_id=config.node_id, cluster_id=cluster_id,
            now_ms=now_ms,
        )  # fmt: skip
        self.log_directory.report = _log_damage
        self.events = Events()
        self.events.on_change = self._update_observers
        self.catalog = Catalog()
        metadata_log = MetadataLog.open(
            self.log_directory, now_ms=now_ms, config=metadata_log_config(config)
        )
        metadata_log.replay_into(self.catalog)
        unreadable = why_unreadable(self.catalog.features, self.features)
        if unreadable is not None:  # Kafka does not start either
            raise WrongDirectory(f"{data_dir}: {unreadable}")
        self.flushes = Flushes(metadata_log.log)
        self.removals = Removals(self.log_directory.files)
        self.log_directory.remove_directory = self.removals.directory
        self.log_directory.on_flush_due = metadata_log.log.on_flush_due = self.flushes.ask
        self.log_directory.set_on_start_moved(
            lambda log: self.fetch_waits.changed(log.topic, log.partition)
        )
        self._snapshots = MetadataSnapshots(metadata_log, self.catalog, self.flushes, clock)
        self.controller = Controller(
            self.catalog, metadata_log, self.log_directory, config=config, clock=clock,
            limits=limits, events=self.events, on_decided=self._snapshots.decided,
        )  # fmt: skip
        self.controller.features = self.features
        self.controller.bootstrap()
        self.controller.topic_logs.open_all()
        with suppress(OSError):  # the next save of states tries again
            self.log_directory.permit_saves()
        self.controller.on_topic_created.append(self._follow)
        self.controller.on_topic_deleted.append(self._topic_deleted)
        self.controller.on_partitions_created.append(lambda topic, _: self._follow(topic))
        self.controller.on_leaders_changed.append(self._leaders_changed)
        self.controller.on_configs_changed.append(self._configs_changed)
        self._background = Background(
            self.log_directory, config, clock,
            flushes=self.flushes, removals=self.removals, loading=self.loading,
        )  # fmt: skip
        self.directory_watch = DirectoryWatch(
            self.log_directory, clock, on_directory_gone or log_gone
        )
        self._runs = False
        self._balancing: Timer | None = None
        self._jump_watch: Timer | None = None

    def open_log_of(self, topic: str, partition: int) -> PartitionLog | None:
        """The log of a partition, opened or made first if it is not open yet.

        Returns:
            None: see `Node.why_missing`.
        """
        log = self.log_directory.open_logs.get((topic, partition))
        if log is None:
            if (topic, partition) in self.log_directory.failed:
                # The disk may have room again.
                self.controller.topic_logs.open_of(self.catalog.topics[topic])
            else:
                self.controller.topic_logs.make_now(topic, partition)
            log = self.log_directory.log_of(topic, partition)
        return log

    def check_in_sync(self, log: PartitionLog) -> None:
        """Check that enough replicas are in sync for acks=all (Partition.effectiveMinIsr).

        Raises:
            Refused: NOT_ENOUGH_REPLICAS.
        """
        known = self.catalog.topics[log.topic].partitions[log.partition]
        wanted = min(log.config.min_insync_replicas, len(known.replicas))
        if len(known.isr) < wanted:
            why = f"{len(known.isr)} replicas of {log.topic}-{log.partition} are in sync"
            raise Refused(Code.NOT_ENOUGH_REPLICAS, f"{why}, {wanted} are wanted")

    def transaction_shard(self, transactional_id: str) -> Shard[Transactions]:
        """The coordinator of a transactional id, on its node; raises Refused (NOT_COORDINATOR)."""
        topic = self.catalog.topics.get(TRANSACTION_STATE)
        if topic is None:
            raise Refused(Code.NOT_COORDINATOR)
        partition = topic.partitions[partition_for(transactional_id, len(topic.partitions))]
        node = self.nodes.get(partition.leader_id)
        if node is None:
            raise Refused(Code.NOT_COORDINATOR)
        return node.transactions.shard_at(partition.index)

    @cached_property
    def dead_letters(self) -> DeadLetterQueues:
        """The dead letter queues of share groups."""
        from .runtime.share.dead_letters import DeadLetterQueues

        return DeadLetterQueues(self)

    @property
    def loaded_dead_letters(self) -> DeadLetterQueues | None:
        """The dead letter queues; None before the first letter."""
        return self.dead_letters if "dead_letters" in self.__dict__ else None

    @cached_property
    def share_persister(self) -> SharePersister:
        """Keeps the states of the partitions of share groups, at their share coordinators."""
        from .runtime.share.share_persister import SharePersister

        return SharePersister(self.nodes, self.controller, self.log_directory, self.clock)

    @cached_property
    def share_state_work(self) -> ShareStateWork:
        """Initializes and deletes the share state of groups."""
        from .runtime.share.share_state_work import ShareStateWork

        return ShareStateWork(self.share_persister)

    @cached_property
    def name_matching(self) -> NameMatching:
        """Matches names with regular expressions."""
        from .runtime.shards.name_matching import NameMatching

        return NameMatching(self.workers, self.clock.live.monotonic_s)

    @cached_property
    def state_log(self) -> StateLog:
        """The log lines about coordinators; imported with the first of them."""
        from .runtime.shards.state_log import StateLog

        return StateLog(self.clock)

    @property
    def is_busy(self) -> bool:
        """Whether work for no request is under way: in threads, in pauses, or on other nodes."""
        return (
            self.flushes.is_busy
            or self.removals.is_busy
            or self._background.is_compacting
            or any(node.sends_markers for node in self._running())
        )

    def start(self) -> None:
        """Start the timed jobs; needs a running event loop."""
        if not self._runs:
            self._runs = True
            measure_slices_by(self.clock.live.monotonic_s)
            self._watch_clock()
            self.log_directory.remove_leftovers()
            self.controller.fence_others(self.nodes.keys())
            self._background.start()
            self.directory_watch.start()
            self._snapshots.start()
        has_others = len(self.nodes) > 1
        if has_others and self._balancing is None and self.config["auto.leader.rebalance.enable"]:
            self._balance_later()

    def _balance_later(self) -> None:
        interval_s = self.config["leader.imbalance.check.interval.seconds"]
        self._balancing = self.clock.call_after_ms(interval_s * 1000, self._balance)

    def _balance(self) -> None:
        """Make preferred replicas leaders again, so that a node that returned leads its share."""
        self._balance_later()
        try:
            self.controller.change_partitions(balanced(self.catalog, _MOST_ELECTIONS))
        except Refused as refused:  # an error of the disk; the next run tries again
            _log.error("the election of preferred leaders fails", reason=str(refused))

    def close(self, *, clean: bool = True) -> None:
        """Stop all nodes, flush and close all logs, and leave the clean mark."""
        self.loading.stop()
        for timer in (self._balancing, self._jump_watch):
            if timer is not None:
                timer.cancel()
        for node in self.nodes.values():
            node.stop_coordinating()
        if "state_log" in self.__dict__:
            self.state_log.close()
        self._background.stop()
        self.directory_watch.stop()
        self.controller.topic_logs.stop()
        self._snapshots.stop()
        self.flushes.close()
        self.removals.close()
        if "dead_letters" in self.__dict__:
            self.dead_letters.close()
        if "name_matching" in self.__dict__:
            self.name_matching.close()
        if "share_state_work" in self.__dict__:
            self.share_state_work.close()
        self.workers.close()
        if clean:
            for node_id in self.nodes:
                with suppress(Refused):  # without the record the next start finds them registered
                    self.controller.unregister_broker(node_id)
            self.flushes.flush_all(self.log_directory.logs())
        self.log_directory.close(clean=clean)

    def _running(self) -> list[ClusterNode]:
        return [node for node in self.nodes.values() if node.runs]

    def _follow(self, topic: Topic) -> None:
        for node in self._running():
            node.follow(topic)

    def _topic_deleted(self, topic: Topic) -> None:
        for node in self._running():
            node.topic_deleted(topic)
        for partition in topic.partitions:
            self.fetch_waits.wake(topic.name, partition.index)

    def _leaders_changed(self, topic: Topic) -> None:
        """Move coordinators and waiting markers to the new leaders."""
        if self.events.tell is not None:
            from .events import LeadersChanged

            leaders = tuple((each.leader_id, each.leader_epoch) for each in topic.partitions)
            self.events.tell(LeadersChanged(topic.name, leaders))
        for partition in topic.partitions:
            self.fetch_waits.wake(topic.name, partition.index)
        self._follow(topic)
        for node in self._running():
            node.marker_channel.leaders_changed()

    def _update_observers(self) -> None:
        self.log_directory.files.on_event = self.events.tell
        if self._runs:
            self._watch_clock()

    def _watch_clock(self) -> None:
        """Look for jumps of the wall clock, once a second, only while there are observers."""
        if self._jump_watch is not None:
            self._jump_watch.cancel()
            self._jump_watch = None
        if self.events.tell is not None:
            self._jump_watch = self.clock.on_jump(self._clock_jumped)

    def _clock_jumped(self, by_ms: int) -> None:
        """Emit an event. Deadlines in wall time are checked at their interval, as in Kafka."""
        if self.events.tell is not None:
            from .events import ClockJumped

            self.events.tell(ClockJumped(by_ms))

    def _configs_changed(self, resource_type: int, resource_name: str) -> None:
        if resource_type == ResourceType.BROKER:
            for node in self.nodes.values():
                node.use_dynamic_settings()


def _log_damage(damage: Damage) -> None:
    _log.error(
        "data on disk are damaged",
        file=damage.file,
        position=damage.position,
        first_offset=damage.first_offset,
        end_offset=damage.end_offset,
        reason=damage.why,
    )
