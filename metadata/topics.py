"""Topics, partitions and brokers as immutable values, and the names with a special meaning.

Other modules import them from `metadata/catalog.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, TypeVar
from uuid import UUID

from ..protocol.lazy_dataclass import dataclass
from ..protocol.named_tuple import NamedTuple
from .records import (
    LEADER_UNCHANGED,
    EndPoint,
    FeatureRange,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)

Values = TypeVar("Values", tuple[int, ...], tuple[UUID, ...])

CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
SHARE_GROUP_STATE: Final = "__share_group_state"
CLUSTER_METADATA: Final = "__cluster_metadata"
INTERNAL_TOPICS: Final = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})


class ResourceType(IntEnum):
    """The resource type of a setting (org.apache.kafka.common.config.ConfigResource.Type)."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Partition(NamedTuple):
    """One partition; `isr` are the in-sync replicas, a leader of -1 means none.

    A tuple is made in a third of the time of a frozen dataclass; a topic may have 10,000 of them.
    """

    index: int  # type: ignore[assignment]  # instead of the method of tuples
    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    partition_epoch: int = 0
    directories: tuple[UUID, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader_recovery_state: int = 0


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic; its partitions are in the order of their indexes, from 0 without gaps."""

    name: str
    topic_id: UUID
    partitions: tuple[Partition, ...] = ()

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


@dataclass(frozen=True, slots=True)
class Broker:
    """A node of the cluster as it last registered; `epoch` is the offset of that registration."""

    node_id: int
    epoch: int
    incarnation_id: UUID
    end_points: tuple[EndPoint, ...]
    rack: str | None = None
    is_fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: tuple[UUID, ...] = ()
    features: tuple[FeatureRange, ...] = ()
    cordoned_log_dirs: tuple[UUID, ...] | None = None
    """Directories that take no new partitions (KIP-1066); None at metadata.version 29 and below."""

    @property
    def is_cordoned(self) -> bool:
        """Whether no directory of the broker takes new partitions."""
        cordoned = self.cordoned_log_dirs or ()
        return bool(cordoned) and set(self.log_dirs) <= set(cordoned)

    @property
    def is_active(self) -> bool:
        return not (self.is_fenced or self.in_controlled_shutdown)


def partition_of(record: PartitionRecord) -> Partition:
    """The partition that a record creates."""
    partition: Partition = tuple.__new__(
        Partition,
        (
            record.partition_id,
            record.leader,
            record.leader_epoch,
            record.replicas,
            record.isr,
            record.partition_epoch,
            record.directories,
            record.eligible_leader_replicas or (),
            record.last_known_elr or (),
            record.removing_replicas,
            record.adding_replicas,
            record.leader_recovery_state,
        ),
    )  # as fast as a tuple
    return partition


def partition_after(record: PartitionChangeRecord, before: Partition) -> Partition:
    """The partition after a change; each change raises its epoch, a new leader the leader's."""
    has_new_leader = record.leader != LEADER_UNCHANGED
    return Partition(
        index=before.index,
        leader_id=record.leader if has_new_leader else before.leader_id,
        leader_epoch=before.leader_epoch + has_new_leader,
        replicas=_changed(before.replicas, record.replicas),
        isr=_changed(before.isr, record.isr),
        partition_epoch=before.partition_epoch + 1,
        directories=_changed(before.directories, record.directories),
        eligible_leader_replicas=_changed(
            before.eligible_leader_replicas, record.eligible_leader_replicas
        ),
        last_known_elr=_changed(before.last_known_elr, record.last_known_elr),
        removing_replicas=_changed(before.removing_replicas, record.removing_replicas),
        adding_replicas=_changed(before.adding_replicas, record.adding_replicas),
        leader_recovery_state=before.leader_recovery_state
        if record.leader_recovery_state < 0
        else record.leader_recovery_state,
    )


def _changed(before: Values, after: Values | None) -> Values:
    return before if after is None else after


def topic_of(records: Iterable[MetadataRecord]) -> Topic:
    """The topic that the records of `create_topic` create."""
    made = list(records)
    head = next(record for record in made if isinstance(record, TopicRecord))
    partitions = (partition_of(record) for record in made if isinstance(record, PartitionRecord))
    return Topic(head.name, head.topic_id, tuple(partitions))


def unified(name: str) -> str:
    """The topic name in metrics."""
    return name.replace(".", "_")


def has_collision_characters(name: str) -> bool:
    """Whether another name may map to the same metrics."""
    return "." in name or "_" in name
