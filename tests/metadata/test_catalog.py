"""The catalog decides as Kafka's controller does, and changes only by replay of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ottla.metadata.catalog import Catalog, ResourceType, topic_of
from ottla.metadata.catalog_records import records_of
from ottla.metadata.records import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    EndPoint,
    EndTransactionRecord,
    FeatureLevelRecord,
    ForeignRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UserScramCredentialRecord,
    decode,
    encode,
)
from ottla.metadata.scram import ScramCredentials
from ottla.protocol.errors import Code, Refused

ORDERS = UUID(int=100)
DIRECTORY = UUID(int=9)


def replay(catalog: Catalog, records: Sequence[MetadataRecord]) -> None:
    for record in records:
        catalog.replay(record, catalog.last_offset + 1)


def registered(node_id: int, epoch: int = 0, *, fenced: bool = False) -> RegisterBrokerRecord:
    end_points = (EndPoint("PLAINTEXT", "here", 9092),)
    return RegisterBrokerRecord(
        node_id, UUID(int=node_id), epoch, end_points, fenced=fenced, log_dirs=(DIRECTORY,)
    )


def catalog_of(*node_ids: int) -> Catalog:
    catalog = Catalog()
    replay(catalog, [registered(node_id) for node_id in node_ids])
    return catalog


def with_topic(
    name: str = "orders", partitions: int = 3, node_ids: Sequence[int] = (1,), replicas: int = 1
) -> Catalog:
    catalog = catalog_of(*node_ids)
    records = catalog.create_topic(name, ORDERS, partitions=partitions, replication_factor=replicas)
    replay(catalog, records)
    return catalog


def test_a_new_topic_is_written_as_its_id_its_settings_and_its_partitions() -> None:
    records = catalog_of(1).create_topic(
        "orders",
        ORDERS,
        partitions=2,
        replication_factor=1,
        configs={"retention.ms": "5", "min.insync.replicas": "1"},
    )
    assert records == (
        TopicRecord("orders", ORDERS),
        ConfigRecord(2, "orders", "retention.ms", "5"),
        ConfigRecord(2, "orders", "min.insync.replicas", "1"),
        ClearElrRecord("orders"),
        PartitionRecord(0, ORDERS, (1,), (1,), 1, directories=(DIRECTORY,)),
        PartitionRecord(1, ORDERS, (1,), (1,), 1, directories=(DIRECTORY,)),
    )


def test_deciding_changes_nothing() -> None:
    catalog = with_topic()
    same = with_topic()
    catalog.create_topic("other", UUID(int=2), partitions=2, replication_factor=1)
    catalog.create_partitions("orders", 7)
    catalog.delete_topic(ORDERS)
    catalog.set_configs(ResourceType.TOPIC, "orders", {"retention.ms": "5"})
    catalog.allocate_producer_ids(1)
    assert catalog == same


def test_the_preview_of_a_topic_equals_the_created_topic() -> None:
    catalog = catalog_of(1, 2)
    records = catalog.create_topic("orders", ORDERS, partitions=3, replication_factor=2)
    replay(catalog, records)
    assert topic_of(records) == catalog.topics["orders"]
    assert catalog.topic_by_id(ORDERS) is catalog.topics["orders"]


def test_leaders_are_spread_over_the_nodes_from_topic_to_topic() -> None:
    catalog = catalog_of(1, 2, 3)
    for number, name in enumerate(("a", "b"), 1):
        replay(
            catalog,
            catalog.create_topic(name, UUID(int=number), partitions=2, replication_factor=1),
        )
    leaders = [part.leader_id for topic in catalog.topics.values() for part in topic.partitions]
    assert leaders == [1, 2, 3, 1]


def test_replicas_are_on_different_nodes() -> None:
    catalog = with_topic(partitions=6, node_ids=(1, 2, 3), replicas=2)
    for partition in catalog.topics["orders"].partitions:
        assert len(set(partition.replicas)) == 2
        assert partition.isr == partition.replicas
        assert partition.leader_id == partition.replicas[0]


def test_a_fenced_node_gets_no_new_partition() -> None:
    catalog = catalog_of(1, 2)
    replay(catalog, [BrokerRegistrationChangeRecord(2, 1, fenced=1)])
    records = catalog.create_topic("orders", ORDERS, partitions=4, replication_factor=1)
    assert {part.replicas for part in topic_of(records).partitions} == {(1,)}
    replay(catalog, [BrokerRegistrationChangeRecord(1, 0, in_controlled_shutdown=1)])
    with pytest.raises(Refused, match="All brokers are currently fenced"):
        catalog.create_topic("orders", ORDERS, partitions=4, replication_factor=1)
    with pytest.raises(Refused, match="are fenced or in controlled shutdown"):
        catalog.create_topic(
            "orders", ORDERS, partitions=-1, replication_factor=-1, assignments=[(0, [1, 2])]
        )
    replay(catalog, [BrokerRegistrationChangeRecord(2, 1, fenced=-1)])
    records = catalog.create_topic("orders", ORDERS, partitions=1, replication_factor=1)
    assert topic_of(records).partitions[0].leader_id == 2


def test_fenced_nodes_become_replicas_only_when_active_ones_run_out_and_come_last() -> None:
    """As three brokers of Kafka 4.1.1 place them when one and when two of them are stopped."""
    catalog = catalog_of(1, 2, 3)

    def new(partitions: int, replicas: int) -> set[tuple[int, ...]]:
        records = catalog.create_topic(
            "orders", ORDERS, partitions=partitions, replication_factor=replicas
        )
        made = topic_of(records).partitions
        active = {node_id for node_id, broker in catalog.brokers.items() if broker.is_active}
        assert all({*part.isr} == active & {*part.replicas} for part in made)
        assert all(part.leader_id == part.replicas[0] for part in made)
        return {part.replicas for part in made}

    replay(catalog, [BrokerRegistrationChangeRecord(1, 0, fenced=1)])
    assert new(4, 2) == {(2, 3), (3, 2)}
    assert new(4, 3) == {(2, 3, 1), (3, 2, 1)}
    replay(catalog, [BrokerRegistrationChangeRecord(2, 1, fenced=1)])
    assert new(4, 1) == {(3,)}
    assert new(4, 2) == {(3, 1), (3, 2)}
    assert new(4, 3) == {(3, 1, 2), (3, 2, 1)}
    with pytest.raises(Refused, match=r"only 3 broker\(s\) are registered"):
        new(1, 4)
    replay(catalog, [BrokerRegistrationChangeRecord(1, 0, fenced=-1, in_controlled_shutdown=1)])
    with pytest.raises(Refused, match=r"only 2 broker\(s\) are registered"):
        new(1, 3)


def test_a_partition_assigned_to_a_fenced_node_is_led_by_the_other() -> None:
    catalog = catalog_of(1, 2)
    replay(catalog, [BrokerRegistrationChangeRecord(1, 0, fenced=1)])
    records = catalog.create_topic(
        "orders", ORDERS, partitions=-1, replication_factor=-1, assignments=[(0, [1, 2])]
    )
    (partition,) = topic_of(records).partitions
    assert (partition.replicas, partition.isr, partition.leader_id) == ((1, 2), (2,), 2)


def test_added_partitions_have_the_replication_factor_of_the_first() -> None:
    catalog = with_topic(partitions=1, node_ids=(1, 2, 3), replicas=3)
    replay(catalog, [*catalog.create_partitions("orders", 3)])
    topic = catalog.topics["orders"]
    assert [part.index for part in topic.partitions] == [0, 1, 2]
    assert all(len(part.replicas) == 3 for part in topic.partitions)
    with pytest.raises(Refused, match="not consistent with previous"):
        catalog.create_partitions("orders", 4, [[1, 2]])


def test_a_recreated_topic_keeps_nothing_of_the_deleted_one() -> None:
    catalog = with_topic()
    replay(catalog, catalog.set_configs(ResourceType.TOPIC, "orders", {"retention.ms": "5"}))
    replay(catalog, catalog.delete_topic(ORDERS))
    assert not catalog.topics
    assert catalog.topic_by_id(ORDERS) is None
    assert catalog.overrides(ResourceType.TOPIC, "orders") == {}
    with pytest.raises(Refused) as refused:
        catalog.delete_topic(ORDERS)
    assert refused.value.code == Code.UNKNOWN_TOPIC_ID
    anew = UUID(int=101)
    replay(catalog, catalog.create_topic("orders", anew, partitions=1, replication_factor=1))
    assert catalog.topics["orders"].topic_id == anew
    assert len(catalog.topics["orders"].partitions) == 1
    assert catalog.overrides(ResourceType.TOPIC, "orders") == {}


def test_a_new_leader_has_the_next_epoch() -> None:
    catalog = with_topic(partitions=1, node_ids=(1, 2), replicas=2)
    replay(catalog, catalog.change_leader("orders", 0, 2))
    (partition,) = catalog.topics["orders"].partitions
    assert (partition.leader_id, partition.leader_epoch, partition.partition_epoch) == (2, 1, 1)
    for leader_id, code in (
        (2, Code.ELECTION_NOT_NEEDED),
        (3, Code.ELIGIBLE_LEADERS_NOT_AVAILABLE),
    ):
        with pytest.raises(Refused) as refused:
            catalog.change_leader("orders", 0, leader_id)
        assert refused.value.code == code
    with pytest.raises(Refused, match="UNKNOWN_TOPIC_OR_PARTITION"):
        catalog.change_leader("orders", 1, 1)


def test_a_change_of_the_isr_leaves_leader_and_epoch_alone() -> None:
    catalog = with_topic(partitions=1, node_ids=(1, 2), replicas=2)
    replay(catalog, [PartitionChangeRecord(0, ORDERS, isr=(1,), eligible_leader_replicas=(2,))])
    (partition,) = catalog.topics["orders"].partitions
    assert (partition.isr, partition.leader_id, partition.leader_epoch) == ((1,), 1, 0)
    assert partition.partition_epoch == 1
    assert partition.eligible_leader_replicas == (2,)
    replay(catalog, [ClearElrRecord("")])
    assert catalog.topics["orders"].partitions[0].eligible_leader_replicas == ()


def test_a_restarted_node_leads_partitions_left_without_a_leader_by_a_controlled_stop() -> None:
    catalog = with_topic(partitions=3, node_ids=(1, 2), replicas=1)  # 0 and 2 are node 1's
    left: dict[str, Any] = {"isr": (), "leader": -1, "eligible_leader_replicas": (1,)}
    replay(catalog, [PartitionChangeRecord(0, ORDERS, **left)])
    replay(catalog, catalog.lead_leaderless_partitions(2))
    assert catalog.topics["orders"].partitions[0].leader_id == -1
    replay(catalog, catalog.lead_leaderless_partitions(1))
    first, second, _ = catalog.topics["orders"].partitions
    assert (first.leader_id, first.isr, first.leader_epoch) == (1, (1,), 2)
    assert first.eligible_leader_replicas == ()
    assert (second.leader_id, second.leader_epoch) == (2, 0)
    assert catalog.lead_leaderless_partitions(1) == ()


def test_setting_an_unchanged_value_writes_no_record() -> None:
    catalog = with_topic()
    replay(catalog, catalog.set_configs(ResourceType.TOPIC, "orders", {"retention.ms": "5"}))
    assert catalog.set_configs(ResourceType.TOPIC, "orders", {"retention.ms": "5"}) == ()
    assert catalog.set_configs(ResourceType.TOPIC, "orders", {"segment.ms": None}) == ()
    replay(catalog, catalog.set_configs(ResourceType.TOPIC, "orders", {"retention.ms": None}))
    assert catalog.overrides(ResourceType.TOPIC, "orders") == {}
    assert catalog.resources(ResourceType.TOPIC) == []


def test_settings_of_different_resources_do_not_mix() -> None:
    catalog = with_topic()
    replay(catalog, catalog.set_configs(ResourceType.BROKER, "", {"a": "1"}))
    replay(catalog, catalog.set_configs(ResourceType.BROKER, "1", {"a": "2"}))
    replay(catalog, catalog.set_configs(ResourceType.GROUP, "1", {"a": "3"}))
    assert catalog.overrides(ResourceType.BROKER, "") == {"a": "1"}
    assert catalog.overrides(ResourceType.BROKER, "1") == {"a": "2"}
    assert catalog.overrides(ResourceType.GROUP, "1") == {"a": "3"}
    assert catalog.resources(ResourceType.BROKER) == ["", "1"]
    with pytest.raises(Refused, match="The topic 'nobody' does not exist"):
        catalog.set_configs(ResourceType.TOPIC, "nobody", {"a": "1"})


def test_each_block_of_producer_ids_is_allocated_once() -> None:
    catalog = Catalog()
    with pytest.raises(Refused, match="BROKER_ID_NOT_REGISTERED"):
        catalog.allocate_producer_ids(1)
    replay(catalog, [registered(1, epoch=10)])
    first, records = catalog.allocate_producer_ids(1)
    assert (first, records) == (0, (ProducerIdsRecord(1, 10, 1000),))
    replay(catalog, records)
    assert catalog.allocate_producer_ids(1)[0] == 1000
    replay(catalog, [ProducerIdsRecord(1, 10, 2**63 - 1000)])
    with pytest.raises(Refused, match="All producer ids"):
        catalog.allocate_producer_ids(1)


def test_a_feature_at_level_zero_is_off() -> None:
    catalog = Catalog()
    replay(catalog, [FeatureLevelRecord("group.version", 1), FeatureLevelRecord("x", 3)])
    replay(catalog, [FeatureLevelRecord("group.version", 0)])
    assert catalog.features == {"x": 3}


def test_a_metadata_transaction_applies_at_its_end_and_not_after_an_abort() -> None:
    catalog = catalog_of(1)
    records = catalog.create_topic("orders", ORDERS, partitions=1, replication_factor=1)
    replay(catalog, [BeginTransactionRecord(), *records])
    assert catalog.is_undecided
    assert not catalog.topics
    replay(catalog, [AbortTransactionRecord()])
    assert not catalog.topics
    replay(catalog, [BeginTransactionRecord(), *records, EndTransactionRecord()])
    assert list(catalog.topics) == ["orders"]
    assert not catalog.is_undecided


def test_a_batch_is_replayed_like_its_records() -> None:
    partitions = [PartitionRecord(index, ORDERS, (1,), (1,), 1) for index in (0, 2, 1, 1)]
    begun = [TopicRecord("orders", ORDERS), *partitions[:1]]
    undecided = [BeginTransactionRecord(), *begun, *partitions[1:]]
    for records in (
        begun,
        [*begun, *partitions[1:3]],
        undecided,
        [*undecided, AbortTransactionRecord()],
        [*undecided[:4], EndTransactionRecord()],
    ):
        one_by_one, at_once = Catalog(), Catalog()
        for offset, record in enumerate(records):
            one_by_one.replay(record, 5 + offset)
        at_once.replay_batch(records, 5)
        assert at_once == one_by_one
        assert at_once.last_offset == 4 + len(records)


class CountedCredentials(ScramCredentials):
    """Credentials that know how many records each replay had."""

    def __init__(self) -> None:
        super().__init__()
        self.replayed: list[int] = []

    def replay_all(
        self, records: Sequence[UserScramCredentialRecord | RemoveUserScramCredentialRecord]
    ) -> None:
        self.replayed.append(len(records))
        super().replay_all(records)


def test_the_credentials_of_a_batch_are_replayed_together_and_in_their_order() -> None:
    a, b, again = (
        UserScramCredentialRecord(name, 1, salt, b"stored", b"server", 4096)
        for name, salt in (("a", b"first"), ("b", b"first"), ("a", b"second"))
    )
    acls = [
        AccessControlEntryRecord(UUID(int=number), 2, "orders", 3, "User:a", "*", 3, 3)
        for number in (1, 2)
    ]
    records = [a, b, RemoveUserScramCredentialRecord("b", 1), again, *acls, b, a]
    one_by_one, at_once = Catalog(), Catalog()
    at_once.scram = together = CountedCredentials()
    for offset, record in enumerate(records):
        one_by_one.replay(record, offset)
    at_once.replay_batch(records, 0)
    assert at_once == one_by_one
    assert at_once.last_offset == one_by_one.last_offset == 7
    assert together.changes == one_by_one.scram.changes == 6
    assert together.replayed == [4, 2]


def test_an_unknown_record_advances_only_the_offset() -> None:
    catalog = with_topic()
    offset = catalog.last_offset
    catalog.replay(ForeignRecord(27, b"\1\x1b\0"), offset + 1)
    assert catalog.last_offset == offset + 1
    assert list(catalog.topics) == ["orders"]


def test_partitions_replayed_out_of_order_are_sorted_by_index() -> None:
    catalog = catalog_of(1)
    replay(catalog, [TopicRecord("orders", ORDERS)])
    replay(catalog, [PartitionRecord(index, ORDERS, (1,), (1,), 1) for index in (2, 0, 1)])
    assert [part.index for part in catalog.topics["orders"].partitions] == [0, 1, 2]


NAMES = st.sampled_from(["a", "b", "a.b", "a_b", "__consumer_offsets"])
KEYS = st.sampled_from(["retention.ms", "segment.ms", "min.insync.replicas"])


class Life(RuleBasedStateMachine):
    """Anything may be asked in any order; the log alone must lead back to the same catalog."""

    def __init__(self) -> None:
        super().__init__()
        self.catalog = Catalog()
        self.log: list[bytes] = []
        self.ids = 0
        self.gone: set[UUID] = set()
        self.do(tuple(registered(node_id) for node_id in (1, 2, 3)))

    def do(self, records: tuple[MetadataRecord, ...]) -> None:
        for record in records:
            self.log.append(encode(record))
            self.catalog.replay(record, len(self.log) - 1)

    @rule(name=NAMES, count=st.integers(-1, 4), replicas=st.integers(-1, 4))
    def create(self, name: str, count: int, replicas: int) -> None:
        self.ids += 1
        try:
            records = self.catalog.create_topic(
                name, UUID(int=self.ids), partitions=count, replication_factor=replicas
            )
        except Refused:
            return
        self.do(records)
        assert len(self.catalog.topics[name].partitions) == count

    @precondition(lambda self: self.catalog.topics)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.catalog.topics)))
        topic_id = self.catalog.topics[name].topic_id
        self.do(self.catalog.delete_topic(topic_id))
        self.gone.add(topic_id)

    @rule(name=NAMES, count=st.integers(-1, 6))
    def grow(self, name: str, count: int) -> None:
        try:
            self.do(tuple(self.catalog.create_partitions(name, count)))
        except Refused:
            return
        assert len(self.catalog.topics[name].partitions) == count

    @rule(name=NAMES, key=KEYS, value=st.none() | st.sampled_from("12"))
    def set_config(self, name: str, key: str, value: str | None) -> None:
        try:
            self.do(self.catalog.set_configs(ResourceType.TOPIC, name, {key: value}))
        except Refused:
            return
        assert self.catalog.overrides(ResourceType.TOPIC, name).get(key) == value

    @rule(name=NAMES, partition=st.integers(0, 5), leader_id=st.integers(1, 3))
    def change_leader(self, name: str, partition: int, leader_id: int) -> None:
        try:
            self.do(self.catalog.change_leader(name, partition, leader_id))
        except Refused:
            return
        assert self.catalog.topics[name].partitions[partition].leader_id == leader_id

    @rule(node_id=st.integers(1, 3), fenced=st.sampled_from([-1, 1]))
    def fence(self, node_id: int, fenced: int) -> None:
        epoch = self.catalog.brokers[node_id].epoch
        self.do((BrokerRegistrationChangeRecord(node_id, epoch, fenced=fenced),))

    @rule()
    def allocate(self) -> None:
        first, records = self.catalog.allocate_producer_ids(1)
        self.do(records)
        assert self.catalog.next_producer_id == first + 1000

    @rule()
    def crash(self) -> None:
        restarted = Catalog()
        for offset, value in enumerate(self.log):
            restarted.replay(decode(value), offset)
        assert restarted == self.catalog
        at_once = Catalog()
        at_once.replay_batch([decode(value) for value in self.log], 0)
        assert at_once == restarted
        self.catalog = restarted

    @invariant()
    def its_records_give_it_again(self) -> None:
        again = Catalog()
        again.load(records_of(self.catalog), self.catalog.last_offset + 1)
        assert again == self.catalog

    @invariant()
    def ids_and_names_agree(self) -> None:
        for name, topic in self.catalog.topics.items():
            assert topic.name == name
            assert self.catalog.topic_by_id(topic.topic_id) is topic
            assert [part.index for part in topic.partitions] == [*range(len(topic.partitions))]
        for topic_id in self.gone:
            assert self.catalog.topic_by_id(topic_id) is None

    @invariant()
    def no_two_names_have_the_same_metrics(self) -> None:
        unified = [name.replace(".", "_") for name in self.catalog.topics]
        assert len(set(unified)) == len(unified)

    @invariant()
    def only_topics_that_are_there_have_settings(self) -> None:
        assert set(self.catalog.resources(ResourceType.TOPIC)) <= set(self.catalog.topics)


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip


def test_removing_a_topic_removes_only_it() -> None:
    catalog = with_topic()
    replay(catalog, catalog.create_topic("a.b", UUID(int=5), partitions=1, replication_factor=1))
    replay(catalog, [RemoveTopicRecord(ORDERS)])
    assert list(catalog.topics) == ["a.b"]
    with pytest.raises(Refused, match=r"collides with existing topic: a\.b"):
        catalog.check_free("a_b")
    replay(catalog, [RemoveTopicRecord(UUID(int=5))])
    catalog.check_free("a_b")
