"""The state of a catalog as records: a snapshot contains everything that was replayed."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import pytest

from ottla.metadata.catalog import Catalog
from ottla.metadata.catalog_records import records_of
from ottla.metadata.records import (
    _WRITTEN,
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EndPoint,
    EndTransactionRecord,
    EntityData,
    FeatureLevelRecord,
    FeatureRange,
    ForeignRecord,
    MetadataRecord,
    NoOpRecord,
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

ORDERS, GONE, DIRECTORY, RULE, OLD_RULE = (UUID(int=number) for number in range(1, 6))
ALICE = (EntityData("user", "alice"),)


def foreign(number: int, content: bytes) -> ForeignRecord:
    return ForeignRecord(number, bytes((1, number, 0)) + content)


# One of every kind at least.
HISTORY: Final[tuple[MetadataRecord, ...]] = (
    NoOpRecord(),
    FeatureLevelRecord("group.version", 1),
    FeatureLevelRecord("metadata.version", 27),
    RegisterBrokerRecord(
        1, UUID(int=11), 3, (EndPoint("X", "here", 1),), (FeatureRange("group.version", 0, 1),),
        rack="r", log_dirs=(DIRECTORY,),
    ),
    RegisterBrokerRecord(2, UUID(int=12), 4, ()),
    RegisterBrokerRecord(3, UUID(int=13), 5, ()),
    BrokerRegistrationChangeRecord(1, 3, fenced=-1, in_controlled_shutdown=1),
    UnregisterBrokerRecord(3, 5),
    BeginTransactionRecord("one"),
    TopicRecord("orders.all", ORDERS),
    TopicRecord("gone", GONE),
    EndTransactionRecord(),
    PartitionRecord(0, ORDERS, (1, 2), (1,), 1, 5, 6, (DIRECTORY, DIRECTORY)),
    PartitionRecord(1, ORDERS, (1, 2), (1,), 1, eligible_leader_replicas=(2,)),
    PartitionChangeRecord(
        0, ORDERS, leader=2, isr=(2,), replicas=(2, 1, 3), removing_replicas=(1,),
        adding_replicas=(3,), leader_recovery_state=1, eligible_leader_replicas=(1,),
        last_known_elr=(1,),
    ),
    ConfigRecord(2, "orders.all", "retention.ms", "5"),
    ConfigRecord(2, "orders.all", "retention.bytes", "5"),
    ConfigRecord(2, "orders.all", "retention.bytes", None),
    ConfigRecord(4, "", "min.insync.replicas", "1"),
    ConfigRecord(32, "group", "consumer.session.timeout.ms", "46000"),
    ConfigRecord(2, "gone", "retention.ms", "5"),
    RemoveTopicRecord(GONE),
    ProducerIdsRecord(1, 3, 4000),
    BeginTransactionRecord("two"),
    ConfigRecord(2, "orders.all", "retention.bytes", "7"),
    AbortTransactionRecord(),
    AccessControlEntryRecord(RULE, 2, "orders", 3, "User:alice", "*", 3, 3),
    AccessControlEntryRecord(OLD_RULE, 2, "orders", 3, "User:bob", "*", 3, 3),
    RemoveAccessControlEntryRecord(OLD_RULE),
    UserScramCredentialRecord("alice", 1, b"salt", b"stored", b"server", 4096),
    UserScramCredentialRecord("bob", 1, b"salt", b"stored", b"server", 4096),
    RemoveUserScramCredentialRecord("bob", 1),
    ClientQuotaRecord(ALICE, "producer_byte_rate", 1000.0),
    ClientQuotaRecord(ALICE, "consumer_byte_rate", 1000.0),
    ClientQuotaRecord(ALICE, "consumer_byte_rate", remove=True),
    DelegationTokenRecord("User:alice", "User:bob", ("User:carol",), 1, 9, 5, "id"),
    DelegationTokenRecord("User:alice", "User:alice", (), 1, 9, 5, "removed"),
    RemoveDelegationTokenRecord("removed"),
    foreign(30, b"a record of another version"),
    foreign(27, b"\0\0\0\x09 a controller as it was"),
    foreign(27, b"\0\0\0\x09 a controller as it is"),
    foreign(31, b"another one"),
)  # fmt: skip
CLEARED: Final = (*HISTORY, ClearElrRecord("orders.all"))

# What changes the state and is no part of it: the record of what was changed has it.
CHANGES: Final = {
    AbortTransactionRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    EndTransactionRecord,
    NoOpRecord,
    PartitionChangeRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    UnregisterBrokerRecord,
}


def after(records: tuple[MetadataRecord, ...]) -> Catalog:
    catalog = Catalog()
    for offset, record in enumerate(records):
        catalog.replay(record, offset)
    return catalog


@pytest.mark.parametrize("records", [(), HISTORY, CLEARED], ids=["nothing", "history", "cleared"])
def test_the_records_of_a_catalog_restore_it(records: tuple[MetadataRecord, ...]) -> None:
    catalog = after(records)
    again = Catalog()
    again.load(records_of(catalog), catalog.last_offset + 1)
    assert again == catalog
    assert list(again.topics) == list(catalog.topics)
    assert list(records_of(again)) == list(records_of(catalog))


def test_every_replayed_kind_is_in_a_snapshot_or_a_known_change() -> None:
    """A new kind needs an example in HISTORY, and a line in `records`."""
    assert {type(record) for record in CLEARED} == {*_WRITTEN, ForeignRecord}
    kept = {type(record) for record in records_of(after(HISTORY))}
    assert kept == {*_WRITTEN, ForeignRecord} - CHANGES


def test_the_records_describe_the_moment_at_which_they_were_requested() -> None:
    catalog = after(HISTORY)
    expected = list(records_of(catalog))
    taken = records_of(catalog)
    first = [next(taken) for _ in range(4)]
    later: tuple[MetadataRecord, ...] = (
        RemoveTopicRecord(ORDERS),
        TopicRecord("late", GONE),
        ProducerIdsRecord(1, 3, 9000),
        RemoveAccessControlEntryRecord(RULE),
        foreign(30, b"another"),
    )
    for offset, record in enumerate(later, catalog.last_offset + 1):
        catalog.replay(record, offset)
    assert first + list(taken) == expected


def test_the_metadata_version_comes_first() -> None:
    first = next(iter(records_of(after(HISTORY))))
    assert first == FeatureLevelRecord("metadata.version", 27)


def test_foreign_records_keep_their_order_and_the_newest_of_each_controller() -> None:
    kept = [record for record in records_of(after(HISTORY)) if isinstance(record, ForeignRecord)]
    assert [record.number for record in kept] == [30, 27, 31]
    assert kept[1].value.endswith(b"as it is")
