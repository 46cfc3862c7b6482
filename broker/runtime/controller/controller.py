"""The controller: changes topics, settings, brokers, features and blocks of producer ids.

Each change reads the catalog and makes records, appends them to the metadata log, replays them into
the catalog, then changes the logs on disk and calls the hooks. No change waits: there is no await.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

from ....metadata.catalog import (
    CLUSTER_METADATA,
    INTERNAL_TOPICS,
    PRODUCER_ID_BLOCK_SIZE,
    Assignments,
    Catalog,
    ResourceType,
    Topic,
)
from ....metadata.features import ELR_VERSION, KRAFT_VERSION, OTTLAS, FeatureUpdate, changes
from ....metadata.leader_changes import caught_up, elected_again, fenced
from ....metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    EndPoint,
    EndTransactionRecord,
    MetadataRecord,
    PartitionChangeRecord,
    UnregisterBrokerRecord,
)
from ....metadata.registrations import (
    CORDONED,
    controller_removal,
    cordoning,
    registered,
    registration,
)
from ....metadata.topic_names import check_topic_name
from ....protocol.batch import Framed
from ....protocol.errors import Code, Refused
from ....storage.disk.meta_properties import WrongDirectory
from ....storage.kraft.quorum import ReplicaKey, Voter
from ....storage.log_directory import LogDirectory
from ...event_stream import Events
from ...log_output import Log
from ...settings.config import BrokerConfig, validate_topic_configs
from ...settings.internal_topics import INTERNAL_TOPIC_SETTINGS
from ...settings.listeners import CONTROLLER_LISTENER
from ..logs.topic_logs import TopicLogs
from ..work_limits import WORK_LIMITS, WorkLimits
from .new_topic import NewTopic, assigned_pairs

if TYPE_CHECKING:
    from ....storage.kraft.metadata_log import MetadataLog
    from ...clock import Clock

_log = Log("controller")

_NO_CONFIGS: Final[Mapping[str, str | None]] = {}


def random_topic_id() -> UUID:
    """A random id whose text in Kafka's base64 does not begin with a dash (Uuid.randomUuid)."""
    while True:
        topic_id = uuid4()
        if topic_id.bytes[0] >> 2 != 62:
            return topic_id


def _no_hook() -> None:
    """The default hook, which does nothing."""


class Controller:
    """Makes all changes of the catalog.

    Args:
        config: of the node whose dynamic settings count; new_id: creates topic ids.
        events: the stream of events, for decisions; None: without observers.
        on_decided: called after a decision is appended and replayed.

    Attributes:
        features: those of the release of Kafka that the brokers answer as.
        awaits_replicas: whether internal topics wait for other processes, as in Kafka.
        topic_logs: the logs of the topics, kept in line with the catalog.
        on_topic_created, on_topic_deleted: called after the logs are created or deleted.
        on_partitions_created: called with the changed topic and the first new index.
        on_configs_changed: called with the type and name of the resource.
        on_leaders_changed: called with a topic whose leaders or in-sync replicas have changed.
    """

    def __init__(
        self,
        catalog: Catalog,
        metadata_log: MetadataLog,
        directory: LogDirectory,
        *,
        config: BrokerConfig,
        clock: Clock,
        new_id: Callable[[], UUID] = random_topic_id,
        limits: WorkLimits = WORK_LIMITS,
        events: Events | None = None,
        on_decided: Callable[[], None] = _no_hook,
    ) -> None:
        self.catalog = catalog
        self.topic_logs = TopicLogs(catalog, directory, config, clock, limits)
        self.on_topic_created: list[Callable[[Topic], None]] = []
        self.on_topic_deleted: list[Callable[[Topic], None]] = []
        self.on_partitions_created: list[Callable[[Topic, int], None]] = []
        self.on_configs_changed: list[Callable[[int, str], None]] = []
        self.on_leaders_changed: list[Callable[[Topic], None]] = []
        self.features, self.awaits_replicas = OTTLAS, False
        self._on_decided = on_decided
        self._events = Events() if events is None else events
        self._metadata_log = metadata_log
        self._directory = directory
        self._node_id, self._config, self._clock = config.node_id, config, clock
        self._cordoned = config.given.get(CORDONED, "")
        self._new_id = new_id
        self._batch_records = limits.metadata_batch_records

    def _commit(self, records: Sequence[MetadataRecord], framed: Framed | None = None) -> None:
        """Append one decision and replay it."""
        if not records:
            return
        if not self._directory.exists():
            path = self._directory.path
            raise Refused(Code.KAFKA_STORAGE_ERROR, f"{path} was removed or replaced")
        now_ms = self._clock.now_ms()
        moved = [record for record in records if type(record) is PartitionChangeRecord]
        log_moves = self._leader_moves(moved) if moved else _no_hook
        offset = self._metadata_log.append(records, now_ms=now_ms, framed=framed)
        self.catalog.replay_batch(records, offset)
        self._emit_appended()
        if self._events.tell is not None:
            from ...events import MetadataDecisionAppended

            self._events.tell(MetadataDecisionAppended(offset, tuple(records)))
        self._on_decided()
        log_moves()
        for topic_id in dict.fromkeys(record.topic_id for record in moved):
            topic = self.catalog.topic_by_id(topic_id)
            if topic is not None:
                self.topic_logs.take_leader_epochs(topic)
                _call_hooks(self.on_leaders_changed, topic)

    def _leader_moves(self, changes: Iterable[PartitionChangeRecord]) -> Callable[[], None]:
        """What logs the changes of leaders, once they are replayed."""
        from .leader_log import leader_moves, log_leader_moves

        moves = leader_moves(self.catalog, changes)
        return partial(log_leader_moves, moves) if moves else _no_hook

    def _emit_appended(self) -> None:
        """Emit the event of an append to the metadata log."""
        if self._events.tell is not None:
            from ...events import RecordsAppended

            end_offset = self._metadata_log.end_offset
            self._events.tell(RecordsAppended(CLUSTER_METADATA, 0, end_offset))

    def _commit_each(self, records: Iterable[MetadataRecord]) -> None:
        """Append independent changes in batches of limited size.

        Any number of partitions may lose their leader at once (ControllerResult.of in Kafka).
        """
        left = tuple(records)
        for first in range(0, len(left), self._batch_records):
            self._commit(left[first : first + self._batch_records])

    def change(self, records: Sequence[MetadataRecord], framed: Framed | None = None) -> None:
        """Append and replay the decision of a part of the catalog: ACLs, credentials, quotas.

        Args:
            framed: the same records, encoded before (`encode_ahead`).
        """
        self._commit(records, framed)

    # Start.

    def bootstrap(self) -> None:
        """Become leader; set the features of a new cluster; end an unfinished transaction of Kafka.

        Raises:
            WrongDirectory: the metadata log is lost: with an empty one, all partitions would be
                set aside.
        """
        others = self._directory.partition_names() - {f"{CLUSTER_METADATA}-0"}
        if others and not self._metadata_log.end_offset:
            why = f"has no records, and there are {len(others)} directories of partitions"
            raise WrongDirectory(f"{self._metadata_log.log.directory} {why}")
        self._metadata_log.lead(self._node_id, now_ms=self._clock.now_ms())
        if self.catalog.is_undecided:
            self._commit([AbortTransactionRecord()])
        if not self.catalog.features:
            levels = self.features.records()
            initial = self._metadata_log.write_bootstrap(levels, now_ms=self._clock.now_ms())
            if self.features.finalized.get(ELR_VERSION):  # the minimum is the cluster's (KIP-966)
                name = "min.insync.replicas"
                minimum = ConfigRecord(ResourceType.BROKER, "", name, str(self._config[name]))
                initial = [*initial, minimum]
            self._commit(
                [BeginTransactionRecord("Bootstrap records"), *initial, EndTransactionRecord()]
            )
        self._use_dynamic_settings()

    def register_broker(
        self,
        node_id: int,
        end_points: Iterable[EndPoint],
        *,
        rack: str | None = None,
    ) -> None:
        """Register a node that has started to listen, with a new broker epoch and leader epochs."""
        epoch = self._metadata_log.end_offset
        record = registration(
            self.catalog, node_id, epoch, end_points,
            incarnation_id=self._new_id(), rack=rack,
            directory_id=self._directory.directory_id, given=self._cordoned,
            features=self.features.supported)  # fmt: skip
        self._commit([record])
        self._commit([BrokerRegistrationChangeRecord(node_id, epoch, fenced=-1)])
        self._commit_each(elected_again(self.catalog, node_id))
        self._complete_registration(node_id)

    def unregister_broker(self, node_id: int) -> None:
        """Fence a node that stops, so that the next broker need not wait for its session timeout.

        The node stays the leader of its partitions, which Kafka would leave without one: no other
        node may lead them, and a stop must not cost a record for each. Its next start does.
        """
        broker = self.catalog.brokers.get(node_id)
        if broker is not None and not broker.is_fenced:
            self._commit([BrokerRegistrationChangeRecord(node_id, broker.epoch, fenced=1)])

    def fence_broker(self, node_id: int) -> None:
        """Fence a stopped node; other running nodes take over its partitions if they may."""
        broker = self.catalog.brokers.get(node_id)
        if broker is None or broker.is_fenced:
            return
        change = BrokerRegistrationChangeRecord(node_id, broker.epoch, fenced=1)
        _log.info("a broker is fenced", broker=node_id, broker_epoch=broker.epoch)
        self._commit_each([*fenced(self.catalog, node_id, self._min_isr), change])

    def fence_others(self, here: Collection[int]) -> None:
        """Fence absent brokers: remove them from all ISRs and elect other leaders.

        A broker is absent if it is registered and this process does not run it. It still leads its
        partitions after a clean stop. Active brokers with an in-sync or eligible replica take them
        over; a partition without one has no leader.

        Args:
            here: the ids of the nodes of this process.

        Raises:
            Refused: KAFKA_STORAGE_ERROR: the metadata log takes no records.
        """
        for node_id in [known for known in self.catalog.brokers if known not in here]:
            if not self.catalog.brokers[node_id].is_fenced:
                _log.info("a broker is fenced", broker=node_id, reason="absent")
            self.change_partitions(fenced(self.catalog, node_id, self._min_isr))
            self.unregister_broker(node_id)

    def _min_isr(self, topic: Topic) -> int:
        overrides = self.catalog.overrides(ResourceType.TOPIC, topic.name)
        return self._config.log_config(overrides).min_insync_replicas

    def _complete_registration(self, node_id: int) -> None:
        """Complete a registration: leaders, reassignments, the directory's epoch, leader epochs."""
        self._commit_each(self.catalog.lead_leaderless_partitions(node_id))
        self._finish_reassignments()
        self._commit_each(caught_up(self.catalog, self._min_isr))
        if node_id == self._node_id:
            self._directory.broker_epoch = self.catalog.brokers[node_id].epoch
        for topic in self.catalog.topics.values():
            self.topic_logs.take_leader_epochs(topic)

    def _finish_reassignments(self) -> None:
        """Finish the reassignments that waited for a broker: its replicas are there at once."""
        waiting = any(
            partition.adding_replicas or partition.removing_replicas
            for topic in self.catalog.topics.values()
            for partition in topic.partitions
        )
        if waiting:
            from ....metadata.reassignments import finished

            self._commit_each(finished(self.catalog))

    # Topics.

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        assignments: Assignments | Mapping[int, Sequence[int]] | None = None,
        configs: Mapping[str, str | None] = _NO_CONFIGS,
        beside: Container[str] = (),
    ) -> Topic:
        """Create a topic and its logs; see `new_topic`, which raises the same errors."""
        new = self.new_topic(
            name,
            partitions=partitions,
            replication_factor=replication_factor,
            assignments=assignments,
            configs=configs,
            beside=beside,
        )
        self.create_topics([new])
        return self.catalog.topics[name]

    def new_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        assignments: Assignments | Mapping[int, Sequence[int]] | None = None,
        configs: Mapping[str, str | None] = _NO_CONFIGS,
        beside: Container[str] = (),
        after: int = 0,
    ) -> NewTopic:
        """Decide a topic, for `create_topics` in the same turn of the event loop.

        Args:
            partitions, replication_factor: -1 is the broker's default; both must be -1 if
                `assignments` gives the replicas of each partition.
            configs: the topic's own settings.
            beside: see `Catalog.check_free`.
            after: see `Catalog.create_topic`.

        Raises:
            Refused: INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS, INVALID_CONFIG, and the errors
                of `Catalog.create_topic`.
        """
        check_topic_name(name)
        if name == CLUSTER_METADATA:
            why = f"Creation of internal topic {CLUSTER_METADATA} is prohibited."
            raise Refused(Code.INVALID_REQUEST, why)
        self.catalog.check_free(name, beside)
        settings = self._checked_configs(configs)
        if not assignments:
            if partitions == -1:
                partitions = self._config["num.partitions"]
            if replication_factor == -1:
                replication_factor = self._config["default.replication.factor"]
        catalog, topic_id = self.catalog, self._new_id()
        pairs = assigned_pairs(assignments)
        replicas = catalog.new_replicas(partitions, replication_factor, pairs, after)
        return NewTopic(
            name,
            topic_id,
            len(replicas),
            len(replicas[0]),
            dict(catalog.brokers),
            catalog.topic_records(name, topic_id, replicas, settings),
        )

    def is_outdated(self, new: NewTopic, beside: Container[str] = ()) -> bool:
        """Whether a topic must be decided again, because other requests had turns meanwhile."""
        try:
            self.catalog.check_free(new.name, beside)
        except Refused:
            return True
        return self.catalog.brokers != new.brokers

    def create_topics(
        self,
        new: Sequence[NewTopic],
        encoded: tuple[Sequence[MetadataRecord], Framed] | None = None,
    ) -> None:
        """Create topics, all or none, with one append to the metadata log.

        Args:
            new: from `new_topic`, of different names, all in this turn of the event loop or not
                outdated.
            encoded: their records, encoded before (`encode_ahead`).

        Raises:
            Refused: KAFKA_STORAGE_ERROR.
        """
        try:
            for each in new:
                self._directory.finish_deletions_of(each.name)
        except OSError as failed:
            raise Refused(Code.KAFKA_STORAGE_ERROR, str(failed)) from failed
        if encoded is not None:
            self._commit(*encoded)
        else:
            self._commit([record for each in new for record in each.records])
        for each in new:
            topic = self.catalog.topics[each.name]
            self.topic_logs.make_of(topic)
            _call_hooks(self.on_topic_created, topic)

    def _checked_configs(self, configs: Mapping[str, str | None]) -> dict[str, str]:
        nulls = [name for name, value in configs.items() if value is None]
        if nulls:
            raise Refused(
                Code.INVALID_CONFIG,
                f"Null value not supported for topic configs: {','.join(nulls)}",
            )
        settings = {name: value for name, value in configs.items() if value is not None}
        if settings:
            validate_topic_configs(settings)
        return settings

    def create_internal_topic(self, name: str, asked: BrokerConfig | None = None) -> Topic:
        """Return `__consumer_offsets`, `__transaction_state` or `__share_group_state`.

        Creates the topic if needed, with the configured replication factor, or the number of
        brokers if that is less: Kafka's default of 3 must not disable coordinators of one node.

        Args:
            asked: settings of the broker that a client asks, which count in Kafka, too
                (DefaultAutoTopicCreationManager); None: those of this process.
        """
        present = self.catalog.topics.get(name)
        if present is not None:
            return present
        internal, config = INTERNAL_TOPIC_SETTINGS[name], asked or self._config
        wanted: int = config[internal.replication_factor]
        factor = wanted if self.awaits_replicas else min(wanted, len(self.catalog.brokers))
        configs = {**internal.configs, "segment.bytes": str(config[internal.segment_bytes])}
        if internal.min_isr is not None:
            configs["min.insync.replicas"] = str(min(config[internal.min_isr], factor))
        partitions = config[internal.partitions]
        return self.create_topic(
            name, partitions=partitions, replication_factor=factor, configs=configs
        )

    def auto_create_topic(
        self, name: str, asked: BrokerConfig, beside: Container[str] = ()
    ) -> Topic:
        """Create a topic that a client wants to use, as `create_internal_topic`."""
        if name in INTERNAL_TOPICS:
            return self.create_internal_topic(name, asked)
        partitions, factor = asked["num.partitions"], asked["default.replication.factor"]
        return self.create_topic(
            name, partitions=partitions, replication_factor=factor, beside=beside
        )

    def delete_topic(self, name: str) -> Topic:
        """Delete a topic, its settings and its logs, at once; return the deleted topic.

        Raises:
            Refused: UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR.
        """
        topic = self.catalog.topics.get(name)
        if topic is None:
            raise Refused(
                Code.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
            )
        self.delete_topics([topic])
        for _ in self.topic_logs.deletions(name):
            pass
        return topic

    def delete_topics(self, topics: Sequence[Topic]) -> None:
        """Delete topics and their settings, all or none, with one append to the metadata log.

        `TopicLogs.deletions` deletes their logs.

        Raises:
            Refused: UNKNOWN_TOPIC_ID, KAFKA_STORAGE_ERROR.
        """
        self._commit(
            [record for each in topics for record in self.catalog.delete_topic(each.topic_id)]
        )
        for topic in topics:
            self.topic_logs.drop_of(topic)
            _call_hooks(self.on_topic_deleted, topic)

    def create_partitions(
        self,
        name: str,
        count: int,
        *,
        assignments: Sequence[Sequence[int]] | None = None,
        validate_only: bool = False,
    ) -> None:
        """Raise the number of a topic's partitions to `count`; raises like the catalog's method."""
        records = self.catalog.create_partitions(name, count, assignments)
        if not validate_only:
            self.add_partitions(name, tuple(records))

    def add_partitions(
        self, name: str, records: Sequence[MetadataRecord], framed: Framed | None = None
    ) -> None:
        """Append and replay the records of `Catalog.create_partitions`, and create the logs.

        Args:
            framed: the same records, encoded before (`encode_ahead`).
        """
        first = len(self.catalog.topics[name].partitions)
        self._commit(records, framed)
        topic = self.catalog.topics[name]
        self.topic_logs.make_of(topic, first)
        _call_hooks(self.on_partitions_created, topic, first)

    def change_leader(self, name: str, partition: int, leader_id: int) -> None:
        """Make another replica the leader; raises like `Catalog.change_leader`."""
        self.change_partitions(self.catalog.change_leader(name, partition, leader_id))

    def change_partitions(self, records: Iterable[PartitionChangeRecord]) -> None:
        """Append and replay decided changes of leaders or replicas."""
        self._commit_each(records)

    def forget_controller(self, controller_id: int) -> None:
        """Remove a controller from the metadata; raises like `controller_removal`."""
        self._commit([controller_removal(self.catalog, self._node_id, controller_id)])

    def forget_broker(self, node_id: int) -> None:
        """Remove a broker from the cluster, until it registers again; raises like `registered`."""
        broker = registered(self.catalog, node_id)
        self.change_partitions(fenced(self.catalog, node_id, self._min_isr))
        self._commit([UnregisterBrokerRecord(node_id, broker.epoch)])

    # Features, settings and producer ids.

    def update_features(
        self, updates: Iterable[FeatureUpdate], *, validate_only: bool = False
    ) -> None:
        """Finalize levels of features, all or none; raises like `features.changes`."""
        updates = list(updates)
        finalized = {**self.catalog.features, KRAFT_VERSION: self.kraft_version}
        records = changes(finalized, updates, node_id=self._node_id, features=self.features)
        if validate_only:
            return
        wanted = {update.name: update.level for update in updates}
        if wanted.get(KRAFT_VERSION, 0) > self.kraft_version:
            key = ReplicaKey(self._node_id, self._directory.directory_id)
            at = self.catalog.brokers[self._node_id].end_points[0]
            voter = Voter(key, CONTROLLER_LISTENER, at.host, at.port)
            try:
                self._metadata_log.begin_voters(voter, now_ms=self._clock.now_ms())
            except OSError as failed:
                raise Refused(Code.KAFKA_STORAGE_ERROR, str(failed)) from failed
            self._emit_appended()
            self._on_decided()
        self._commit(records)

    @property
    def kraft_version(self) -> int:
        """The feature level of the quorum; see `MetadataLog`."""
        return self._metadata_log.kraft_version

    @property
    def voters(self) -> tuple[ReplicaKey, ...]:
        """The voters of the quorum, from kraft.version 1 on."""
        return self._metadata_log.voters

    def set_configs(
        self, resource_type: int, resource_name: str, changes: Mapping[str, str | None]
    ) -> None:
        """Set legal settings of a resource; None removes one. Open logs use them at once.

        Raises:
            Refused: UNKNOWN_TOPIC_OR_PARTITION for a topic that does not exist.
        """
        self._commit(self.catalog.set_configs(resource_type, resource_name, changes))
        if resource_type == ResourceType.TOPIC:
            self.topic_logs.configure([self.catalog.topics[resource_name]])
        elif resource_type == ResourceType.BROKER:
            self._use_dynamic_settings()
            self.topic_logs.configure(self.catalog.topics.values())
            if CORDONED in changes and resource_name:
                place = self._directory.directory_id, self._cordoned
                self._commit(cordoning(self.catalog, int(resource_name), *place))
        _call_hooks(self.on_configs_changed, resource_type, resource_name)

    def _use_dynamic_settings(self) -> None:
        self._config.use_dynamic(
            self.catalog.overrides(ResourceType.BROKER, ""),
            self.catalog.overrides(ResourceType.BROKER, str(self._node_id)),
        )

    def next_producer_id_block(self, node_id: int) -> tuple[int, int]:
        """Reserve a block of producer ids for a node; return the first id and the length."""
        first, records = self.catalog.allocate_producer_ids(node_id)
        self._commit(records)
        return first, PRODUCER_ID_BLOCK_SIZE


def _call_hooks(hooks: Iterable[Callable[..., None]], *arguments: object) -> None:
    """Call the hooks; an exception of a hook is logged and does not undo the decision."""
    for hook in hooks:
        try:
            hook(*arguments)
        except Exception as fault:
            _log.error("a hook of a metadata change raises an exception", exc_info=fault)
