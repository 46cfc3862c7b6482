"""Partition reassignments: the decisions of AlterPartitionReassignments (KIP-455).

Pure: returns records and changes nothing (org.apache.kafka.controller,
PartitionReassignmentReplicas and PartitionReassignmentRevert). All replicas share one storage, so a
new replica is in sync as soon as its broker is active; a reassignment waits only for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from ..protocol.errors import Code, Refused
from . import placement
from .catalog import Catalog, Partition, Topic
from .elections import first_active, is_active
from .records import LEADER_UNCHANGED, NO_LEADER, ZERO_ID, PartitionChangeRecord


def is_in_progress(partition: Partition) -> bool:
    """Whether a reassignment waits for a broker."""
    return bool(partition.adding_replicas or partition.removing_replicas)


def reassigned(
    catalog: Catalog,
    name: str,
    index: int,
    target: Sequence[int] | None,
    *,
    may_resize: bool = True,
) -> list[PartitionChangeRecord]:
    """The record that gives a partition these replicas, or none if it has them.

    Args:
        target: the brokers, the preferred leader first; None cancels a reassignment in progress.
        may_resize: whether the number of replicas may change (KIP-860).

    Raises:
        Refused: UNKNOWN_TOPIC_OR_PARTITION, NO_REASSIGNMENT_IN_PROGRESS,
            INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR.
    """
    topic = catalog.topics.get(name)
    if topic is None:
        why = f"Unable to find a topic named {name}."
        raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION, why)
    if not 0 <= index < len(topic.partitions):
        why = f"Unable to find partition {name}:{index}."
        raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION, why)
    known = topic.partitions[index]
    if target is None:
        if not is_in_progress(known):
            raise Refused(Code.NO_REASSIGNMENT_IN_PROGRESS)
        return [_reverted(catalog, topic, known)]
    wanted = placement.known(catalog.brokers, target)
    heading = [each for each in known.replicas if each not in known.removing_replicas]
    if not may_resize and len(wanted) != len(heading):
        why = f"The replication factor is changed from {len(heading)} to {len(wanted)}"
        raise Refused(Code.INVALID_REPLICATION_FACTOR, why)
    if wanted == known.replicas and not is_in_progress(known):
        return []
    return [_towards(catalog, topic, known, wanted)]


def finished(catalog: Catalog) -> Iterator[PartitionChangeRecord]:
    """The records of reassignments that can go on, because a broker became active."""
    for topic in catalog.topics.values():
        for known in topic.partitions:
            if is_in_progress(known):
                wanted = tuple(
                    each for each in known.replicas if each not in known.removing_replicas
                )
                if _in_sync(catalog, known, wanted).issuperset(wanted):
                    yield _towards(catalog, topic, known, wanted)


def _in_sync(catalog: Catalog, known: Partition, wanted: tuple[int, ...]) -> set[int]:
    """The in-sync replicas, once the active ones have caught up with a leader."""
    if known.leader_id == NO_LEADER:
        return {*known.isr}
    return {*known.isr, *(each for each in wanted if is_active(catalog, each))}


def _towards(
    catalog: Catalog, topic: Topic, known: Partition, wanted: tuple[int, ...]
) -> PartitionChangeRecord:
    adding = tuple(sorted({*wanted} - {*known.replicas}))
    removing = tuple(sorted({*known.replicas} - {*wanted}))
    in_sync = _in_sync(catalog, known, wanted)
    if in_sync.issuperset(wanted):
        return _changed(catalog, topic, known, wanted, isr=wanted)
    replicas = wanted + removing
    return _changed(
        catalog,
        topic,
        known,
        replicas,
        isr=tuple(each for each in replicas if each in in_sync),
        adding=adding,
        removing=removing,
    )


def _reverted(catalog: Catalog, topic: Topic, known: Partition) -> PartitionChangeRecord:
    replicas = tuple(each for each in known.replicas if each not in known.adding_replicas)
    isr = tuple(each for each in known.isr if each in replicas)
    if not isr:
        raise Refused(
            Code.INVALID_REPLICA_ASSIGNMENT,
            f"Unable to revert partition assignment for {topic.name}:{known.index} because it "
            "would require an unclean leader election.",
        )
    return _changed(catalog, topic, known, replicas, isr=isr)


def _changed(
    catalog: Catalog,
    topic: Topic,
    known: Partition,
    replicas: tuple[int, ...],
    *,
    isr: tuple[int, ...],
    adding: tuple[int, ...] = (),
    removing: tuple[int, ...] = (),
) -> PartitionChangeRecord:
    """The record; keeps the leader if possible, with a new epoch if a replica was removed."""
    leader_id = known.leader_id
    if leader_id not in isr or not is_active(catalog, leader_id):
        leader_id = first_active(catalog, (each for each in replicas if each in isr))
    is_new = leader_id != known.leader_id or not set(known.replicas) <= set(replicas)
    return PartitionChangeRecord(
        known.index,
        topic.topic_id,
        leader=leader_id if is_new else LEADER_UNCHANGED,
        isr=isr,
        replicas=replicas,
        adding_replicas=adding,
        removing_replicas=removing,
        directories=tuple(_directory_of(catalog, each) for each in replicas),
        eligible_leader_replicas=() if leader_id != NO_LEADER else None,
        last_known_elr=() if leader_id != NO_LEADER else None,
    )


def _directory_of(catalog: Catalog, node_id: int) -> UUID:
    broker = catalog.brokers.get(node_id)
    return next(iter(broker.log_dirs), ZERO_ID) if broker is not None else ZERO_ID
