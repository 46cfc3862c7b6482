"""Records of consumer groups: bytes that Apache Kafka wrote, and back."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.consumer.member import (
    Assignment,
    ClassicMember,
    ConsumerMember,
    epochs_of,
)
from ottla.coordinator.consumer.records import (
    ConsumerRecord,
    ConsumerRemoved,
    CurrentMember,
    GroupEpoch,
    Kind,
    MemberSubscription,
    ResolvedRegex,
    SubscriptionMetadata,
    TargetEpoch,
    TargetMember,
    subscription,
)
from ottla.coordinator.group_records import decode, encode
from ottla.coordinator.modern_groups import MemberState
from ottla.protocol.errors import Malformed

GROUP = "hash-1795274455"
KEY = b"\0\x0f" + GROUP.encode()
STOCK = uuid.UUID("690d4033-5974-44b2-8984-e542e448e782")
ORDERS = uuid.UUID("7d405276-b370-4b50-b71b-b1d2fd8de5fe")
MEMBER = ConsumerMember(
    "m1",
    rebalance_timeout_ms=60_000,
    client_id="wire",
    client_host="/127.0.0.1",
    subscribed_topic_names=frozenset({"orders-1795274454", "stock-1795274454"}),
)
MEMBER_BYTES = (
    b"\0\0\0\0\x05wire\x0b/127.0.0.1\x03\x12orders-1795274454\x11stock-1795274454\x01\0\0\xea\x60"
    b"\0\x01\0\x01\0"
)
ORDERS_BYTES = ORDERS.bytes + b"\x04\0\0\0\0\0\0\0\x01\0\0\0\x02\0"
STOCK_BYTES = STOCK.bytes + b"\x03\0\0\0\0\0\0\0\x01\0"
THREE = frozenset({0, 1, 2})
TWO = frozenset({0, 1})

GOLDEN: list[tuple[ConsumerRecord, bytes, bytes]] = [
    (MemberSubscription(GROUP, MEMBER), b"\0\x05" + KEY + b"\0\x02m1", MEMBER_BYTES),
    (
        GroupEpoch(GROUP, 1, 1594097523552517459),
        b"\0\x03" + KEY,
        bytes.fromhex("00000000000101000816 1f5f4074ad7d53".replace(" ", "")),
    ),
    (
        TargetMember(GROUP, "m1", {ORDERS: THREE, STOCK: TWO}),
        b"\0\x07" + KEY + b"\0\x02m1",
        b"\0\0\x03" + ORDERS_BYTES + STOCK_BYTES + b"\0",
    ),
    (TargetEpoch(GROUP, 1), b"\0\x06" + KEY, b"\0\0\0\0\0\x01\0"),
]
OWNED: Assignment = {STOCK: TWO, ORDERS: THREE}


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN)
def test_records_are_written_and_read_as_by_kafka(
    record: ConsumerRecord, key: bytes, value: bytes
) -> None:
    assert encode(record) == (key, value)
    assert decode(key, value) == record


assignments = st.dictionaries(st.uuids(), st.frozensets(st.integers(0, 99), min_size=1), max_size=3)
texts = st.text(max_size=8)
counts = st.integers(-2, 2**31 - 1)
members = st.builds(
    ConsumerMember,
    texts,
    instance_id=st.none() | texts,
    rack_id=st.none() | texts,
    rebalance_timeout_ms=counts,
    client_id=texts,
    client_host=texts,
    subscribed_topic_names=st.frozensets(texts, max_size=3),
    subscribed_topic_regex=texts,
    server_assignor=st.none() | texts,
    classic=st.none()
    | st.builds(
        ClassicMember, counts, st.lists(st.tuples(texts, st.binary()), max_size=2).map(tuple)
    ),
)
records = st.one_of(
    st.builds(GroupEpoch, texts, counts, st.integers(-(2**63), 2**63 - 1)),
    st.builds(SubscriptionMetadata, texts),
    st.builds(MemberSubscription, texts, members),
    st.builds(TargetEpoch, texts, counts, st.integers(0, 2**62)),
    st.builds(TargetMember, texts, texts, assignments),
    st.builds(
        lambda group_id, member_id, epoch, state, assigned, revoked: CurrentMember(
            group_id,
            member_id,
            epoch,
            0,
            state,
            assigned,
            revoked,
            epochs_of(3, assigned, revoked),
        ),
        texts,
        texts,
        counts,
        st.sampled_from(MemberState),
        assignments,
        assignments,
    ),
    st.builds(
        ResolvedRegex,
        texts,
        texts,
        st.frozensets(texts, max_size=3),
        st.integers(0, 2**62),
        st.integers(0, 2**62),
    ),
    st.builds(ConsumerRemoved, st.sampled_from([Kind.MEMBER, Kind.REGEX]), texts, texts),
    st.builds(ConsumerRemoved, st.sampled_from([Kind.GROUP, Kind.TARGET]), texts),
)


def test_a_member_of_an_older_kafka_has_had_its_partitions_in_its_epoch() -> None:
    """Before 4.3 the record has no assignmentEpochs (KIP-1251)."""
    key = b"\0\x08" + KEY + b"\0\x02m1"
    value = b"\0\0\0\0\0\x07\0\0\0\0\0\x03" + STOCK_BYTES + ORDERS_BYTES + b"\x01\0"
    member = CurrentMember(GROUP, "m1", 7, 0, MemberState.STABLE, OWNED, {}, epochs_of(7, OWNED))
    assert decode(key, value) == member
    assert decode(*encode(member)) == member


@given(records)
def test_written_records_read_back_equal(record: ConsumerRecord) -> None:
    assert decode(*encode(record)) == record


@given(records, st.data())
def test_truncated_records_are_refused(record: ConsumerRecord, data: st.DataObject) -> None:
    key, value = encode(record)
    if value is not None:
        cut = data.draw(st.integers(0, len(value) - 1))
        with pytest.raises(Malformed):
            decode(key, value[:cut])


def test_a_members_epoch_is_not_part_of_its_subscription_record() -> None:
    owned: Assignment = {ORDERS: THREE}
    state = MemberState.UNRELEASED
    standing = replace(MEMBER, member_epoch=7, state=state, assigned=owned)
    assert subscription(GROUP, standing) == MemberSubscription(GROUP, MEMBER)


def test_a_member_of_kafka_without_the_tag_is_a_consumer_here() -> None:
    """Kafka always writes it; what lacks it is from a coordinator older than the tag."""
    old = MEMBER_BYTES[:-5] + b"\0\0"
    assert decode(b"\0\x05" + KEY + b"\0\x02m1", old) == MemberSubscription(GROUP, MEMBER)
