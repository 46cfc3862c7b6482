"""`ottla log --json`: one line for each partition, or with --decode for each batch."""

from __future__ import annotations

import base64
from typing import Any

from ottla.log_command import codec_of, kind_of
from ottla.protocol.batch import BatchHeader
from ottla.protocol.errors import Refused
from ottla.protocol.records import Header, Record, records_in
from ottla.storage.inspection import PartitionReport
from ottla.storage.segment import Segment
from ottla.tables import json_line


def print_partition(report: PartitionReport, *, decode: bool) -> None:
    """Print a line about the partition; with `decode`, one about each batch with its records."""
    if decode:
        for segment, position, header in report.batches():
            json_line({"partition": report.name} | _batch(segment, position, header))
        return
    json_line(
        {
            "partition": report.name,
            "first_offset": report.segments[0].base_offset if report.segments else 0,
            "end_offset": report.end_offset,
            "segments": len(report.segments),
            "batches": sum(segment.batches for segment in report.segments),
            "records": sum(segment.records for segment in report.segments),
            "bytes": report.size_bytes,
            "torn_bytes": report.torn_bytes,
            "open_transactions": report.open_transactions,
            "aborted_transactions": sum(len(segment.aborted) for segment in report.segments),
            "damages": list(map(str, report.damages)),
        }
    )


def _batch(segment: Segment, position: int, header: BatchHeader) -> dict[str, Any]:
    found = {
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "position": position,
        "bytes": header.size_bytes,
        "leader_epoch": header.leader_epoch,
        "codec": codec_of(header),
        "kind": kind_of(segment, position, header) or "plain",
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "max_timestamp_ms": header.max_timestamp_ms,
    }
    if header.is_control:
        return found
    try:
        records = [
            record_fields(record)
            for record in records_in(segment.batch_at(position, header), 0, header)
        ]
    except Refused as wrong:
        return found | {"damage": str(wrong)}
    return found | {"records": records}


def record_fields(record: Record) -> dict[str, Any]:
    """A record's fields for JSON; bytes as `field_bytes` has them."""
    return {
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "key": field_bytes(record.key),
        "value": field_bytes(record.value),
        "headers": header_fields(record.headers),
    }


def header_fields(headers: tuple[Header, ...]) -> list[list[Any]]:
    """Headers for JSON: a list of names and values, because a name may occur twice."""
    return [[name, field_bytes(value)] for name, value in headers]


def field_bytes(data: bytes | None) -> str | dict[str, str] | None:
    """Bytes for JSON: a text if they are UTF-8, else `{"base64": ...}`."""
    if data is None:
        return None
    try:
        return bytes(data).decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
