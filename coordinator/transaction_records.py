"""Keys and values of `__transaction_state`, by Kafka's schemas TransactionLogKey and -Value.

Values are written in version 1, as Kafka 4.1 does under transaction.version 2, byte for byte but
for two fields that Kafka's schema has and Kafka leaves out: PreviousProducerId and NextProducerId
are written while they matter, so that a change of producer ids survives a crash.
"""

from __future__ import annotations

from typing import Any, Final

from ..protocol.messages import decode_data, encode_data
from .transaction_states import (
    BUMPS_EPOCHS,
    LAST_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    Expired,
    State,
    Transaction,
    TransactionRecord,
)

_KEY: Final = "TransactionLogKey"
_VALUE: Final = "TransactionLogValue"
_KEY_VERSION: Final = (0).to_bytes(2, "big")


def encode(record: TransactionRecord) -> tuple[bytes, bytes | None]:
    """The key and value of a record; no value for a transactional id that has expired."""
    key = encode_data(_KEY, 0, {"transactional_id": record.transactional_id})
    if isinstance(record, Expired):
        return key, None
    value = encode_data(
        _VALUE,
        1,
        {
            "producer_id": record.producer_id,
            "previous_producer_id": record.previous_producer_id,
            "next_producer_id": record.next_producer_id,
            "producer_epoch": record.producer_epoch,
            "transaction_timeout_ms": record.timeout_ms,
            "transaction_status": int(record.state),
            "transaction_partitions": _by_topic(record),
            "transaction_last_update_timestamp_ms": record.updated_ms,
            "transaction_start_timestamp_ms": record.started_ms,
            "client_transaction_version": record.client_version,
        },
    )
    return key, value


def decode(key: bytes, value: bytes | None) -> TransactionRecord | None:
    """The record of a key and value; None for a key of a version that is not known.

    Raises:
        Malformed: the value is no TransactionLogValue of a known version.
    """
    if key[:2] != _KEY_VERSION:
        return None
    transactional_id: str = decode_data(_KEY, key).transactional_id
    if value is None:
        return Expired(transactional_id)
    fields = decode_data(_VALUE, value)
    state = State(fields.transaction_status)
    partitions = frozenset(
        (topic.topic, index)
        for topic in fields.transaction_partitions or ()
        for index in topic.partition_ids
    )
    return Transaction(
        transactional_id,
        fields.producer_id,
        fields.producer_epoch,
        fields.transaction_timeout_ms,
        state,
        partitions,
        fields.transaction_last_update_timestamp_ms,
        fields.transaction_start_timestamp_ms,
        _last_producer_epoch(state, fields),
        fields.previous_producer_id,
        fields.next_producer_id,
        fields.client_transaction_version,
    )


def _by_topic(record: Transaction) -> list[dict[str, Any]] | None:
    if record.state is State.EMPTY:
        return None
    indexes: dict[str, list[int]] = {}
    for topic, index in sorted(record.partitions):
        indexes.setdefault(topic, []).append(index)
    return [{"topic": topic, "partition_ids": ids} for topic, ids in indexes.items()]


def _last_producer_epoch(state: State, fields: Any) -> int:
    """The epoch before, as far as the log tells it: its owner may have lost the last answer.

    Kafka forgets it at a restart and fences such a client; the log knows better in two cases.
    """
    if fields.previous_producer_id != NO_PRODUCER_ID:
        return LAST_EPOCH
    ended = state is not State.EMPTY and state is not State.ONGOING
    if ended and fields.client_transaction_version >= BUMPS_EPOCHS:
        return int(fields.producer_epoch) - 1
    return NO_EPOCH
