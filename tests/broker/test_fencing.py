"""A broker that is fenced leads nothing, and is in sync again when it is back (KIP-966)."""

from __future__ import annotations

from uuid import UUID

import pytest

from ottla.metadata.catalog import Catalog, Partition
from ottla.metadata.fencing import balanced, caught_up, fenced
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


class Place:
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
        self.tell(*records, TopicRecord("orders", TOPIC_ID), partition)

    def tell(self, *records: MetadataRecord) -> None:
        for record in records:
            self.catalog.replay(record, self.catalog.last_offset + 1)

    def fence(self, node_id: int) -> list[PartitionChangeRecord]:
        changes = list(fenced(self.catalog, node_id, lambda _: self.min_isr))
        self.tell(*changes, BrokerRegistrationChangeRecord(node_id, node_id, fenced=1))
        return changes

    def come_back(self, node_id: int) -> None:
        self.tell(BrokerRegistrationChangeRecord(node_id, node_id, fenced=-1))
        self.tell(*self.catalog.revive(node_id))
        self.tell(*caught_up(self.catalog, lambda _: self.min_isr))

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
    place = Place(2, 3, 1)
    place.fence(2)
    assert place.now() == (3, 1, (3, 1), ())


def test_the_order_of_the_replicas_decides_and_not_that_of_the_isr() -> None:
    place = Place(2, 3, 1, isr=(2, 1, 3))
    place.fence(2)
    assert place.now() == (3, 1, (1, 3), ())


def test_a_follower_goes_from_the_isr_alone_and_the_epoch_stays() -> None:
    place = Place(2, 3, 1)
    place.fence(1)
    assert place.now() == (2, 0, (2, 3), ())


def test_who_has_no_part_in_a_partition_changes_nothing() -> None:
    place = Place(2, 3)
    assert place.fence(1) == []


def test_the_only_replica_leaves_the_partition_without_a_leader() -> None:
    place = Place(2)
    place.fence(2)
    assert place.now() == (-1, 1, (), (2,))
    assert place.partition.last_known_elr == (2,)
    place.come_back(2)
    assert place.now() == (2, 2, (2,), ())
    assert not place.partition.last_known_elr


def test_without_eligible_leader_replicas_the_last_one_stays_in_the_isr() -> None:
    place = Place(2, elr=False)
    place.fence(2)
    assert place.now() == (-1, 1, (2,), ())
    place.come_back(2)
    assert place.now() == (2, 2, (2,), ())


def test_below_the_minimum_who_leaves_stays_eligible() -> None:
    place = Place(1, 2, 3, min_isr=2)
    place.fence(1)
    assert place.now() == (2, 1, (2, 3), ())
    place.fence(2)
    assert place.now() == (3, 2, (3,), (2,))


def test_an_eligible_one_leads_when_nobody_is_in_sync() -> None:
    place = Place(1, 2, 3, min_isr=2)
    for node_id in (1, 2, 3):
        place.fence(node_id)
    assert place.now() == (-1, 3, (), (2, 3))
    place.come_back(1)
    assert place.now() == (-1, 3, (), (2, 3)), "it lacks what was acknowledged without it"
    place.come_back(2)
    assert place.partition.leader_id == 2
    assert set(place.partition.isr) == {1, 2}, "and the other one has caught up"


def test_who_is_being_fenced_is_not_elected_though_it_is_eligible() -> None:
    place = Place(1, min_isr=1)
    (change,) = place.fence(1)
    assert change.leader == -1


def test_a_minimum_above_the_number_of_replicas_is_that_number() -> None:
    place = Place(1, 2, min_isr=3)
    place.fence(2)
    assert place.now() == (1, 0, (1,), (2,))
    place.come_back(2)
    assert place.now() == (1, 0, (1, 2), ())


@pytest.mark.parametrize("first", [1, 2, 3])
def test_who_is_back_follows_and_is_in_sync(first: int) -> None:
    place = Place(1, 2, 3)
    place.fence(first)
    leader_id = place.partition.leader_id
    place.come_back(first)
    assert place.partition.leader_id == leader_id
    assert set(place.partition.isr) == {1, 2, 3}


def test_the_first_replica_leads_again_when_it_can() -> None:
    place = Place(2, 3, 1)
    assert list(balanced(place.catalog, 10)) == []
    place.fence(2)
    assert list(balanced(place.catalog, 10)) == [], "it is away"
    place.come_back(2)
    (change,) = balanced(place.catalog, 10)
    assert change.leader == 2
    assert list(balanced(place.catalog, 0)) == []
