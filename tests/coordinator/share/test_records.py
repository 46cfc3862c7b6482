"""Records of share groups: bytes that Apache Kafka 4.4.0 wrote, and back."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.consumer.topics import TopicMetadata
from ottla.coordinator.group_records import decode, encode
from ottla.coordinator.modern_groups import MemberState
from ottla.coordinator.share.records import (
    CurrentMember,
    GroupEpoch,
    Kind,
    MemberSubscription,
    ShareRecord,
    ShareRemoved,
    StateTopic,
    StateTopics,
    TargetEpoch,
    TargetMember,
)
from ottla.protocol.errors import Malformed
from tests.coordinator.consumer.conversation import FakeTopics
from tests.coordinator.share.conversation import Sharer, ShareTalk

GROUP = "shares2"
KEY = b"\0\x07" + GROUP.encode()
ORDERS, STOCK = "acvabn-t0-rec", "acvabn-t1-rec"
ORDERS_ID = uuid.UUID("3cabca06-9c89-4f14-917b-9c53e043ad1e")
STOCK_ID = uuid.UUID("302f2e72-f683-40c7-9f0e-08c35c2258ac")
HASH = 0x112B547E1A004F28
ORDERS_INFO = ORDERS_ID.bytes + b"\x0e" + ORDERS.encode()
STOCK_INFO = STOCK_ID.bytes + b"\x0e" + STOCK.encode()
BOTH, SECOND = b"\x03\0\0\0\0\0\0\0\x01\0", b"\x02\0\0\0\x01\0"
FIRST = b"\x02\0\0\0\0\0"
TIMESTAMP_MS = 0x1A2171FBD85

GOLDEN: list[tuple[ShareRecord, bytes, bytes]] = [
    (
        MemberSubscription(GROUP, "m1", "rack-a", "wire", "/127.0.0.1", frozenset({ORDERS})),
        b"\0\x0a" + KEY + b"\0\x02m1",
        b"\0\0\x07rack-a\x05wire\x0b/127.0.0.1\x02\x0e" + ORDERS.encode() + b"\0",
    ),
    (
        MemberSubscription(GROUP, "m2", None, "wire", "/127.0.0.1", frozenset({STOCK, ORDERS})),
        b"\0\x0a" + KEY + b"\0\x02m2",
        b"\0\0\0\x05wire\x0b/127.0.0.1\x03\x0e" + f"{ORDERS}\x0e{STOCK}\0".encode(),
    ),
    (
        GroupEpoch(GROUP, 2, HASH),
        b"\0\x0b" + KEY,
        b"\0\0\0\0\0\x02\x11+T~\x1a\0O(\0",
    ),
    (
        TargetEpoch(GROUP, 2, TIMESTAMP_MS),
        b"\0\x0c" + KEY,
        b"\0\0\0\0\0\x02\x01\0\x08\0\0\x01\xa2\x17\x1f\xbd\x85",
    ),
    (TargetEpoch(GROUP, 7), b"\0\x0c" + KEY, b"\0\0\0\0\0\x07\0"),
    (TargetMember(GROUP, "m1", {}), b"\0\x0d" + KEY + b"\0\x02m1", b"\0\0\x01\0"),
    (
        TargetMember(GROUP, "m1", {ORDERS_ID: frozenset({0, 1})}),
        b"\0\x0d" + KEY + b"\0\x02m1",
        b"\0\0\x02" + ORDERS_ID.bytes + BOTH + b"\0",
    ),
    (
        CurrentMember(GROUP, "m1", 2, 0, MemberState.STABLE, {}),
        b"\0\x0e" + KEY + b"\0\x02m1",
        b"\0\0\0\0\0\x02\0\0\0\0\0\x01\0",
    ),
    (
        CurrentMember(GROUP, "m1", 5, 3, MemberState.STABLE, {ORDERS_ID: frozenset({1})}),
        b"\0\x0e" + KEY + b"\0\x02m1",
        b"\0\0\0\0\0\x05\0\0\0\x03\0\x02" + ORDERS_ID.bytes + SECOND + b"\0",
    ),
    (
        StateTopics(
            GROUP,
            {STOCK_ID: StateTopic(STOCK, frozenset({0}))},
            {ORDERS_ID: StateTopic(ORDERS, frozenset({0, 1}))},
            {},
        ),
        b"\0\x0f" + KEY,
        b"\0\0\x02" + STOCK_INFO + FIRST + b"\x02" + ORDERS_INFO + BOTH + b"\x01\0",
    ),
    (
        StateTopics(
            GROUP,
            {
                STOCK_ID: StateTopic(STOCK, frozenset({0})),
                ORDERS_ID: StateTopic(ORDERS, frozenset({1})),
            },
            {STOCK_ID: StateTopic(STOCK, frozenset({0}))},
            {},
        ),
        b"\0\x0f" + KEY,
        b"\0\0\x03" + ORDERS_INFO + SECOND + STOCK_INFO + FIRST
        + b"\x02" + STOCK_INFO + FIRST + b"\x01\0",
    ),
    (
        StateTopics(GROUP, {}, {}, {STOCK_ID: STOCK, ORDERS_ID: ORDERS}),
        b"\0\x0f" + KEY,
        b"\0\0\x01\x01\x03" + ORDERS_INFO + b"\0" + STOCK_INFO + b"\0\0",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN)
def test_records_are_written_and_read_as_kafka_does(
    record: ShareRecord, key: bytes, value: bytes
) -> None:
    assert encode(record) == (key, value)
    assert decode(key, value) == record


@pytest.mark.parametrize("kind", Kind)
def test_a_key_without_a_value_is_a_tombstone(kind: Kind) -> None:
    of_member = kind in (Kind.MEMBER, Kind.TARGET_MEMBER, Kind.CURRENT_MEMBER)
    removed = ShareRemoved(kind, GROUP, "m1" if of_member else "")
    key, value = encode(removed)
    assert key == bytes([0, kind]) + KEY + (b"\0\x02m1" if of_member else b"")
    assert value is None
    assert decode(key, None) == removed


def test_a_cut_value_is_malformed() -> None:
    for record, key, value in GOLDEN:
        for end in range(len(value)):
            with pytest.raises(Malformed):
                decode(key, value[:end])
        assert decode(key, value) == record


def test_a_first_heartbeat_writes_the_records_of_kafka_in_their_order() -> None:
    topics = FakeTopics()
    topics.put(TopicMetadata(ORDERS_ID, ORDERS, 2))
    talk = ShareTalk(topics)
    talk.initializes = False
    talk.wall_step_ms = TIMESTAMP_MS - talk.now_ms
    member = Sharer(talk, "m1", ORDERS, group=GROUP)
    assert member.join(rack_id="rack-a", client_id="wire") == {}
    written = talk.written()
    expected = [GOLDEN[each][1:] for each in (0, 2, 5, 3, 7)]
    initializing = b"\0\0\x02" + ORDERS_INFO + BOTH + b"\x01\x01\0"
    assert written == [*expected, (b"\0\x0f" + KEY, initializing)]
    talk.initialize()
    talk.pass_time(1_000)
    before = len(talk.log)
    assert member.beat(client_id="wire") == {ORDERS: [0, 1]}
    later = talk.written()[before:]
    kinds = [key[1] for key, _ in later]
    assert kinds == [Kind.GROUP, Kind.TARGET_MEMBER, Kind.TARGET, Kind.CURRENT_MEMBER]
    assert later[1] == GOLDEN[6][1:]


ids = st.uuids()
names = st.text(max_size=5)
partitions = st.frozensets(st.integers(0, 9), min_size=1)
assignments = st.dictionaries(ids, partitions, max_size=3)
state_topics = st.dictionaries(ids, st.builds(StateTopic, names, partitions), max_size=3)
epochs = st.integers(-1, 1 << 20)
states = st.sampled_from(MemberState)
records = st.one_of(
    st.builds(
        MemberSubscription, names, names, st.none() | names, names, names, st.frozensets(names)
    ),
    st.builds(GroupEpoch, names, epochs, st.integers(-(1 << 63), (1 << 63) - 1)),
    st.builds(TargetEpoch, names, epochs, st.integers(0, 1 << 40)),
    st.builds(TargetMember, names, names, assignments),
    st.builds(CurrentMember, names, names, epochs, epochs, states, assignments),
    st.builds(StateTopics, names, state_topics, state_topics, st.dictionaries(ids, names)),
)


@given(records)
def test_every_record_that_is_encoded_is_decoded_again(record: ShareRecord) -> None:
    assert decode(*encode(record)) == record
