"""The state of the metadata log in memory: topics, brokers, settings, features, producer ids.

Pure: decisions return records and change nothing; only `replay` assigns. The same records give the
same catalog, whether Ottla or Kafka wrote them. Errors have Kafka's codes and messages
(ReplicationControlManager and other classes of org.apache.kafka.controller).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Final, Protocol
from uuid import UUID

from ..protocol.errors import Code, Refused
from . import placement
from .acls import Acls
from .client_quotas import ClientQuotas
from .delegation_tokens import DelegationTokens
from .foreign_records import ForeignRecords
from .placement import Assignments
from .records import (
    NO_LEADER,
    ZERO_ID,
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    ForeignRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
)
from .scram import ScramCredentials
from .topics import (
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    INTERNAL_TOPICS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    Broker,
    Partition,
    ResourceType,
    Topic,
    has_collision_characters,
    partition_after,
    partition_of,
    topic_of,
    unified,
)

__all__ = [
    "CLUSTER_METADATA",
    "CONSUMER_OFFSETS",
    "INTERNAL_TOPICS",
    "MAX_PARTITIONS_PER_REQUEST",
    "PRODUCER_ID_BLOCK_SIZE",
    "SHARE_GROUP_STATE",
    "TRANSACTION_STATE",
    "Assignments",
    "Broker",
    "Catalog",
    "Partition",
    "ResourceType",
    "Topic",
    "topic_of",
]

MAX_PARTITIONS_PER_REQUEST: Final = 10_000
PRODUCER_ID_BLOCK_SIZE: Final = 1000
_LAST_PRODUCER_ID: Final = 0x7FFFFFFFFFFFFFFF
_NO_OVERRIDES: Final[Mapping[str, str]] = MappingProxyType({})
_ACLS: Final = (AccessControlEntryRecord, RemoveAccessControlEntryRecord)
_SCRAM: Final = (UserScramCredentialRecord, RemoveUserScramCredentialRecord)
_PARTS: Final[Mapping[type, str]] = dict.fromkeys(_ACLS, "acls") | dict.fromkeys(_SCRAM, "scram")


class Part(Protocol):
    """A part of the state with a module of its own, named in `Catalog.parts`."""

    def records(self) -> Iterable[MetadataRecord]:
        """The part's state as records: replaying them in this order restores it."""


class Catalog:
    """The state after all records of the metadata log.

    Attributes:
        topics: by name, in order of creation; read-only for callers.
        names: of all topics, by id; read-only for callers.
        brokers: by node id.
        features: finalized levels by feature name.
        next_producer_id: the first id after all allocated blocks.
        acls, scram, tokens, quotas, foreign: parts of their own; also changed by `replay` alone.
        last_offset: offset of the last replayed record; -1 before the first.
    """

    def __init__(self) -> None:
        self.topics: dict[str, Topic] = {}
        self.brokers: dict[int, Broker] = {}
        self.features: dict[str, int] = {}
        self.next_producer_id = 0
        self.last_offset = -1
        self.acls = Acls()
        self.scram = ScramCredentials()
        self.tokens = DelegationTokens()
        self.quotas = ClientQuotas()
        self.foreign = ForeignRecords()
        self.names: dict[UUID, str] = {}
        self._partitions = 0  # of all topics
        self._collisions: dict[str, list[str]] = {}
        self._overrides: dict[tuple[int, str], dict[str, str]] = {}
        self._undecided: list[MetadataRecord] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Catalog) and vars(self) == vars(other)

    @property
    def is_undecided(self) -> bool:
        """Whether a metadata transaction is open; this happens only while Kafka writes one."""
        return self._undecided is not None

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        """The topic with an id, or None."""
        name = self.names.get(topic_id)
        return None if name is None else self.topics[name]

    def overrides(self, resource_type: int, resource_name: str) -> Mapping[str, str]:
        """The settings of a resource; the name "" is the default of all brokers."""
        return self._overrides.get((resource_type, resource_name), _NO_OVERRIDES)

    def resources(self, resource_type: int) -> list[str]:
        """The names of the resources of one type that have settings."""
        return sorted(name for kind, name in self._overrides if kind == resource_type)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts with a module of their own, in the order of a snapshot."""
        return self.quotas, self.acls, self.scram, self.tokens, self.foreign

    def configured(self) -> list[tuple[int, str]]:
        """Type and name of each resource that has settings."""
        return list(self._overrides)

    # Decisions.

    def check_free(self, name: str, beside: Container[str] = ()) -> None:
        """Check that a legal topic name is free.

        Args:
            beside: topics that the same request creates; those may collide, as in Kafka.

        Raises:
            Refused: TOPIC_ALREADY_EXISTS; INVALID_TOPIC_EXCEPTION if another name differs only in
            `.`
                and `_` (their metrics would have the same name).
        """
        if name in self.topics:
            raise Refused(Code.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        taken = [other for other in self._collisions.get(unified(name), ()) if other not in beside]
        if taken:
            raise Refused(
                Code.INVALID_TOPIC_EXCEPTION,
                f"Topic '{name}' collides with existing topic: {taken[0]}",
            )

    def create_topic(
        self,
        name: str,
        topic_id: UUID,
        *,
        partitions: int,
        replication_factor: int,
        assignments: Assignments | None = None,
        configs: Mapping[str, str] = _NO_OVERRIDES,
        beside: Container[str] = (),
        after: int = 0,
    ) -> tuple[MetadataRecord, ...]:
        """CreateTopics: the records of one topic.

        Args:
            partitions, replication_factor: the numbers, with defaults applied; -1 if `assignments`
                lists the replicas of each partition.
            configs: valid settings.
            beside: see `check_free`.
            after: the number of partitions that the same batch creates before this topic.

        Raises:
            Refused: TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_REPLICATION_FACTOR,
                INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT, INVALID_REQUEST.
        """
        self.check_free(name, beside)
        replicas = self.new_replicas(partitions, replication_factor, assignments, after)
        return tuple(self.topic_records(name, topic_id, replicas, configs))

    def new_replicas(
        self,
        partitions: int,
        replication_factor: int,
        assignments: Assignments | None = None,
        after: int = 0,
    ) -> list[tuple[int, ...]]:
        """The replicas of each partition of a new topic; see `create_topic`."""
        if assignments:
            return placement.assigned(self.brokers, assignments, partitions, replication_factor)
        return self._placed(partitions, replication_factor, after)

    def topic_records(
        self,
        name: str,
        topic_id: UUID,
        replicas: Iterable[tuple[int, ...]],
        configs: Mapping[str, str] = _NO_OVERRIDES,
    ) -> Iterator[MetadataRecord]:
        """The records of a new topic, made one by one of the brokers as they are now."""
        head = TopicRecord(name, topic_id)
        settings = self.set_configs(ResourceType.TOPIC, name, configs, is_new=True)
        return chain((head, *settings), _new_partitions(dict(self.brokers), topic_id, replicas))

    def delete_topic(self, topic_id: UUID) -> tuple[MetadataRecord, ...]:
        """DeleteTopics: one topic. Raises Refused(UNKNOWN_TOPIC_ID)."""
        if topic_id not in self.names:
            raise Refused(Code.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
        return (RemoveTopicRecord(topic_id),)

    def create_partitions(
        self, name: str, count: int, assignments: Sequence[Sequence[int]] | None = None
    ) -> Iterator[MetadataRecord]:
        """CreatePartitions: the records that increase a topic to `count` partitions.

        They are made one by one, of the brokers as they are now.

        Raises:
            Refused: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT;
                UNKNOWN_SERVER_ERROR, as in Kafka, for more than 10,000 new ones.
        """
        topic = self.topics.get(name)
        if topic is None:
            raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION)
        present = len(topic.partitions)
        if count == present:
            raise Refused(Code.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
        if count < present:
            raise Refused(
                Code.INVALID_PARTITIONS,
                f"The topic {name} currently has {present} partition(s); "
                f"{count} would not be an increase.",
            )
        added = count - present
        if assignments is not None and len(assignments) != added:
            raise Refused(
                Code.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {added} additional partition(s), but only "
                f"{len(assignments)} assignment(s) were specified.",
            )
        if added > MAX_PARTITIONS_PER_REQUEST:
            why = "Excessively large number of additional partitions per request."
            raise Refused(Code.POLICY_VIOLATION, why)
        replication_factor = len(topic.partitions[0].replicas)
        if assignments is None:
            chosen = self._placed(added, replication_factor)
        else:
            known = {
                replicas: placement.checked(self.brokers, replicas, replication_factor)
                for replicas in dict.fromkeys(map(tuple, assignments))
            }
            chosen = [known[tuple(replicas)] for replicas in assignments]
        return _new_partitions(dict(self.brokers), topic.topic_id, chosen, present)

    def change_leader(
        self, name: str, partition: int, leader_id: int
    ) -> tuple[PartitionChangeRecord, ...]:
        """Make another in-sync replica the leader of a partition, with the next leader epoch.

        Raises:
            Refused: UNKNOWN_TOPIC_OR_PARTITION; ELIGIBLE_LEADERS_NOT_AVAILABLE if the replica is
                not in sync; ELECTION_NOT_NEEDED if it is the leader.
        """
        topic = self.topics.get(name)
        if topic is None or not 0 <= partition < len(topic.partitions):
            raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION)
        present = topic.partitions[partition]
        if leader_id not in present.isr:
            raise Refused(Code.ELIGIBLE_LEADERS_NOT_AVAILABLE)
        if leader_id == present.leader_id:
            raise Refused(Code.ELECTION_NOT_NEEDED)
        return (PartitionChangeRecord(partition, topic.topic_id, leader=leader_id),)

    def lead_leaderless_partitions(self, node_id: int) -> tuple[MetadataRecord, ...]:
        """The records that make a returning node the leader of leaderless partitions, as in Kafka.

        A controlled stop of Apache Kafka leaves its partitions without a leader; the node is then
        an eligible leader replica, or the last known one (KIP-966).
        """
        return tuple(
            PartitionChangeRecord(
                partition.index,
                topic.topic_id,
                isr=(node_id,),
                leader=node_id,
                eligible_leader_replicas=(),
                last_known_elr=(),
            )
            for topic in self.topics.values()
            for partition in topic.partitions
            if partition.leader_id == NO_LEADER
            and node_id
            in (*partition.isr, *partition.eligible_leader_replicas, *partition.last_known_elr)
        )

    def set_configs(
        self,
        resource_type: int,
        resource_name: str,
        changes: Mapping[str, str | None],
        *,
        is_new: bool = False,
    ) -> tuple[MetadataRecord, ...]:
        """The records of valid settings; None removes one. Unchanged settings need no record.

        Raises:
            Refused: UNKNOWN_TOPIC_OR_PARTITION for settings of a topic that does not exist.
        """
        if resource_type == ResourceType.TOPIC and not is_new and resource_name not in self.topics:
            raise Refused(
                Code.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource_name}' does not exist."
            )
        present = self.overrides(resource_type, resource_name)
        records: list[MetadataRecord] = [
            ConfigRecord(resource_type, resource_name, name, value)
            for name, value in changes.items()
            if present.get(name) != value
        ]
        # Replicas are eligible by the ISRs under the old minimum (KIP-966): clear them.
        if resource_type == ResourceType.TOPIC and "min.insync.replicas" in changes:
            records.append(ClearElrRecord(resource_name))
        return tuple(records)

    def allocate_producer_ids(self, node_id: int) -> tuple[int, tuple[MetadataRecord, ...]]:
        """The first of the next 1,000 producer ids, and the record that allocates them to a node.

        Raises:
            Refused: UNKNOWN_SERVER_ERROR when all 2^63 ids are used; BROKER_ID_NOT_REGISTERED.
        """
        broker = self.brokers.get(node_id)
        if broker is None:
            raise Refused(Code.BROKER_ID_NOT_REGISTERED)
        first = self.next_producer_id
        if first > _LAST_PRODUCER_ID - PRODUCER_ID_BLOCK_SIZE:
            raise Refused(Code.UNKNOWN_SERVER_ERROR, "All producer ids have been given out.")
        after = first + PRODUCER_ID_BLOCK_SIZE
        return first, (ProducerIdsRecord(node_id, broker.epoch, after),)

    def _placed(
        self, partitions: int, replication_factor: int, after: int = 0
    ) -> list[tuple[int, ...]]:
        """Replicas round-robin over the nodes, starting where the last topic ended."""
        start = self._partitions + after
        return placement.placed(self.brokers, partitions, replication_factor, start=start)

    # Replay.

    def replay(self, record: MetadataRecord, offset: int) -> None:
        """Apply a record. Only this method assigns."""
        assert offset > self.last_offset, (offset, self.last_offset)
        self.last_offset = offset
        match record:
            case BeginTransactionRecord():
                self._undecided = []
            case AbortTransactionRecord():
                self._undecided = None
            case EndTransactionRecord():
                records, self._undecided = self._undecided or [], None
                self._apply_all(records)
            case _ if self._undecided is not None:
                self._undecided.append(record)
            case _:
                self._apply(record)

    def replay_batch(self, records: Iterable[MetadataRecord], offset: int) -> None:
        """Apply the records of a batch; `offset` is that of the first.

        Each record of a partition alone copies the tuple of its topic's partitions: 200 ms for
        10,000 of them, and 30 ms in this way.
        """
        for run in _runs(records):
            if len(run) > 1 and self._undecided is None:
                assert offset > self.last_offset, (offset, self.last_offset)
                self._apply_run(run)
                offset += len(run)
                self.last_offset = offset - 1
                continue
            for record in run:
                self.replay(record, offset)
                offset += 1

    def load(self, records: Iterable[MetadataRecord], end_offset: int) -> None:
        """Start from a snapshot of all records before `end_offset`."""
        assert self.last_offset < 0, "a catalog begins once"
        self._apply_all(records)
        self.last_offset = end_offset - 1

    def _apply_all(self, records: Iterable[MetadataRecord]) -> None:
        for run in _runs(records):
            self._apply_run(run)

    def _apply_run(self, run: Sequence[MetadataRecord]) -> None:
        of_partition = run[0]
        if len(run) > 1 and isinstance(of_partition, PartitionRecord):
            topic = self.topics[self.names[of_partition.topic_id]]
            added = [partition_of(each) for each in run if type(each) is PartitionRecord]
            first = len(topic.partitions)
            if [each.index for each in added] == list(range(first, first + len(added))):
                self._partitions += len(added)
                self.topics[topic.name] = replace(topic, partitions=(*topic.partitions, *added))
                return
        if isinstance(of_partition, _ACLS):
            self.acls.replay_all([each for each in run if isinstance(each, _ACLS)])
            return
        if isinstance(of_partition, _SCRAM):
            self.scram.replay_all([each for each in run if isinstance(each, _SCRAM)])
            return
        for record in run:
            self._apply(record)

    def _apply(self, record: MetadataRecord) -> None:
        match record:  # first those of which a decision may have thousands
            case ClientQuotaRecord():
                self.quotas.replay(record)
            case UserScramCredentialRecord() | RemoveUserScramCredentialRecord():
                self.scram.replay(record)
            case TopicRecord():
                self._add_topic(record)
            case PartitionRecord():
                self._add_partition(record)
            case PartitionChangeRecord():
                self._change_partition(record)
            case RemoveTopicRecord():
                self._remove_topic(record)
            case ConfigRecord():
                self._set_config(record)
            case FeatureLevelRecord():
                self.features.pop(record.name, None)
                if record.feature_level > 0:
                    self.features[record.name] = record.feature_level
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
            case RegisterBrokerRecord():
                self.brokers[record.broker_id] = Broker(
                    record.broker_id,
                    record.broker_epoch,
                    record.incarnation_id,
                    record.end_points,
                    record.rack,
                    record.fenced,
                    record.in_controlled_shutdown,
                    record.log_dirs,
                    record.features,
                    record.cordoned_log_dirs,
                )
            case UnregisterBrokerRecord():
                self.brokers.pop(record.broker_id, None)
            case BrokerRegistrationChangeRecord():
                self._change_broker(record)
            case ClearElrRecord():
                self._clear_elr(record.topic_name)
            case AccessControlEntryRecord() | RemoveAccessControlEntryRecord():
                self.acls.replay(record)
            case DelegationTokenRecord() | RemoveDelegationTokenRecord():
                self.tokens.replay(record)
            case ForeignRecord():
                self.foreign.replay(record)

    def _add_topic(self, record: TopicRecord) -> None:
        assert record.name not in self.topics, record
        self.topics[record.name] = Topic(record.name, record.topic_id)
        self.names[record.topic_id] = record.name
        if has_collision_characters(record.name):
            insort(self._collisions.setdefault(unified(record.name), []), record.name)

    def _add_partition(self, record: PartitionRecord) -> None:
        topic = self.topics[self.names[record.topic_id]]
        partition = partition_of(record)
        others = (known for known in topic.partitions if known.index != partition.index)
        if partition.index == len(topic.partitions):  # almost always
            partitions = (*topic.partitions, partition)
        else:
            partitions = tuple(sorted((*others, partition), key=lambda known: known.index))
        self._partitions += len(partitions) - len(topic.partitions)
        self.topics[topic.name] = replace(topic, partitions=partitions)

    def _change_partition(self, record: PartitionChangeRecord) -> None:
        topic = self.topics[self.names[record.topic_id]]
        partitions = list(topic.partitions)
        partitions[record.partition_id] = partition_after(record, partitions[record.partition_id])
        self.topics[topic.name] = replace(topic, partitions=tuple(partitions))

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        name = self.names.pop(record.topic_id)
        self._partitions -= len(self.topics.pop(name).partitions)
        self._overrides.pop((ResourceType.TOPIC, name), None)
        if has_collision_characters(name):
            alike = self._collisions[unified(name)]
            alike.remove(name)
            if not alike:
                del self._collisions[unified(name)]

    def _set_config(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        settings = dict(self._overrides.pop(resource, {}))
        settings.pop(record.name, None)
        if record.value is not None:
            settings[record.name] = record.value
        if settings:
            self._overrides[resource] = settings

    def _change_broker(self, record: BrokerRegistrationChangeRecord) -> None:
        before = self.brokers[record.broker_id]
        self.brokers[record.broker_id] = replace(
            before,
            is_fenced=before.is_fenced if record.fenced == 0 else record.fenced > 0,
            in_controlled_shutdown=before.in_controlled_shutdown
            or record.in_controlled_shutdown > 0,
            log_dirs=record.log_dirs or before.log_dirs,
            cordoned_log_dirs=before.cordoned_log_dirs
            if record.cordoned_log_dirs is None
            else record.cordoned_log_dirs,
        )

    def _clear_elr(self, topic_name: str) -> None:
        for name in [topic_name] if topic_name else list(self.topics):
            topic = self.topics.get(name)
            if topic is None or not any(
                known.eligible_leader_replicas or known.last_known_elr for known in topic.partitions
            ):
                continue
            cleared = tuple(
                known._replace(eligible_leader_replicas=(), last_known_elr=())
                for known in topic.partitions
            )
            self.topics[name] = replace(topic, partitions=cleared)


def _runs(records: Iterable[MetadataRecord]) -> Iterator[list[MetadataRecord]]:
    """The records in lists: consecutive partitions of a topic, ACLs, credentials are together."""
    run: list[MetadataRecord] = []
    last: object = None  # the topic's id, or the part of the catalog
    for record in records:
        of_what = record.topic_id if type(record) is PartitionRecord else _PARTS.get(type(record))
        if run and (of_what is None or (of_what is not last and of_what != last)):
            yield run
            run = []
        run.append(record)
        last = of_what
    if run:
        yield run


def _new_partitions(
    brokers: Mapping[int, Broker],
    topic_id: UUID,
    replicas: Iterable[tuple[int, ...]],
    first: int = 0,
) -> Iterator[PartitionRecord]:
    """The records of partitions from the index `first` on, with the replicas of each."""
    known: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[UUID, ...]]] = {}
    for index, chosen in enumerate(replicas, start=first):
        derived = known.get(chosen)
        if derived is None:  # many partitions have the same replicas
            isr = tuple(node_id for node_id in chosen if brokers[node_id].is_active)
            log_dirs = (brokers[node_id].log_dirs for node_id in chosen)
            directories = tuple(next(iter(each), ZERO_ID) for each in log_dirs)
            derived = known[chosen] = isr, directories
        isr, directories = derived
        yield PartitionRecord(
            partition_id=index,
            topic_id=topic_id,
            replicas=chosen,
            isr=isr,
            leader=isr[0],
            directories=directories,
        )
