"""Keys and values of `__transaction_state`, by Kafka's schemas TransactionLogKey and -Value.

Values are written in version 1 from transaction.version 1 on and in version 0 below, as Kafka 4.1
does, byte for byte, except for two fields of the schema that Kafka leaves out: PreviousProducerId
and NextProducerId are written while they matter, so that a change of producer ids survives a crash.
NextProducerEpoch is written for a kept transaction (KIP-939), which Kafka 4.1 does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Final

from ...protocol.errors import Malformed
from ...protocol.messages import decode_data
from ...protocol.varints import unsigned
from .states import (
    BUMPS_EPOCHS,
    EMPTY,
    LAST_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    Expired,
    Partition,
    State,
    Transaction,
    TransactionRecord,
)

if TYPE_CHECKING:
    from ...protocol.api_types.records import TransactionLogValue

_KEY_VERSION: Final = (0).to_bytes(2, "big")
FEATURE: Final = "transaction.version"
TAGGED_VERSION: Final = 1
"""The version of a value that can hold what came after Kafka 0.11 (KIP-890)."""

# Dead and PrepareEpochFence are states of a coordinator that waits for an append.
_STATES: Final = {
    int(state): state for state in State if state not in (State.DEAD, State.PREPARE_EPOCH_FENCE)
}
# What is kept is small: clients may choose long names and many partitions.
_SHORT: Final = 256
_FEW: Final = 16
_KEY_HEAD: Final = Struct(">hh")
_HEAD: Final = Struct(">hqhib")  # version, producer id and epoch, timeout, state
_TIMES: Final = Struct(">qq")
_INDEX: Final = Struct(">i")
_LENGTH: Final = Struct(">h")
_TAGGED_ID: Final = Struct(">BBq")
_TAGGED_SHORT: Final = Struct(">BBh")
_CLIENT_VERSION_ALONE: Final = (b"\x00", *(b"\x01" + _TAGGED_SHORT.pack(2, 2, n) for n in (1, 2)))


class Encoder:
    """Encodes records as the level of the feature transaction.version asks (KIP-890).

    Written by hand, because each transaction needs three; a test holds it to what the codec makes
    of the schemas. Keys and partitions are kept: a producer names the same ones again and again,
    and they take two thirds of the time.

    Args:
        features: the finalized levels of features by name, as a live view. Under level 0 values
            have version 0, except those of kept transactions: their next producers must not be
            lost.
    """

    __slots__ = ("_features",)

    def __init__(self, features: Mapping[str, int]) -> None:
        self._features = features

    def encode(self, record: TransactionRecord) -> tuple[bytes, bytes | None]:
        """The key and value; no value for a transactional id that has expired."""
        transactional_id = record.transactional_id
        key = (_kept_key if len(transactional_id) <= _SHORT else _encoded_key)(transactional_id)
        if isinstance(record, Expired):
            return key, None
        is_tagged = self._features.get(FEATURE, 0) >= 1 or record.next_producer_epoch != NO_EPOCH
        partitions = record.partitions
        value_version = TAGGED_VERSION if is_tagged else 0
        head = _HEAD.pack(
            value_version, record.producer_id, record.producer_epoch, record.timeout_ms,
            record.state,
        )  # fmt: skip
        times = _TIMES.pack(record.updated_ms, record.started_ms)
        if not is_tagged:
            return key, head + _partitions(record) + times
        if not partitions:
            listed = b"\x00" if record.state is EMPTY else b"\x01"
        elif len(partitions) <= _FEW:
            listed = _kept_partitions(partitions)
        else:
            listed = _compact_partitions(partitions)
        if record.previous_producer_id == NO_PRODUCER_ID == record.next_producer_id:
            tagged = _CLIENT_VERSION_ALONE[record.client_version]
        else:
            tagged = _tagged(record)
        return key, head + listed + times + tagged


encode: Final = Encoder({FEATURE: BUMPS_EPOCHS}).encode
"""Encodes a record at the highest level."""


def _encoded_key(transactional_id: str) -> bytes:
    encoded = transactional_id.encode()
    return _KEY_HEAD.pack(0, len(encoded)) + encoded


def _tagged(record: Transaction) -> bytes:
    previous, following = record.previous_producer_id, record.next_producer_id
    if record.last_producer_epoch == NO_EPOCH:
        previous = NO_PRODUCER_ID  # its owner is another one, and has nothing to repeat
    if previous == NO_PRODUCER_ID and following == NO_PRODUCER_ID:
        return _CLIENT_VERSION_ALONE[record.client_version]
    fields = []
    if previous != NO_PRODUCER_ID:
        fields.append(_TAGGED_ID.pack(0, 8, previous))
    if following != NO_PRODUCER_ID:
        fields.append(_TAGGED_ID.pack(1, 8, following))
    if record.client_version:
        fields.append(_TAGGED_SHORT.pack(2, 2, record.client_version))
    if record.next_producer_epoch != NO_EPOCH:
        fields.append(_TAGGED_SHORT.pack(3, 2, record.next_producer_epoch))
    return bytes((len(fields),)) + b"".join(fields)


def _compact_partitions(partitions: frozenset[Partition]) -> bytes:
    topics = _by_topic(partitions)
    out = [unsigned(len(topics) + 1)]
    for topic, indexes in topics.items():
        name = topic.encode()
        out += (unsigned(len(name) + 1), name, unsigned(len(indexes) + 1))
        out += (_INDEX.pack(index) for index in indexes)
        out.append(b"\x00")
    return b"".join(out)


def _partitions(record: Transaction) -> bytes:
    if record.state is State.EMPTY:
        return _INDEX.pack(-1)
    topics = _by_topic(record.partitions)
    out = [_INDEX.pack(len(topics))]
    for topic, indexes in topics.items():
        name = topic.encode()
        out += (_LENGTH.pack(len(name)), name, _INDEX.pack(len(indexes)))
        out += (_INDEX.pack(index) for index in indexes)
    return b"".join(out)


def _by_topic(partitions: frozenset[Partition]) -> dict[str, list[int]]:
    indexes: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        indexes.setdefault(topic, []).append(index)
    return indexes


_kept_key = lru_cache(maxsize=1024)(_encoded_key)
_kept_partitions = lru_cache(maxsize=256)(_compact_partitions)


def decode(key: bytes, value: bytes | None) -> TransactionRecord | None:
    """The record of a key and value; None for a key of a version that is not known.

    Raises:
        Malformed: the value is no TransactionLogValue of a known version, or of a state that is
            never written.
    """
    if key[:2] != _KEY_VERSION:
        return None
    named = decode_data("TransactionLogKey", key)
    transactional_id = named.transactional_id
    if value is None:
        return Expired(transactional_id)
    fields = decode_data("TransactionLogValue", value)
    state = _STATES.get(fields.transaction_status)
    if state is None:
        raise Malformed(f"a transaction in state {fields.transaction_status}")
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
        _previous_producer_id(fields),
        fields.next_producer_id,
        fields.client_transaction_version,
        _next_producer_epoch(fields),
    )


def _previous_producer_id(fields: TransactionLogValue) -> int:
    """The id before the producer's; Kafka 4.4 writes the same id if there was none.

    The end of a kept transaction with the last epoch of its id has two ids: that of its records
    goes on until the markers are written, and was the owner's.
    """
    previous, following = fields.previous_producer_id, fields.next_producer_id
    if previous != fields.producer_id:
        return previous
    is_owners = following not in (NO_PRODUCER_ID, previous) and fields.next_producer_epoch == 0
    return previous if is_owners else NO_PRODUCER_ID


def _next_producer_epoch(fields: TransactionLogValue) -> int:
    """The epoch of the next producer id; without that id it means nothing."""
    return NO_EPOCH if fields.next_producer_id == NO_PRODUCER_ID else fields.next_producer_epoch


def _last_producer_epoch(state: State, fields: TransactionLogValue) -> int:
    """The previous epoch, if the log has it: its owner may have lost the last answer.

    Kafka forgets it at a restart and fences such a client; the log knows better in two cases.
    """
    if _previous_producer_id(fields) != NO_PRODUCER_ID:
        return LAST_EPOCH
    ended = state is not State.EMPTY and state is not State.ONGOING
    if ended and fields.client_transaction_version >= BUMPS_EPOCHS:
        kept_for = _next_producer_epoch(fields)
        return (fields.producer_epoch if kept_for == NO_EPOCH else kept_for) - 1
    return NO_EPOCH
