"""Writes the whole state of a catalog as records, which restore it in an empty catalog.

The order is that of Apache Kafka's snapshots (org.apache.kafka.image.MetadataImage): features
first, because metadata.version defines how to read the other records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final
from uuid import UUID

from .records import (
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from .topics import Broker, Partition, Topic

if TYPE_CHECKING:
    from .catalog import Catalog

METADATA_VERSION: Final = "metadata.version"
_NO_BROKER: Final = -1


def records_of(catalog: Catalog) -> Iterator[MetadataRecord]:
    """The records that restore this state, unaffected by later replays.

    Topics are values and may be many, so their records are made lazily. Parts with a module of
    their own provide their records by `records()`, in the order of `Catalog.parts`.
    """
    topics = tuple(catalog.topics.values())
    return chain(list(_before_topics(catalog)), _of_topics(topics), list(_after_topics(catalog)))


def _before_topics(catalog: Catalog) -> Iterator[MetadataRecord]:
    for name in sorted(catalog.features, key=lambda name: name != METADATA_VERSION):
        yield FeatureLevelRecord(name, catalog.features[name])
    for broker in catalog.brokers.values():
        yield _registration_of(broker)


def _of_topics(topics: Iterable[Topic]) -> Iterator[MetadataRecord]:
    for topic in topics:
        yield TopicRecord(topic.name, topic.topic_id)
        for partition in topic.partitions:
            yield _record_of(topic.topic_id, partition)


def _after_topics(catalog: Catalog) -> Iterator[MetadataRecord]:
    for resource_type, resource_name in catalog.configured():
        for name, value in catalog.overrides(resource_type, resource_name).items():
            yield ConfigRecord(resource_type, resource_name, name, value)
    if catalog.next_producer_id > 0:
        yield ProducerIdsRecord(_NO_BROKER, _NO_BROKER, catalog.next_producer_id)
    for part in catalog.parts:
        yield from part.records()


def _registration_of(broker: Broker) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker.node_id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=broker.end_points,
        features=broker.features,
        rack=broker.rack,
        fenced=broker.is_fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=broker.log_dirs,
        cordoned_log_dirs=broker.cordoned_log_dirs,
    )


def _record_of(topic_id: UUID, partition: Partition) -> PartitionRecord:
    return PartitionRecord(
        partition_id=partition.index,
        topic_id=topic_id,
        replicas=partition.replicas,
        isr=partition.isr,
        leader=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=partition.directories,
        removing_replicas=partition.removing_replicas,
        adding_replicas=partition.adding_replicas,
        leader_recovery_state=partition.leader_recovery_state,
        eligible_leader_replicas=partition.eligible_leader_replicas or None,
        last_known_elr=partition.last_known_elr or None,
    )
