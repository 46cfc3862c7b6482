"""Records of `__transaction_state`: bytes that Apache Kafka 4.1.1 wrote, read and written again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.transactions.records import FEATURE, Encoder, decode, encode
from ottla.coordinator.transactions.states import Expired, State, Transaction
from ottla.protocol.errors import Malformed
from ottla.protocol.messages import encode_data

# Read from the log of a Kafka 4.1.1 with transaction.version 2.
KEY = bytes.fromhex("0000 000e 77647463636f762d78312d61736b")
ID = "wdtccov-x1-ask"
TOPIC = "wdtccov-t0-ask"
EMPTY = "0001 0000000000000000 0000 0000ea60 00 00 000001a1fde6e684 ffffffffffffffff 00"
ONGOING = """0001 0000000000000000 0000 0000ea60 01 02 0f77647463636f762d74302d61736b
             03 00000000 00000001 00 000001a1fde6e699 000001a1fde6e699 00"""
COMMITTING = """0001 0000000000000001 0001 0000ea60 02 02 0f77647463636f762d74302d61736b
                03 00000000 00000001 00 000001a1fde6e6eb 000001a1fde6e6e6 01 02 02 0002"""
COMMITTED = (
    "0001 0000000000000001 0001 0000ea60 04 01 000001a1fde6e6ed 000001a1fde6e6e6 01020200 02"
)
PLACES = frozenset({(TOPIC, 0), (TOPIC, 1)})
STARTED_MS = 0x1A1FDE6E6E6


def transaction(state: State, **fields: object) -> Transaction:
    known: dict[str, Any] = {
        "transactional_id": ID,
        "producer_id": 0,
        "producer_epoch": 0,
        "timeout_ms": 60_000,
        "state": state,
        "partitions": frozenset(),
        "updated_ms": 0,
    }
    return Transaction(**(known | fields))


@pytest.mark.parametrize(
    ("value", "record"),
    [
        (EMPTY, transaction(State.EMPTY, updated_ms=0x1A1FDE6E684)),
        (
            ONGOING,
            transaction(
                State.ONGOING,
                partitions=PLACES,
                updated_ms=0x1A1FDE6E699,
                started_ms=0x1A1FDE6E699,
            ),
        ),
        (
            COMMITTING,
            transaction(
                State.PREPARE_COMMIT,
                producer_id=1,
                producer_epoch=1,
                last_producer_epoch=0,
                partitions=PLACES,
                updated_ms=0x1A1FDE6E6EB,
                started_ms=STARTED_MS,
                client_version=2,
            ),
        ),
        (
            COMMITTED,
            transaction(
                State.COMPLETE_COMMIT,
                producer_id=1,
                producer_epoch=1,
                last_producer_epoch=0,
                updated_ms=0x1A1FDE6E6ED,
                started_ms=STARTED_MS,
                client_version=2,
            ),
        ),
    ],
)
def test_kafka_s_bytes_are_read_and_written_again(value: str, record: Transaction) -> None:
    assert decode(KEY, bytes.fromhex(value)) == record
    assert encode(record) == (KEY, bytes.fromhex(value))


def test_a_forgotten_id_is_a_tombstone() -> None:
    assert encode(Expired(ID)) == (KEY, None)
    assert decode(KEY, None) == Expired(ID)


def test_values_of_version_0_are_read() -> None:
    value = """0000 0000000000000007 0003 0000ea60 01 00000001 0001 74 00000002 00000005 00000000
               0000000000000009 0000000000000008"""
    assert decode(KEY, bytes.fromhex(value)) == transaction(
        State.ONGOING,
        producer_id=7,
        producer_epoch=3,
        partitions=frozenset({("t", 0), ("t", 5)}),
        updated_ms=9,
        started_ms=8,
    )


def test_a_key_of_another_version_is_no_record_of_ours() -> None:
    assert decode(b"\x00\x01" + KEY[2:], b"anything") is None


STATE_9 = EMPTY.replace("0000ea60 00", "0000ea60 09")
DEAD = EMPTY.replace("0000ea60 00", "0000ea60 06")


@pytest.mark.parametrize("value", ["", "0002" + "00" * 40, EMPTY[:39], STATE_9, DEAD])
def test_a_broken_value_is_malformed(value: str) -> None:
    with pytest.raises(Malformed):
        decode(KEY, bytes.fromhex(value))


def test_a_change_of_producer_ids_survives_a_crash() -> None:
    exhausted = transaction(State.ONGOING, producer_epoch=32766, started_ms=1)
    prepared = exhausted.prepared_and_bumped(commit=True, now_ms=2, next_producer_id=9)
    completed = prepared.completed(now_ms=3)
    assert (completed.producer_id, completed.previous_producer_id) == (9, 0)
    for record in (prepared, completed):
        key, value = encode(record)
        assert decode(key, value) == record


def test_the_previous_epoch_is_forgotten_where_the_log_lacks_it() -> None:
    resumed = transaction(State.EMPTY, producer_epoch=1, last_producer_epoch=0)
    forgotten = decode(*encode(resumed))
    assert forgotten == transaction(State.EMPTY, producer_epoch=1, last_producer_epoch=-1)


def by_the_schema(record: Transaction, version: int) -> bytes:
    """The value as the codec makes it."""
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(record.partitions):
        topics.setdefault(topic, []).append(index)
    return encode_data(
        "TransactionLogValue",
        version,
        {
            "producer_id": record.producer_id,
            "previous_producer_id": -1
            if record.last_producer_epoch == -1
            else record.previous_producer_id,
            "next_producer_id": record.next_producer_id,
            "producer_epoch": record.producer_epoch,
            "transaction_timeout_ms": record.timeout_ms,
            "transaction_status": int(record.state),
            "transaction_partitions": None
            if record.state is State.EMPTY
            else [{"topic": topic, "partition_ids": ids} for topic, ids in topics.items()],
            "transaction_last_update_timestamp_ms": record.updated_ms,
            "transaction_start_timestamp_ms": record.started_ms,
            "client_transaction_version": record.client_version,
            "next_producer_epoch": record.next_producer_epoch,
        },
    )


INT64 = st.integers(-1, 2**63 - 1)
TOPIC_NAMES = st.sampled_from(["t", "ä-topic", "x" * 126, "x" * 127, "x" * 249])


def _consistent(record: Transaction) -> Transaction:
    """A kept transaction has a next producer id."""
    return record if record.next_producer_id != -1 else record._replace(next_producer_epoch=-1)


RECORDS = st.sampled_from([state for state in State if state is not State.DEAD]).flatmap(
    lambda state: st.builds(
        Transaction,
        st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
        st.integers(0, 2**63 - 1),
        st.integers(-1, 32767),
        st.integers(0, 2**31 - 1),
        st.just(state),
        st.just(frozenset())
        if state is State.EMPTY
        else st.frozensets(st.tuples(TOPIC_NAMES, st.integers(0, 2**31 - 1)), max_size=200),
        INT64,
        INT64,
        last_producer_epoch=st.sampled_from([-1, 5, 32766]),
        previous_producer_id=INT64,
        next_producer_id=INT64,
        client_version=st.integers(0, 2),
        next_producer_epoch=st.sampled_from([-1, -1, 0, 7, 32767]),
    ).map(_consistent)
)


@given(RECORDS, st.sampled_from([0, 1, 2]))
def test_the_bytes_are_those_of_the_schemas(record: Transaction, level: int) -> None:
    key, value = Encoder({FEATURE: level}).encode(record)
    assert key == encode_data("TransactionLogKey", 0, {"transactional_id": record.transactional_id})
    assert value == by_the_schema(record, 0 if level == 0 and not record.is_kept else 1)


def test_below_level_1_values_are_of_version_0() -> None:
    ended = transaction(State.ONGOING, started_ms=1).prepared_and_bumped(commit=True, now_ms=2)
    key, value = Encoder({}).encode(ended)
    assert value is not None
    assert value[:2] == b"\x00\x00"
    again = decode(key, value)
    assert isinstance(again, Transaction)
    assert (again.client_version, again.producer_epoch) == (0, 1)


def test_the_epoch_of_a_next_producer_id_means_nothing_without_the_id() -> None:
    """NextProducerEpoch (tag 3), behind the client's transaction version (tag 2)."""
    value = bytes.fromhex(COMMITTED.replace("01020200 02", "02 0202 0002 0302 0007"))
    assert decode(KEY, value) == decode(KEY, bytes.fromhex(COMMITTED))


def test_the_present_producer_id_as_the_previous_one_means_none() -> None:
    """Kafka 4.4 writes it into each record; nothing was used up before."""
    fields = {
        "producer_id": 7, "previous_producer_id": 7, "producer_epoch": 0,
        "transaction_timeout_ms": 60_000, "transaction_status": 0, "transaction_partitions": None,
        "transaction_last_update_timestamp_ms": 1, "transaction_start_timestamp_ms": -1,
    }  # fmt: skip
    record = decode(KEY, encode_data("TransactionLogValue", 1, fields))
    assert isinstance(record, Transaction)
    assert (record.previous_producer_id, record.last_producer_epoch) == (-1, -1)
