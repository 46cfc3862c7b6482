"""Rows of the levels `offsets`, `txn_state` and `metadata`: decoded records of internal topics.

Values are decoded by Kafka's schemas. A record that does not decode gives a row with `error`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from ...protocol.batch import TRANSACTIONAL
from ...protocol.errors import Malformed, Refused
from ...protocol.messages import decode_data, decode_offset_key
from .columns import rows_to_batch
from .fates import FATES, NO_FATE
from .schemas import Level

if TYPE_CHECKING:
    import numpy.typing as npt

    from .blocks import Block
    from .listing import Segment
    from .record_rows import Rows

Row = dict[str, object]
_STATES: Final = {
    0: "Empty",
    1: "Ongoing",
    2: "PrepareCommit",
    3: "PrepareAbort",
    4: "CompleteCommit",
    5: "CompleteAbort",
    6: "Dead",
    7: "PrepareEpochFence",
}
_UNDECODED: Final = (Malformed, Refused, FileNotFoundError, ValueError, LookupError)
_GROUP_KINDS: Final = {
    2: "GroupMetadata",
    3: "ConsumerGroupMetadata",
    4: "ConsumerGroupPartitionMetadata",
    5: "ConsumerGroupMemberMetadata",
    6: "ConsumerGroupTargetAssignmentMetadata",
    7: "ConsumerGroupTargetAssignmentMember",
    8: "ConsumerGroupCurrentMemberAssignment",
    16: "ConsumerGroupRegularExpression",
}


def decoded_rows(
    schema: pa.Schema,
    segment: Segment,
    block: Block,
    rows: Rows,
    level: Level,
    *,
    fates: npt.NDArray[np.int8] | None,
) -> pa.RecordBatch:
    """The rows of a block's records; markers and other control records have none."""
    assert rows.parsed is not None
    decode = _DECODERS[level]
    found = []
    headers = block.headers
    for index, (key, value) in enumerate(
        zip(rows.parsed.keys().to_pylist(), rows.parsed.values().to_pylist(), strict=True)
    ):
        batch = int(rows.batch[index])
        row: Row = {
            "partition": segment.partition,
            "offset": int(rows.offsets[index]),
            "timestamp": int(rows.timestamps[index]),
            "producer_id": int(headers["producer_id"][batch]),
            "producer_epoch": int(headers["producer_epoch"][batch]),
            "transactional": bool(headers["attributes"][batch] & TRANSACTIONAL),
            "segment": segment.name,
            "position": int(block.positions[batch]),
        }
        if fates is not None and fates[batch] != NO_FATE:
            row["fate"] = FATES[fates[batch]]
        try:
            decode(key, value, row)
        except _UNDECODED as wrong:
            row["error"] = f"{type(wrong).__name__}: {wrong}"
        found.append(row)
    return rows_to_batch(schema, found)


def _version(key: bytes | None) -> int:
    if key is None or len(key) < 2:
        raise Malformed("a key without a version")
    return int.from_bytes(key[:2], "big", signed=True)


def _offset(key: bytes | None, value: bytes | None, row: Row) -> None:
    version = _version(key)
    assert key is not None
    row |= {"key_version": version, "tombstone": value is None}
    if version not in (0, 1):
        _group(version, key, value, row)
        return
    row["kind"] = "offset"
    named = decode_offset_key(key)
    row |= {
        "group_id": named.group,
        "topic": named.topic,
        "topic_partition": named.partition,
        "key_json": as_json(named),
    }
    if value is None:
        return
    committed = decode_data("OffsetCommitValue", value)
    row |= {
        "committed_offset": committed.offset,
        "committed_leader_epoch": getattr(committed, "leader_epoch", -1),
        "metadata": committed.metadata,
        "commit_timestamp": committed.commit_timestamp,
        "expire_timestamp": getattr(committed, "expire_timestamp", -1),
        "value_json": as_json(committed),
    }


def _group(version: int, key: bytes, value: bytes | None, row: Row) -> None:
    name = _GROUP_KINDS.get(version)
    row["kind"] = "group" if version == 2 else name or f"key version {version}"
    if name is None:
        return
    named = decode_data(f"{name}Key", key)
    row["group_id"] = getattr(named, "group", None) or getattr(named, "group_id", None)
    row["key_json"] = as_json(named)
    if value is not None:
        row["value_json"] = as_json(decode_data(f"{name}Value", value))


def _transaction(key: bytes | None, value: bytes | None, row: Row) -> None:
    row |= {"key": key, "tombstone": value is None}
    # The row is of a coordinator's record: these two are of the transaction, not of its batch.
    row |= {"producer_id": None, "producer_epoch": None}
    if _version(key) != 0:
        raise Malformed(f"a key of version {_version(key)}")
    assert key is not None
    row["transactional_id"] = decode_data("TransactionLogKey", key).transactional_id
    if value is None:
        return
    state = decode_data("TransactionLogValue", value)
    row |= {
        "version": _version(value),
        "state": _STATES.get(state.transaction_status, str(state.transaction_status)),
        "producer_id": state.producer_id,
        "producer_epoch": state.producer_epoch,
        "previous_producer_id": state.previous_producer_id,
        "next_producer_id": state.next_producer_id,
        "next_producer_epoch": getattr(state, "next_producer_epoch", -1),
        "timeout_ms": state.transaction_timeout_ms,
        "partitions": [
            {"topic": topic.topic, "partition": partition}
            for topic in state.transaction_partitions or ()
            for partition in topic.partition_ids
        ],
        "last_update_timestamp": state.transaction_last_update_timestamp_ms,
        "start_timestamp": state.transaction_start_timestamp_ms,
        "client_transaction_version": state.client_transaction_version,
        "value_json": as_json(state),
    }


def _metadata(key: bytes | None, value: bytes | None, row: Row) -> None:
    from ...metadata.records import decode
    from ...protocol.varints import read_unsigned

    view = memoryview(value or b"")
    try:
        _, at = read_unsigned(view, 0)
        row["api_key"], at = read_unsigned(view, at)
        row["version"], _ = read_unsigned(view, at)
    except IndexError:
        raise Malformed("a metadata record without a header") from None
    record = decode(view)
    row["type"] = type(record).__name__
    row["json"] = as_json(record)
    named = getattr(record, "topic_name", None) or getattr(record, "name", None)
    topic_id = getattr(record, "topic_id", None)
    row |= {
        "topic": named if "Topic" in type(record).__name__ else None,
        "topic_id": None if topic_id is None else str(topic_id),
        "topic_partition": getattr(record, "partition_id", None),
    }


_DECODERS: Final[Mapping[Level, Callable[[bytes | None, bytes | None, Row], None]]] = {
    Level.OFFSETS: _offset,
    Level.TXN_STATE: _transaction,
    Level.METADATA: _metadata,
}


def as_json(value: object) -> str:
    """A decoded object as JSON; bytes in hexadecimal."""
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return int(value) if isinstance(value, IntEnum) else value
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: _plain(getattr(value, name)) for name in value._fields}
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return {name: _plain(each) for name, each in _attributes(value)}


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    """The public fields of an object of the codec."""
    names = [*getattr(value, "__slots__", ()), *getattr(value, "__dict__", {})]
    for name in names:
        if not name.startswith("_") and hasattr(value, name):
            yield name, getattr(value, name)
