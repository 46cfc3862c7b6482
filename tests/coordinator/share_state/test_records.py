"""Records of `__share_group_state` are what the schemas of Kafka say."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.share_state.records import decode, encode
from ottla.coordinator.share_state.states import (
    SharePartition,
    ShareRecord,
    ShareSnapshot,
    ShareState,
    ShareStateRemoved,
    ShareUpdate,
    StateBatch,
)
from ottla.protocol.errors import Malformed
from ottla.protocol.messages import encode_data

SHOP = SharePartition("shop", UUID("0190d2f1-8a7b-7c3d-9e4f-5a6b7c8d9e0f"), 3)
BATCHES = (StateBatch(10, 12, 2, 1), StateBatch(14, 14, 4, 5))
STATE = ShareState(7, 2, 5, 10, 4, BATCHES, 1_700_000_000_000, 1_700_000_300_000)
SNAPSHOT = ShareSnapshot(SHOP, STATE)
UPDATE = ShareUpdate(SHOP, 7, 5, 10, 4, BATCHES)
REMOVED = ShareStateRemoved(SHOP)

int16s, int32s = st.integers(0, (1 << 15) - 1), st.integers(-1, (1 << 31) - 1)
int64s = st.integers(-1, (1 << 63) - 1)
partitions = st.builds(SharePartition, st.text(max_size=20), st.uuids(), int32s)
batches = st.lists(st.builds(StateBatch, int64s, int64s, st.integers(0, 4), int16s), max_size=200)
some_batches = batches.map(tuple)
states = st.builds(ShareState, int32s, int32s, int32s, int64s, int32s, some_batches, int64s, int64s)
records = st.one_of(
    st.builds(ShareSnapshot, partitions, states),
    st.builds(ShareUpdate, partitions, int32s, int32s, int64s, int32s, some_batches),
    st.builds(ShareStateRemoved, partitions),
)


def by_schema(record: ShareRecord) -> tuple[bytes, bytes | None]:
    """Key and value as the codec makes them."""
    named = record.partition._asdict()
    is_update = isinstance(record, ShareUpdate)
    name = "ShareUpdate" if is_update else "ShareSnapshot"
    key = encode_data(f"{name}Key", int(is_update), named)
    if isinstance(record, ShareStateRemoved):
        return key, None
    fields = (record.state if isinstance(record, ShareSnapshot) else record)._asdict()
    fields["state_batches"] = [each._asdict() for each in fields.pop("batches")]
    fields.pop("partition", None)
    for name_of_time in ("create_timestamp", "write_timestamp"):
        if f"{name_of_time}_ms" in fields:
            fields[name_of_time] = fields.pop(f"{name_of_time}_ms")
    return key, encode_data(f"{name}Value", 0, fields)


@given(records)
def test_a_record_is_written_as_the_schemas_say_and_read_again(record: ShareRecord) -> None:
    encoded = encode(record)
    assert encoded == by_schema(record)
    assert decode(*encoded) == record


# Read from the logs of a Kafka 4.4.0.
PROBE = SharePartition("probe-g", UUID("5df6655d-c69f-4efd-9877-90ebc06d6baf"), 0)
PROBES_KEY = "0007 70726f62652d67 5df6655dc69f4efd987790ebc06d6baf 00000000"
GROUP = SharePartition("nznffa-g40-st-topic", UUID("bdb4f7ef-5e8f-44b1-9848-3daa7d78cf60"), 0)
GROUPS_KEY = """0013 6e7a6e6666612d6734302d73742d746f706963
                bdb4f7ef5e8f44b198483daa7d78cf60 00000000"""


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (
            ShareSnapshot(PROBE, ShareState(0, 1, 0, 10, 0, (), 1795685676296, 1795685676296)),
            f"0000 {PROBES_KEY}",
            """0000 00000000 00000001 00000000 000000000000000a
               000001a21734f508 000001a21734f508 01 01000400000000""",
        ),
        (
            ShareSnapshot(GROUP, ShareState(0, 2, 0, -1, -1, (), 1795685644970, 1795685644970)),
            f"0000 {GROUPS_KEY}",
            """0000 00000000 00000002 00000000 ffffffffffffffff
               000001a217347aaa 000001a217347aaa 01 00""",
        ),
        (
            ShareUpdate(GROUP, 0, 0, 0, 1, (StateBatch(0, 0, 2, 1),)),
            f"0001 {GROUPS_KEY}",
            """0000 00000000 00000000 0000000000000000
               02 0000000000000000 0000000000000000 02 0001 00 01000400000001""",
        ),
        (
            ShareUpdate(PROBE, 0, 0, 12, -1, ()),
            f"0001 {PROBES_KEY}",
            "0000 00000000 00000000 000000000000000c 01 00",
        ),
        (
            ShareUpdate(PROBE, 2, 4, 0, 0, ()),
            f"0001 {PROBES_KEY}",
            "0000 00000002 00000004 0000000000000000 01 01000400000000",
        ),
    ],
)
def test_the_bytes_of_a_record_of_kafka(record: ShareRecord, key: str, value: str) -> None:
    stored = bytes.fromhex(key), bytes.fromhex(value)
    assert decode(*stored) == record
    assert encode(record) == stored


def test_a_count_that_is_not_known_is_not_written() -> None:
    _, value = encode(UPDATE._replace(delivery_complete_count=-1, batches=()))
    assert value == bytes.fromhex("0000 00000007 00000005 000000000000000a 01 00")


def test_a_tombstone_is_of_a_snapshot() -> None:
    key, value = encode(REMOVED)
    assert (key, value) == (encode(SNAPSHOT)[0], None)
    assert decode(key, None) == REMOVED
    assert decode(encode(UPDATE)[0], None) is None


def test_a_key_of_another_type_is_not_known() -> None:
    key, value = encode(SNAPSHOT)
    assert decode(b"\0\2" + key[2:], value) is None


def test_a_cut_record_is_damage() -> None:
    key, value = encode(SNAPSHOT)
    assert value is not None
    for length in range(2, len(key)):
        with pytest.raises(Malformed):
            decode(key[:length], value)
    for length in range(2, len(value)):
        with pytest.raises(Malformed):
            decode(key, value[:length])


def test_the_key_of_the_coordinator_has_the_topic_id_in_base64_for_addresses() -> None:
    topic_id = UUID(bytes=b"\xff\xfe" * 8)
    assert SharePartition("a:b", topic_id, 12).coordinator_key == "a:b:__7__v_-__7__v_-__7__g:12"
