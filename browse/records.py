"""Pages of records of a partition, from both ends, with fates and markers.

A page is a list of rows in the order of offsets, and the offsets at which its neighbours begin.
Contents are cut to a preview; `record_row` has one record as a whole.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Final, NamedTuple

from ..client.cluster_client import ErrorAnswer
from ..protocol.errors import Code, Refused
from ..protocol.records import Record
from .log_reads import Batch, Budget, LogReader
from .offsets import offsets_of

MOST_ROWS: Final = 200
PAGE_BYTES: Final = 8 << 20
"""What a page reads of a log and opens of it; with large records it has fewer rows."""
PREVIEW_BYTES: Final = 2000
WHOLE_BYTES: Final = 1 << 20
_MOST_HEADERS: Final = 50
_GROWTH: Final = 8
"""A page that goes back looks so many times as far where offsets are missing."""

Row = dict[str, object]


class Page(NamedTuple):
    """Rows of a partition.

    Attributes:
        older: the page before ends at this offset; None at the start of the log.
        newer: the page behind begins at this offset.
        log_start, last_stable_offset, high_watermark: of the partition.
    """

    rows: list[Row]
    older: int | None
    newer: int
    log_start: int
    last_stable_offset: int
    high_watermark: int


def newer_page(reader: LogReader, start: int, limit: int) -> Page:
    """The rows from an offset on. An offset outside of the log begins at the nearest end.

    Args:
        reader: of the partition.
        limit: of rows, at most MOST_ROWS.

    Raises:
        ErrorAnswer, NoAnswer: the leader refuses or is away.
    """
    start = _inside(reader, start)
    rows, reached = _rows_from(reader, start, reader.high_watermark, limit, Budget(PAGE_BYTES))
    return _page(reader, rows, start, reached)


def older_page(reader: LogReader, end: int | None, limit: int) -> Page:
    """The last rows before an offset; None: before the high watermark.

    Args:
        reader: of the partition.
        limit: of rows, at most MOST_ROWS.

    Raises:
        ErrorAnswer, NoAnswer: the leader refuses or is away.
    """
    end = _inside(reader, 1 << 62 if end is None else end)
    budget, span, known = Budget(PAGE_BYTES), limit, end
    rows: list[Row] = []
    while len(rows) < limit and known > reader.log_start and not budget.is_spent:
        start = max(reader.log_start, known - span)
        part, reached = _rows_from(reader, start, known, MOST_ROWS * _GROWTH, budget)
        if reached < known:  # large records: look at fewer of them
            if span == 1:
                break
            span = max(1, span // _GROWTH)
            budget = Budget(PAGE_BYTES) if not rows else budget
            continue
        rows, known = part + rows, start
        span = min(span * _GROWTH, MOST_ROWS * _GROWTH)
    rows = rows[-limit:]
    begin = known if len(rows) < limit else int(str(rows[0]["offset"]))
    return _page(reader, rows, begin, end)


def record_row(reader: LogReader, offset: int) -> Row:
    """One record or marker as a whole, up to WHOLE_BYTES of key and value.

    Raises:
        ErrorAnswer: OFFSET_OUT_OF_RANGE if there is none at this offset.
    """
    budget = Budget(PAGE_BYTES)
    for batch in reader.read(offset, budget):
        for row in _rows_of(batch, WHOLE_BYTES, offset, budget):
            if row["offset"] == offset:
                return row
    topic, index = reader.place
    raise ErrorAnswer(Code.OFFSET_OUT_OF_RANGE, f"{topic}-{index} at {offset}")


def _inside(reader: LogReader, offset: int) -> int:
    """The offset, or the nearest end of the log; the reader knows the ends then."""
    topic, index = reader.place
    known = offsets_of(reader.client, {reader.place: reader.leader})[reader.place]
    if known.log_start is None or known.high_watermark is None:
        raise ErrorAnswer(Code.LEADER_NOT_AVAILABLE, f"{topic}-{index}", known.error)
    reader.log_start, reader.high_watermark = known.log_start, known.high_watermark
    stable = known.last_stable_offset
    reader.last_stable_offset = known.high_watermark if stable is None else stable
    return max(known.log_start, min(offset, known.high_watermark))


def _rows_from(
    reader: LogReader, start: int, end: int, limit: int, budget: Budget
) -> tuple[list[Row], int]:
    """Rows between two offsets, and the offset behind the last one that was looked at."""
    rows: list[Row] = []
    offset = start
    while offset < end and not budget.is_spent:
        batches = reader.read(offset, budget)
        if not batches:
            break
        for batch in batches:
            for row in _rows_of(batch, PREVIEW_BYTES, offset, budget):
                at = int(str(row["offset"]))
                if at < offset:
                    continue
                if at >= end or len(rows) == limit:
                    return rows, min(at, end)
                rows.append(row)
            offset = batch.header.next_offset
            if budget.is_spent:
                break
    return rows, min(offset, end)


def _rows_of(batch: Batch, most_bytes: int, begin: int, budget: Budget) -> Iterator[Row]:
    """The rows of a batch from an offset on, one at a time: a small batch may open to millions."""
    header = batch.header
    about: Row = {
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "fate": None if batch.fate is None else str(batch.fate),
    }
    if header.is_control:
        kind = "control" if batch.commits is None else "marker"
        row = {"offset": header.base_offset, "kind": kind, "commits": batch.commits}
        yield {**row, "timestamp_ms": header.max_timestamp_ms, **about, "fate": None}
        return
    behind = header.base_offset
    try:
        for each in batch.records(budget):
            behind = each.offset + 1
            if each.offset >= begin:
                yield {**_content(each, most_bytes), **about}
    except Refused as broken:
        row = {"offset": behind, "kind": "broken", "error": str(broken)}
        yield {**row, "timestamp_ms": header.max_timestamp_ms, **about}


def _content(record: Record, most_bytes: int) -> Row:
    return {
        "offset": record.offset,
        "kind": "record",
        "timestamp_ms": record.timestamp_ms,
        "key": _cut(record.key, most_bytes),
        "value": _cut(record.value, most_bytes),
        "headers": [
            {"name": name[:PREVIEW_BYTES], "value": _cut(value, PREVIEW_BYTES)}
            for name, value in record.headers[:_MOST_HEADERS]
        ],
        "header_count": len(record.headers),
    }


def _cut(data: bytes | None, most_bytes: int) -> Row | None:
    """The beginning of a content, and its whole size; None for null."""
    if data is None:
        return None
    return {"size_bytes": len(data), "base64": b64encode(data[:most_bytes]).decode()}


def _page(reader: LogReader, rows: list[Row], begin: int, end: int) -> Page:
    older = begin if begin > reader.log_start else None
    return Page(
        rows, older, end, reader.log_start, reader.last_stable_offset, reader.high_watermark
    )
