"""A fenced broker leads no partition; once unfenced it rejoins the ISR (KIP-966)."""

from __future__ import annotations

from uuid import UUID

import pytest

from ottla.metadata.catalog import Catalog, Partition
from ottla.metadata.leader_changes import balanced, caught_up, elected_again, fenced
from ottla.metadata.records import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)

TOPIC_ID = UUID(int=7)


class OnePartition:
    """Three brokers, and a topic with one partition."""

    def __init__(
        self, *replicas: int, isr: tuple[int, ...] = (), min_isr: int = 1, elr: bool = True
    ) -> None:
        self.catalog = Catalog()
        self.min_isr = min_isr
        records: list[MetadataRecord] = [
            RegisterBrokerRecord(
                broker_id=node_id, incarnation_id=UUID(int=node_id), broker_epoch=node_id,
                end_points=(), features=(), log_dirs=(), fenced=False,
            )
            for node_id in (1, 2, 3)
        ]  # fmt: skip
        if elr:
            records.append(FeatureLevelRecord("eligible.leader.replicas.version", 1))
        isr = isr or replicas
        partition = PartitionRecord(
            partition_id=0, topic_id=TOPIC_ID, replicas=replicas, isr=isr, leader=isr[0]
        )
        self.replay(*records, TopicRecord("orders", TOPIC_ID), partition)

    def replay(self, *records: MetadataRecord) -> None:
        for record in records:
            self.catalog.replay(record, self.catalog.last_offset + 1)

    def fence(self, node_id: int) -> list[PartitionChangeRecord]:
        changes = list(fenced(self.catalog, node_id, lambda _: self.min_isr))
        self.replay(*changes, BrokerRegistrationChangeRecord(node_id, node_id, fenced=1))
        return changes

    def unfence(self, node_id: int) -> None:
        self.replay(BrokerRegistrationChangeRecord(node_id, node_id, fenced=-1))
        self.replay(*self.catalog.lead_leaderless_partitions(node_id))
        self.replay(*caught_up(self.catalog, lambda _: self.min_isr))

    @property
    def partition(self) -> Partition:
        return self.catalog.topics["orders"].partitions[0]

    def now(self) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
        """Leader, leader epoch, replicas in sync, eligible leader replicas."""
        known = self.partition
        return (
            known.leader_id, known.leader_epoch, known.isr, known.eligible_leader_replicas
        )  # fmt: skip


def test_the_next_replica_in_sync_leads_under_the_next_epoch() -> None:
    one = OnePartition(2, 3, 1)
    one.fence(2)
    assert one.now() == (3, 1, (3, 1), ())


def test_a_leader_that_returns_after_a_crash_leads_under_a_later_epoch() -> None:
    one = OnePartition(2, 3, 1)
    one.replay(*elected_again(one.catalog, 3))  # a follower
    assert one.now() == (2, 0, (2, 3, 1), ())
    one.replay(*elected_again(one.catalog, 2))
    assert one.now() == (2, 2, (2, 3, 1), ())


def test_the_order_of_the_replicas_decides_the_election_not_that_of_the_isr() -> None:
    one = OnePartition(2, 3, 1, isr=(2, 1, 3))
    one.fence(2)
    assert one.now() == (3, 1, (1, 3), ())


def test_fencing_a_follower_shrinks_the_isr_and_keeps_the_leader_epoch() -> None:
    one = OnePartition(2, 3, 1)
    one.fence(1)
    assert one.now() == (2, 0, (2, 3), ())


def test_fencing_a_broker_without_a_replica_changes_nothing() -> None:
    one = OnePartition(2, 3)
    assert one.fence(1) == []


def test_the_only_replica_leaves_the_partition_without_a_leader() -> None:
    one = OnePartition(2)
    one.fence(2)
    assert one.now() == (-1, 1, (), (2,))
    assert one.partition.last_known_elr == (2,)
    one.unfence(2)
    assert one.now() == (2, 2, (2,), ())
    assert not one.partition.last_known_elr


def test_without_eligible_leader_replicas_the_last_one_stays_in_the_isr() -> None:
    one = OnePartition(2, elr=False)
    one.fence(2)
    assert one.now() == (-1, 1, (2,), ())
    one.unfence(2)
    assert one.now() == (2, 2, (2,), ())


def test_below_the_minimum_a_broker_that_leaves_the_isr_stays_eligible() -> None:
    one = OnePartition(1, 2, 3, min_isr=2)
    one.fence(1)
    assert one.now() == (2, 1, (2, 3), ())
    one.fence(2)
    assert one.now() == (3, 2, (3,), (2,))


def test_an_eligible_replica_leads_when_the_isr_is_empty() -> None:
    one = OnePartition(1, 2, 3, min_isr=2)
    for node_id in (1, 2, 3):
        one.fence(node_id)
    assert one.now() == (-1, 3, (), (2, 3))
    one.unfence(1)
    assert one.now() == (-1, 3, (), (2, 3)), "it lacks what was acknowledged without it"
    one.unfence(2)
    assert one.partition.leader_id == 2
    assert set(one.partition.isr) == {1, 2}, "and the other one has caught up"


def test_the_fenced_broker_is_not_elected_although_it_is_eligible() -> None:
    one = OnePartition(1, min_isr=1)
    (change,) = one.fence(1)
    assert change.leader == -1


def test_a_minimum_above_the_number_of_replicas_is_that_number() -> None:
    one = OnePartition(1, 2, min_isr=3)
    one.fence(2)
    assert one.now() == (1, 0, (1,), (2,))
    one.unfence(2)
    assert one.now() == (1, 0, (1, 2), ())


@pytest.mark.parametrize("first", [1, 2, 3])
def test_an_unfenced_broker_follows_and_is_in_sync(first: int) -> None:
    one = OnePartition(1, 2, 3)
    one.fence(first)
    leader_id = one.partition.leader_id
    one.unfence(first)
    assert one.partition.leader_id == leader_id
    assert set(one.partition.isr) == {1, 2, 3}


def test_the_preferred_replica_leads_again_when_possible() -> None:
    one = OnePartition(2, 3, 1)
    assert list(balanced(one.catalog, 10)) == []
    one.fence(2)
    assert list(balanced(one.catalog, 10)) == [], "it is away"
    one.unfence(2)
    (change,) = balanced(one.catalog, 10)
    assert change.leader == 2
    assert list(balanced(one.catalog, 0)) == []
