"""Leader elections: the decisions of ElectLeaders.

Pure: returns records and changes nothing (org.apache.kafka.controller,
ReplicationControlManager and PartitionChangeBuilder). All replicas share one storage, so any
replica whose broker is active may lead without a loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from ..protocol.errors import Code, Refused
from .catalog import Catalog, Partition, Topic
from .records import NO_LEADER, PartitionChangeRecord


class ElectionType(IntEnum):
    """The requested election (org.apache.kafka.common.ElectionType)."""

    PREFERRED = 0
    UNCLEAN = 1


def elected(
    catalog: Catalog, name: str, partition: int, *, election_type: ElectionType
) -> PartitionChangeRecord:
    """The record that elects the preferred replica, or any replica if there is no leader.

    Raises:
        Refused: UNKNOWN_TOPIC_OR_PARTITION; ELECTION_NOT_NEEDED; PREFERRED_LEADER_NOT_AVAILABLE;
            ELIGIBLE_LEADERS_NOT_AVAILABLE.
    """
    topic = catalog.topics.get(name)
    if topic is None:
        raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if not 0 <= partition < len(topic.partitions):
        why = f"No such partition as {name}-{partition}"
        raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION, why)
    known = topic.partitions[partition]
    if election_type is ElectionType.PREFERRED:
        return _preferred(catalog, topic, known)
    return _any(catalog, topic, known)


def _preferred(catalog: Catalog, topic: Topic, known: Partition) -> PartitionChangeRecord:
    preferred = known.replicas[0]
    if known.leader_id == preferred:
        why = "Leader election not needed for topic partition."
        raise Refused(Code.ELECTION_NOT_NEEDED, why)
    if preferred not in known.isr or not is_active(catalog, preferred):
        why = "The preferred leader was not available."
        raise Refused(Code.PREFERRED_LEADER_NOT_AVAILABLE, why)
    return PartitionChangeRecord(known.index, topic.topic_id, leader=preferred)


def _any(catalog: Catalog, topic: Topic, known: Partition) -> PartitionChangeRecord:
    if known.leader_id != NO_LEADER:
        why = "Leader election not needed for topic partition."
        raise Refused(Code.ELECTION_NOT_NEEDED, why)
    leader_id = first_active(catalog, (*known.isr, *known.replicas))
    if leader_id == NO_LEADER:
        why = "Eligible topic partition leaders are not available."
        raise Refused(Code.ELIGIBLE_LEADERS_NOT_AVAILABLE, why)
    return PartitionChangeRecord(
        known.index,
        topic.topic_id,
        isr=known.isr if leader_id in known.isr else (leader_id,),
        leader=leader_id,
        eligible_leader_replicas=(),
        last_known_elr=(),
    )


def is_active(catalog: Catalog, node_id: int) -> bool:
    """Whether a broker is active, so that it may lead."""
    broker = catalog.brokers.get(node_id)
    return broker is not None and broker.is_active


def first_active(catalog: Catalog, replicas: Iterable[int]) -> int:
    """The first active broker of these, or NO_LEADER."""
    return next((each for each in replicas if is_active(catalog, each)), NO_LEADER)
