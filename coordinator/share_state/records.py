"""Keys and values of `__share_group_state`: ShareSnapshotKey and -Value, ShareUpdateKey and -Value.

The first two bytes of a key are the type of the record, those of a value its version. Keys and
values are those of Kafka 4.4, byte for byte.
"""

from __future__ import annotations

import struct
from itertools import chain
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ...protocol.errors import Malformed
from ...protocol.messages import decode_data
from ...protocol.varints import unsigned
from .states import (
    NO_COUNT,
    SharePartition,
    ShareRecord,
    ShareSnapshot,
    ShareState,
    ShareStateRemoved,
    ShareUpdate,
    StateBatch,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...protocol.api_types.records import StateBatch as StoredBatch

_SNAPSHOT: Final = 0
_UPDATE: Final = 1
_VALUE_VERSION: Final = 0

_KEY_HEAD: Final = struct.Struct(">hh")  # type, length of the group id
_INT32: Final = struct.Struct(">i")
_SNAPSHOT_HEAD: Final = struct.Struct(
    ">hiiiq"
)  # version, snapshot, state, leader epoch, start offset
_TIMES: Final = struct.Struct(">qq")
_UPDATE_HEAD: Final = struct.Struct(">hiiq")  # version, snapshot epoch, leader epoch, start offset
_BATCH: Final = struct.Struct(">qqbhx")  # the last byte, 0: no tagged fields
_TOGETHER: Final = 64
_RUN: Final = struct.Struct(">" + "qqbhx" * _TOGETHER)
_COUNT: Final = struct.Struct(">BBBi")  # one tagged field: 0, of 4 bytes


def encode(record: ShareRecord) -> tuple[bytes, bytes | None]:
    """The key and value of a record; no value for a tombstone.

    Written by hand, because each acknowledgement needs one; a test holds it to what the codec
    makes of the schemas.
    """
    if isinstance(record, ShareUpdate):
        head = _UPDATE_HEAD.pack(
            _VALUE_VERSION, record.snapshot_epoch, record.leader_epoch, record.start_offset
        )
        listed = _batches(record.batches, record.delivery_complete_count)
        return _key(_UPDATE, record.partition), head + listed
    key = _key(_SNAPSHOT, record.partition)
    if isinstance(record, ShareStateRemoved):
        return key, None
    state = record.state
    head = _SNAPSHOT_HEAD.pack(
        _VALUE_VERSION,
        state.snapshot_epoch,
        state.state_epoch,
        state.leader_epoch,
        state.start_offset,
    )
    times = _TIMES.pack(state.create_timestamp_ms, state.write_timestamp_ms)
    return key, head + times + _batches(state.batches, state.delivery_complete_count)


def _key(kind: int, partition: SharePartition) -> bytes:
    group_id = partition.group_id.encode()
    head = _KEY_HEAD.pack(kind, len(group_id))
    return head + group_id + partition.topic_id.bytes + _INT32.pack(partition.partition)


def _batches(batches: tuple[StateBatch, ...], delivery_complete_count: int) -> bytes:
    many = len(batches) // _TOGETHER * _TOGETHER
    runs = [batches[at : at + _TOGETHER] for at in range(0, many, _TOGETHER)]
    listed = b"".join(
        [_RUN.pack(*chain.from_iterable(run)) for run in runs]
        + [_BATCH.pack(*each) for each in batches[many:]]
    )
    tagged = b"\x00"
    if delivery_complete_count != NO_COUNT:
        tagged = _COUNT.pack(1, 0, 4, delivery_complete_count)
    return unsigned(len(batches) + 1) + listed + tagged


def decode(key: bytes, value: bytes | None) -> ShareRecord | None:
    """The record of a key and value; None for a type of record that is not known.

    Raises:
        Malformed: the key or the value is cut, or its schema does not have its version.
    """
    kind = int.from_bytes(key[:2], "big")
    if kind not in (_SNAPSHOT, _UPDATE):
        return None
    partition = _partition(key)
    if kind == _SNAPSHOT:
        if value is None:
            return ShareStateRemoved(partition)
        return ShareSnapshot(partition, _state(value))
    if value is None:
        return None  # Kafka writes tombstones of snapshots alone
    fields = decode_data("ShareUpdateValue", value)
    return ShareUpdate(
        partition,
        fields.snapshot_epoch,
        fields.leader_epoch,
        fields.start_offset,
        fields.delivery_complete_count,
        _read_batches(fields.state_batches),
    )


def _partition(key: bytes) -> SharePartition:
    """The rest of a key; both types have the same fields."""
    try:
        _, length = _KEY_HEAD.unpack_from(key)
        at = _KEY_HEAD.size + length
        (partition,) = _INT32.unpack_from(key, at + 16)
        group_id = key[_KEY_HEAD.size : at].decode()
        return SharePartition(group_id, UUID(bytes=bytes(key[at : at + 16])), partition)
    except (struct.error, ValueError) as broken:
        raise Malformed(f"a key of a share group's state: {broken}") from None


def _state(value: bytes) -> ShareState:
    fields = decode_data("ShareSnapshotValue", value)
    return ShareState(
        fields.snapshot_epoch,
        fields.state_epoch,
        fields.leader_epoch,
        fields.start_offset,
        fields.delivery_complete_count,
        _read_batches(fields.state_batches),
        fields.create_timestamp,
        fields.write_timestamp,
    )


def _read_batches(listed: Iterable[StoredBatch]) -> tuple[StateBatch, ...]:
    return tuple(
        [
            StateBatch(
                each.first_offset, each.last_offset, each.delivery_state, each.delivery_count
            )
            for each in listed
        ]
    )
