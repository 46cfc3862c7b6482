"""`ottla log --json`: one line for each partition, or with --decode for each batch."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

from ...console.options import CannotRun
from ...console.tables import print_json
from ...protocol.batch import BatchHeader
from ...protocol.errors import Refused
from ...protocol.records import Header, Record, records_in
from ...storage.inspection.partition_inspection import PartitionReport
from ...storage.segments.segment import Segment
from .batches import codec_of, kind_of


def print_partition(report: PartitionReport, *, decode: bool) -> None:
    """Print a line about the partition; with `decode`, one about each batch with its records."""
    if decode:
        for segment, position, header in report.batches():
            print_json({"partition": report.name} | _batch(segment, position, header))
        return
    print_json(
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


class SentRecord(NamedTuple):
    """What a line of `ottla consume --json` has of a record that can be sent again."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    timestamp_ms: int | None


def record_of_json(text: str) -> SentRecord:
    """The record of a line that `record_fields` made. Raises CannotRun."""
    try:
        fields = json.loads(text)
        headers = tuple((str(name), _bytes_of(value)) for name, value in fields.get("headers", ()))
        time_ms = fields.get("timestamp_ms")
        if time_ms is not None and not isinstance(time_ms, int):
            raise TypeError
        return SentRecord(
            _bytes_of(fields.get("key")), _bytes_of(fields["value"]), headers, time_ms
        )
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise CannotRun(f"{text[:80]}: no record as `ottla consume --json` prints it") from None


def _bytes_of(field: object) -> bytes | None:
    """The bytes that `field_bytes` made a field of."""
    if field is None:
        return None
    if isinstance(field, str):
        return field.encode()
    if isinstance(field, dict) and isinstance(field.get("base64"), str):
        return base64.b64decode(field["base64"], validate=True)
    raise TypeError
