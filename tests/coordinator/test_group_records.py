"""Records of groups and offsets: bytes that Apache Kafka 4.1.1 wrote, and back."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.group_records import (
    GroupRecord,
    GroupRemoved,
    GroupStored,
    OffsetCommitted,
    OffsetRemoved,
    StoredMember,
    decode,
    encode,
)
from ottla.protocol.errors import Malformed
from ottla.protocol.messages import encode_data

GROUP_KEY = b"\0\x02\0\x0bgc-17952611"
OFFSET_KEY = b"\0\x01\0\x0bgc-17952611\0\x06orders\0\0\0\0"
AT_MS = 1_795_261_146_939
MEMBER_ID = "wire-2a3cfb53-9a20-41f7-8075-4633babc45c7"

MEMBER = StoredMember(MEMBER_ID, None, "wire", "/127.0.0.1", 10_000, 10_000, bytes(10), b"a")
STABLE = GroupStored("gc-17952611", "consumer", 1, "range", MEMBER_ID, AT_MS, (MEMBER,))
STABLE_BYTES = (
    b"\0\x03\0\x08consumer\0\0\0\x01\0\x05range\0)" + MEMBER_ID.encode()
    + b"\0\0\x01\xa1\xfd\xe7';\0\0\0\x01\0)" + MEMBER_ID.encode()
    + b"\xff\xff\0\x04wire\0\n/127.0.0.1\0\0'\x10\0\0'\x10\0\0\0\n" + bytes(10) + b"\0\0\0\x01a"
)  # fmt: skip
BORN = GroupStored("gc-17952611", "", 0, None, None, AT_MS)
LEFT = GroupStored("gc-17952611", "consumer", 2, None, None, AT_MS)
OFFSET = OffsetCommitted("gc-17952611", "orders", 0, 5, -1, "meta", AT_MS)
TOPIC_ID = uuid.UUID("b987cc55-af77-4233-8770-2cced019eaa4")

GOLDEN: list[tuple[GroupRecord, bytes, bytes | None]] = [
    (BORN, GROUP_KEY, b"\0\x03\0\0\0\0\0\0\xff\xff\xff\xff\0\0\x01\xa1\xfd\xe7';\0\0\0\0"),
    (STABLE, GROUP_KEY, STABLE_BYTES),
    (
        replace(STABLE, members=(replace(MEMBER, group_instance_id="inst"),)),
        GROUP_KEY,
        STABLE_BYTES.replace(b"\xff\xff\0\x04wire", b"\0\x04inst\0\x04wire"),
    ),
    (
        LEFT,
        GROUP_KEY,
        b"\0\x03\0\x08consumer\0\0\0\x02\xff\xff\xff\xff\0\0\x01\xa1\xfd\xe7';\0\0\0\0",
    ),
    (GroupRemoved("gc-17952611"), GROUP_KEY, None),
    (
        OFFSET,
        OFFSET_KEY,
        b"\0\x04\0\0\0\0\0\0\0\x05\xff\xff\xff\xff\x05meta\0\0\x01\xa1\xfd\xe7';\0",
    ),
    (
        OFFSET._replace(leader_epoch=3, metadata=""),
        OFFSET_KEY,
        b"\0\x04\0\0\0\0\0\0\0\x05\0\0\0\x03\x01\0\0\x01\xa1\xfd\xe7';\0",
    ),
    (
        OFFSET._replace(topic_id=TOPIC_ID),
        OFFSET_KEY,
        b"\0\x04\0\0\0\0\0\0\0\x05\xff\xff\xff\xff\x05meta\0\0\x01\xa1\xfd\xe7';\x01\0\x10"
        + TOPIC_ID.bytes,
    ),
    (
        OFFSET._replace(metadata="", expire_timestamp_ms=AT_MS + 1_000),
        OFFSET_KEY,
        b"\0\x01\0\0\0\0\0\0\0\x05\0\0\0\0\x01\xa1\xfd\xe7';\0\0\x01\xa1\xfd\xe7+#",
    ),
    (OffsetRemoved("gc-17952611", "orders", 0), OFFSET_KEY, None),
]


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN)
def test_records_are_the_bytes_that_kafka_writes(
    record: GroupRecord, key: bytes, value: bytes | None
) -> None:
    assert encode(record) == (key, value)
    assert decode(key, value) == record


short_text = st.text(max_size=20)
numbers = st.integers(-(2**31), 2**31 - 1)
times = st.integers(0, 2**62)
members = st.builds(
    StoredMember,
    short_text, st.none() | short_text, short_text, short_text, st.integers(0, 2**31 - 1), numbers,
    st.binary(max_size=40), st.binary(max_size=40),
)  # fmt: skip
records = st.one_of(
    st.builds(
        OffsetCommitted, short_text, short_text, numbers, st.integers(-(2**63), 2**63 - 1),
        numbers, short_text, times, st.none(), st.none() | st.uuids(),
    ),
    st.builds(
        OffsetCommitted, short_text, short_text, numbers, times, st.just(-1), short_text, times,
        times, st.none(),
    ),
    st.builds(OffsetRemoved, short_text, short_text, numbers),
    st.builds(
        GroupStored, short_text, short_text, numbers, st.none() | short_text,
        st.none() | short_text, times, st.lists(members, max_size=3).map(tuple),
    ),
    st.builds(GroupRemoved, short_text),
)  # fmt: skip


@given(records)
def test_every_record_is_read_as_it_was_written(record: GroupRecord) -> None:
    assert decode(*encode(record)) == record


@given(
    st.builds(
        OffsetCommitted, short_text, short_text, numbers, st.integers(-(2**63), 2**63 - 1),
        numbers, st.text(max_size=20) | st.text("ab\u20ac", min_size=120, max_size=300), times,
        st.none() | times, st.none() | st.uuids() | st.just(uuid.UUID(int=0)),
    )
)  # fmt: skip
def test_the_direct_encoder_of_offsets_agrees_with_the_schemas(
    record: OffsetCommitted,
) -> None:
    named = {"group": record.group_id, "topic": record.topic, "partition": record.partition}
    fields = {
        "offset": record.offset,
        "metadata": record.metadata,
        "commit_timestamp": record.commit_timestamp_ms,
    }
    if record.expire_timestamp_ms is not None:
        version, fields = 1, fields | {"expire_timestamp": record.expire_timestamp_ms}
    else:
        version, fields = 4, fields | {"leader_epoch": record.leader_epoch}
        if record.topic_id is not None:
            fields |= {"topic_id": record.topic_id}
    value = encode_data("OffsetCommitValue", version, fields)
    key = encode_data("OffsetCommitKey", 1, named)
    assert encode(record) == (key, value)
    assert encode(OffsetRemoved(record.group_id, record.topic, record.partition)) == (key, None)


def test_offsets_of_every_version_are_read() -> None:
    fields = {"offset": 5, "metadata": "meta", "commit_timestamp": AT_MS}
    for version in range(5):
        value = encode_data("OffsetCommitValue", version, fields)
        assert decode(OFFSET_KEY, value) == OFFSET
        assert decode(b"\0\0" + OFFSET_KEY[2:], value) == OFFSET, "keys of version 0"


def test_groups_of_every_version_are_read() -> None:
    member = {
        "member_id": MEMBER_ID, "client_id": "wire", "client_host": "/127.0.0.1",
        "rebalance_timeout": 10_000, "session_timeout": 10_000, "subscription": bytes(10),
        "assignment": b"a",
    }  # fmt: skip
    fields = {
        "protocol_type": "consumer", "generation": 1, "protocol": "range", "leader": MEMBER_ID,
        "current_state_timestamp": AT_MS, "members": [member],
    }  # fmt: skip
    for version in range(5):
        read = decode(GROUP_KEY, encode_data("GroupMetadataValue", version, fields))
        # Version 0 has no rebalance timeout: the session's counts. Before 2, no timestamp.
        expected = STABLE if version >= 2 else replace(STABLE, current_state_timestamp_ms=-1)
        assert read == expected


def test_an_explicit_retention_leaves_no_room_for_the_leader_epoch() -> None:
    record = OFFSET._replace(leader_epoch=3, expire_timestamp_ms=AT_MS)
    assert decode(*encode(record)) == record._replace(leader_epoch=-1)


@pytest.mark.parametrize("kind", [9, 18, 24, -1])
def test_records_of_other_kinds_are_passed_over(kind: int) -> None:
    key = kind.to_bytes(2, signed=True) + GROUP_KEY[2:]
    assert decode(key, b"whatever") is None
    assert decode(key, None) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", None),
        (b"\0", b""),
        (GROUP_KEY[:-1], None),
        (OFFSET_KEY[:-1], None),
        (OFFSET_KEY, b"\0\x05"),
        (OFFSET_KEY, b"\0\x04\0"),
        (GROUP_KEY, STABLE_BYTES[:-1]),
    ],
)
def test_broken_records_are_malformed(key: bytes, value: bytes | None) -> None:
    with pytest.raises(Malformed):
        decode(key, value)
