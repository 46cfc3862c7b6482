"""Changes of leaders and ISRs: a broker is fenced or returns, or preferred leaders lead again.

Pure: returns records and changes nothing (org.apache.kafka.controller,
ReplicationControlManager.handleBrokerFenced and PartitionChangeBuilder, KIP-966). All replicas
share one storage, so the replica of an active broker is in sync at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .catalog import Catalog, Partition, Topic
from .records import LEADER_UNCHANGED, NO_LEADER, PartitionChangeRecord

MinIsr = Callable[[Topic], int]
"""A topic's min.insync.replicas."""


def fenced(catalog: Catalog, node_id: int, min_isr: MinIsr) -> Iterator[PartitionChangeRecord]:
    """The records that remove a broker from all ISRs and elect new leaders for its partitions.

    With eligible leader replicas an ISR may become empty; without them its last member stays. If no
    replica can lead, the last in-sync one is recorded, and only it may lead again.
    """
    has_elr = catalog.features.get("eligible.leader.replicas.version", 0) > 0
    for topic in catalog.topics.values():
        for known in topic.partitions:
            if node_id in known.isr or known.leader_id == node_id:
                wanted = min(min_isr(topic), len(known.replicas))
                wanted_isr = wanted if has_elr else 0
                yield _without(catalog, topic, known, node_id=node_id, min_isr=wanted_isr)


def elected_again(catalog: Catalog, node_id: int) -> Iterator[PartitionChangeRecord]:
    """The records of a new incarnation of a broker that leads partitions since before.

    Apache Kafka leaves each partition without a leader when the broker stops, or when it registers
    after a crash, and then elects it again. Both changes raise the leader epoch.
    """
    for topic in catalog.topics.values():
        for known in topic.partitions:
            if known.leader_id == node_id:
                for leader in (NO_LEADER, node_id):
                    yield PartitionChangeRecord(known.index, topic.topic_id, leader=leader)


def _without(
    catalog: Catalog, topic: Topic, known: Partition, *, node_id: int, min_isr: int
) -> PartitionChangeRecord:
    """The change of one partition; a `min_isr` of 0 disables eligible leader replicas."""
    isr = tuple(each for each in known.isr if each != node_id)
    elr: tuple[int, ...] = ()
    if len(isr) < min_isr:
        elr = tuple(sorted({*known.isr, *known.eligible_leader_replicas} - {*isr}))
    leader_id = LEADER_UNCHANGED
    if known.leader_id == node_id:
        # Without an in-sync replica an eligible one may lead: it has all acknowledged records.
        others = {*(isr or elr)} - {node_id}
        leader_id = _first_active(catalog, known.replicas, others)
        if leader_id in elr:
            isr, elr = (leader_id,), tuple(each for each in elr if each != leader_id)
    if not isr and min_isr == 0:
        isr = known.isr
    lost_leader = not isr and known.leader_id != NO_LEADER
    return PartitionChangeRecord(
        known.index,
        topic.topic_id,
        isr=None if isr == known.isr else isr,
        leader=leader_id,
        eligible_leader_replicas=None if elr == known.eligible_leader_replicas else elr,
        last_known_elr=(known.leader_id,) if lost_leader else None,
    )


def _first_active(catalog: Catalog, replicas: tuple[int, ...], among: set[int]) -> int:
    brokers = catalog.brokers
    for node_id in replicas:
        if node_id in among and node_id in brokers and brokers[node_id].is_active:
            return node_id
    return NO_LEADER


def balanced(catalog: Catalog, most: int) -> Iterator[PartitionChangeRecord]:
    """The records that make preferred replicas leaders again, where possible, at most `most`.

    The preferred replica is the first of a partition's replicas (maybeBalancePartitionLeaders).
    """
    left = most
    brokers = catalog.brokers
    for topic in catalog.topics.values():
        for known in topic.partitions:
            preferred = known.replicas[0]
            if preferred == known.leader_id or preferred not in known.isr:
                continue
            if preferred in brokers and brokers[preferred].is_active and left > 0:
                left -= 1
                yield PartitionChangeRecord(known.index, topic.topic_id, leader=preferred)


def caught_up(catalog: Catalog, min_isr: MinIsr) -> Iterator[PartitionChangeRecord]:
    """The records that return replicas of active brokers to ISRs, in partitions with a leader."""
    active = {node_id for node_id, broker in catalog.brokers.items() if broker.is_active}
    for topic in catalog.topics.values():
        for known in topic.partitions:
            if known.leader_id not in active or len(known.isr) == len(known.replicas):
                continue
            back = tuple(each for each in known.replicas if each in active - {*known.isr})
            if back:
                isr = known.isr + back
                enough = len(isr) >= min(min_isr(topic), len(known.replicas))
                elr = known.eligible_leader_replicas
                left = () if enough else tuple(each for each in elr if each not in isr)
                yield PartitionChangeRecord(
                    known.index,
                    topic.topic_id,
                    isr=isr,
                    eligible_leader_replicas=None if left == elr else left,
                )
