"""What kafka-dump-log prints of batches, records and producers (DumpLogSegments)."""

from __future__ import annotations

from collections.abc import Callable

from ...protocol.batch import (
    COMPRESSION_MASK,
    HAS_DELETE_HORIZON,
    LOG_APPEND_TIME,
    BatchHeader,
    Compression,
    crc_is_right,
    headers_in,
)
from ...protocol.errors import Refused
from ...protocol.records import Record, records_in
from ...storage.producer_state import producer_snapshot
from ..session import Failure
from ..texts import line
from .dumped_records import control_text

Decode = Callable[[Record], tuple[str | None, str | None]]
"""Key and value of a record as texts; None: it has none."""


def dump_log(data: bytes, decode: Decode | None, *, is_deep: bool, has_metadata: bool) -> int:
    """Print the batches of a segment or of a snapshot of metadata; return what is left, in bytes.

    Args:
        data: the file's bytes; a batch that is cut is not printed.
        decode: None: keys and values are not printed.
        is_deep: whether records are printed.
        has_metadata: whether of a record more than key and value is printed.

    Raises:
        Failure: a record cannot be decoded.
    """
    end = 0
    for position, header in headers_in(data):
        end = position + header.size_bytes
        line(_batch_text(data, position, header))
        if not is_deep:
            continue
        try:
            for number, record in enumerate(records_in(data, position, header)):
                text = _record_text(header, number, record, decode, has_metadata=has_metadata)
                line(f"| {text}" if text else "")
        except Refused as broken:
            raise Failure(broken.why or str(broken), "java.lang.RuntimeException") from None
    return len(data) - end


def _batch_text(data: bytes, position: int, header: BatchHeader) -> str:
    kind = "LogAppendTime" if header.attributes & LOG_APPEND_TIME else "CreateTime"
    horizon = "OptionalLong.empty"
    if header.attributes & HAS_DELETE_HORIZON:
        horizon = f"OptionalLong[{header.base_timestamp_ms}]"
    codec = Compression(header.attributes & COMPRESSION_MASK).name.lower()
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset}"
        f" count: {header.record_count} baseSequence: {header.base_sequence}"
        f" lastSequence: {header.last_sequence} producerId: {header.producer_id}"
        f" producerEpoch: {header.producer_epoch} partitionLeaderEpoch: {header.leader_epoch}"
        f" isTransactional: {_word(header.is_transactional)} isControl: {_word(header.is_control)}"
        f" deleteHorizonMs: {horizon} position: {position} {kind}: {header.max_timestamp_ms}"
        f" size: {header.size_bytes} magic: {header.magic} compresscodec: {codec}"
        f" crc: {header.crc} isvalid: {_word(crc_is_right(data, position, header))}"
    )


def _record_text(
    header: BatchHeader, number: int, record: Record, decode: Decode | None, *, has_metadata: bool
) -> str:
    """A record's line after `| `; "": nothing of it is shown."""
    if header.is_control and not has_metadata:
        return ""
    parts = []
    if has_metadata:
        sequence = header.base_sequence if header.base_sequence < 0 else _sequence(header, number)
        kind, time_ms = "CreateTime", record.timestamp_ms
        if header.attributes & LOG_APPEND_TIME:
            kind, time_ms = "LogAppendTime", header.max_timestamp_ms
        names = ",".join(name for name, _ in record.headers)
        parts.append(
            f"offset: {record.offset} {kind}: {time_ms} keySize: {_size(record.key)}"
            f" valueSize: {_size(record.value)} sequence: {sequence} headerKeys: [{names}]"
        )
    if header.is_control:
        parts.append(control_text(record))
    elif decode is not None:
        for name, text in zip(("key", "payload"), decode(record), strict=True):
            if text is not None:
                parts.append(f"{name}: {text}")
    return " ".join(parts)


def _sequence(header: BatchHeader, number: int) -> int:
    return (header.base_sequence + number) & 0x7FFFFFFF


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _word(flag: bool) -> str:
    return "true" if flag else "false"


def dump_snapshot_of_producers(content: bytes) -> None:
    """Print a `.snapshot` file. Raises Failure if it is damaged."""
    found = producer_snapshot.decode(content)
    if found is None:
        raise Failure(
            "Snapshot is corrupt (CRC is no longer valid).",
            "org.apache.kafka.storage.internals.log.CorruptSnapshotException",
        )
    for each in found:
        first = each.transaction_first_offset
        shown = "OptionalLong.empty" if first < 0 else f"OptionalLong[{first}]"
        text = (
            f"producerId: {each.producer_id} producerEpoch: {each.producer_epoch}"
            f" coordinatorEpoch: {each.coordinator_epoch} currentTxnFirstOffset: {shown}"
            f" lastTimestamp: {each.last_timestamp_ms} "
        )
        if each.batches:
            last = each.batches[-1]
            delta = last.last_offset - last.first_offset
            text += (
                f"firstSequence: {each.last_sequence - delta} lastSequence: {each.last_sequence}"
                f" lastOffset: {last.last_offset} offsetDelta: {delta}"
                f" timestamp: {each.last_timestamp_ms}"
            )
        line(text)
