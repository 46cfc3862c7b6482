"""Records of `__transaction_state`: bytes that Apache Kafka 4.1.1 wrote, read and written again."""

from __future__ import annotations

import pytest

from ottla.coordinator.transaction_records import decode, encode
from ottla.coordinator.transaction_states import Expired, State, Transaction
from ottla.protocol.errors import Malformed

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
    known: dict[str, object] = {
        "transactional_id": ID,
        "producer_id": 0,
        "producer_epoch": 0,
        "timeout_ms": 60_000,
        "state": state,
        "partitions": frozenset(),
        "updated_ms": 0,
    }
    return Transaction(**(known | fields))  # type: ignore[arg-type]


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


@pytest.mark.parametrize("value", ["", "0002" + "00" * 40, EMPTY[:39]])
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


def test_the_epoch_before_is_forgotten_where_the_log_does_not_tell_it() -> None:
    resumed = transaction(State.EMPTY, producer_epoch=1, last_producer_epoch=0)
    forgotten = decode(*encode(resumed))
    assert forgotten == transaction(State.EMPTY, producer_epoch=1, last_producer_epoch=-1)
