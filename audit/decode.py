"""Bytes of logs to rows: headers of batches, records of the two internal topics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..protocol.batch import NO_TIMESTAMP, BatchHeader, Bytes
from ..protocol.control import read_marker
from ..protocol.errors import Malformed, Refused
from ..protocol.messages import decode_data, decode_offset_key
from ..protocol.records import records_in
from .coordinator import DEAD, STATE_TOPIC, STATES
from .rows import ABORT, COMMIT, UNREADABLE, CoordinatorRecord, LogBatch, OffsetRecord
from .rules import Finding

_STATE_KEY: Final = 0
_OFFSET_KEYS: Final = (0, 1)


def batch_row(
    topic: str, partition: int, header: BatchHeader, data: Bytes, *, crc_ok: bool = True
) -> LogBatch:
    """A batch's row.

    Args:
        data: the whole batch if it is a control batch; else it may be empty.
    """
    kind, coordinator_epoch = "", -1
    if header.is_control and header.producer_id >= 0 and header.record_count:
        try:
            marker = read_marker(data, 0, header)
        except (Refused, IndexError):
            kind = UNREADABLE
        else:
            if marker is None:
                kind = UNREADABLE
            else:
                kind = COMMIT if marker.commit else ABORT
                coordinator_epoch = marker.coordinator_epoch
    return LogBatch(
        topic,
        partition,
        header.base_offset,
        header.last_offset,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.last_sequence,
        header.record_count,
        header.is_transactional,
        header.is_control,
        kind,
        coordinator_epoch,
        header.leader_epoch,
        header.base_timestamp_ms if not header.attributes & 0x40 else NO_TIMESTAMP,
        header.max_timestamp_ms,
        header.size_bytes,
        crc_ok,
    )


def coordinator_records(
    partition: int, header: BatchHeader, data: Bytes
) -> Iterator[CoordinatorRecord | Finding]:
    """The records of a batch of `__transaction_state`; a finding for one that is no record."""
    for record in records_in(data, 0, header):
        key, value = record.key, record.value
        if key is None or int.from_bytes(key[:2], "big") != _STATE_KEY:
            continue
        try:
            transactional_id = decode_data("TransactionLogKey", key).transactional_id
            if value is None:
                yield CoordinatorRecord(
                    partition, record.offset, transactional_id, DEAD, updated_ms=record.timestamp_ms
                )
                continue
            fields = decode_data("TransactionLogValue", value)
            state = STATES[fields.transaction_status]
        except (Malformed, IndexError) as wrong:
            text = f"the record cannot be decoded: {wrong}"
            yield Finding("state-unreadable", text, STATE_TOPIC, partition, record.offset)
            continue
        partitions = sorted(
            (topic.topic, index)
            for topic in fields.transaction_partitions or ()
            for index in topic.partition_ids
        )
        yield CoordinatorRecord(
            partition,
            record.offset,
            transactional_id,
            state,
            fields.producer_id,
            fields.producer_epoch,
            fields.transaction_timeout_ms,
            tuple(partitions),
            fields.transaction_last_update_timestamp_ms,
            fields.transaction_start_timestamp_ms,
            fields.previous_producer_id,
            fields.next_producer_id,
            fields.client_transaction_version,
        )


def offset_records(partition: int, header: BatchHeader, data: Bytes) -> Iterator[OffsetRecord]:
    """The committed offsets in a batch of `__consumer_offsets`, or its marker."""
    at = (header.producer_id, header.producer_epoch, header.is_transactional)
    if header.is_control:
        row = batch_row("", partition, header, data)
        if row.control_type in (COMMIT, ABORT):
            yield OffsetRecord(partition, header.base_offset, *at, row.control_type)
        return
    for record in records_in(data, 0, header):
        key, value = record.key, record.value
        if key is None or int.from_bytes(key[:2], "big") not in _OFFSET_KEYS:
            continue
        try:
            named = decode_offset_key(key)
            committed = -1 if value is None else decode_data("OffsetCommitValue", value).offset
        except Malformed:
            continue
        yield OffsetRecord(
            partition,
            record.offset,
            *at,
            "",
            named.group,
            named.topic,
            named.partition,
            committed,
            record.timestamp_ms,
        )
