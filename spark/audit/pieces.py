"""Rows of logs in packed form: the headers of batches and the entries of indexes, in columns.

A piece is an array of `ROW` as bytes, some 80 bytes for each batch, so that neither Spark's shuffle
nor Python handles one row at a time between the file and the fold.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Final

import numpy as np

from ...audit.decode import batch_row
from ...audit.rows import ABORT, COMMIT, UNREADABLE, AbortedEntry, LogBatch, LogRow, SegmentStart
from ...protocol.batch import (
    CONTROL,
    HAS_DELETE_HORIZON,
    HEADER_SIZE,
    LOG_OVERHEAD,
    TRANSACTIONAL,
    read_header,
)
from ...storage.producer_state.aborted import decode as decode_index
from ..kafka_log.batch_rows import controls, last_sequences
from ..kafka_log.blocks import Block, Gap
from ..kafka_log.columns import last_offsets
from ..kafka_log.files import read_whole

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..kafka_log.planning import Task

INDEX: Final = "txnindex"
ROW: Final = np.dtype(
    [
        ("kind", "i1"),
        ("transactional", "?"),
        ("control", "?"),
        ("control_type", "i1"),
        ("producer_epoch", "<i2"),
        ("base_sequence", "<i4"),
        ("last_sequence", "<i4"),
        ("records", "<i4"),
        ("coordinator_epoch", "<i4"),
        ("leader_epoch", "<i4"),
        ("size", "<i4"),
        ("position", "<i8"),
        ("base_offset", "<i8"),
        ("last_offset", "<i8"),
        ("producer_id", "<i8"),
        ("first_timestamp", "<i8"),
        ("max_timestamp", "<i8"),
    ]
)
"""Of an entry of the index: base_offset is its first offset, first_timestamp its last stable one.
Of the beginning of a file: transactional and control stand for `has_index` and `is_last`."""

_BATCH, _DAMAGED, _ENTRY, _START = range(4)
_TYPES: Final = ("", COMMIT, ABORT, UNREADABLE)
_PIECE_ROWS: Final = 256


def pieces(
    blocks: Iterator[Block | Gap], task: Task | None, base_offset: int, *, is_last: bool
) -> Iterator[bytes]:
    """The rows of a part of a log, in pieces.

    Args:
        task: the range of a file, which may have an index; None over the wire.
        is_last: the part belongs to the active segment: its torn end is no damage.
    """
    for rows in _rows(blocks, task, base_offset, is_last=is_last):
        for start in range(0, len(rows), _PIECE_ROWS):
            yield rows[start : start + _PIECE_ROWS].tobytes()


def _rows(
    blocks: Iterator[Block | Gap], task: Task | None, base_offset: int, *, is_last: bool
) -> Iterator[npt.NDArray[np.void]]:
    if task is not None and task.start == 0:
        yield _start(task)
    entries = _entries(task)
    next_offset = base_offset
    for block in blocks:
        if isinstance(block, Gap):
            is_torn = is_last and task is not None and block.end >= task.segment.size_bytes
            if not is_torn:
                yield _damaged(next_offset, block.position)
            continue
        if not block.crc_ok.all() or not len(block.headers):
            continue  # its gap follows
        rows = _batches(block)
        next_offset = int(rows["last_offset"][-1]) + 1
        if len(entries):
            if task is not None and task.start and block.at == task.start:
                entries = entries[entries["last_offset"] >= rows["base_offset"][0]]
            rows, entries = _with_entries(rows, entries)
        yield rows
    if task is not None and task.end < task.segment.size_bytes:
        entries = entries[entries["last_offset"] < _offset_at(task)]
    yield entries


def _start(task: Task) -> npt.NDArray[np.void]:
    row = np.zeros(1, ROW)
    row["kind"] = _START
    row["transactional"] = task.segment.has(INDEX)
    row["control"] = task.segment.is_last
    return row


def _damaged(next_offset: int, position: int) -> npt.NDArray[np.void]:
    row = np.zeros(1, ROW)
    row["kind"] = _DAMAGED
    row["base_offset"], row["position"] = next_offset, position
    return row


def _batches(block: Block) -> npt.NDArray[np.void]:
    headers = block.headers
    attributes = headers["attributes"]
    rows = np.zeros(len(headers), ROW)
    for name in ("base_offset", "producer_id", "producer_epoch", "base_sequence", "leader_epoch",
                 "max_timestamp"):  # fmt: skip
        rows[name] = headers[name]
    rows["transactional"] = (attributes & TRANSACTIONAL) != 0
    rows["control"] = (attributes & CONTROL) != 0
    rows["last_sequence"] = last_sequences(headers)
    rows["last_offset"] = last_offsets(headers)
    rows["records"] = headers["record_count"]
    rows["size"] = headers["length"] + LOG_OVERHEAD
    rows["position"] = block.positions
    has_horizon = (attributes & HAS_DELETE_HORIZON) != 0
    rows["first_timestamp"] = np.where(has_horizon, -1, headers["base_timestamp"])
    rows["coordinator_epoch"] = -1
    found = controls(block)
    is_marker = (headers["producer_id"][found.rows] >= 0) & (
        headers["record_count"][found.rows] != 0
    )
    at = found.rows[is_marker]
    kinds, epochs = found.types[is_marker], found.coordinator_epochs[is_marker]
    codes = np.where(kinds == 1, 1, np.where(kinds == 0, 2, 3))
    rows["control_type"][at] = codes
    rows["coordinator_epoch"][at] = np.where(codes < 3, epochs, -1)
    for row in at[(codes < 3) & (epochs < 0)].tolist():  # perhaps a marker that is cut
        start = int(block.starts[row])
        whole = block.data[start : start + int(rows["size"][row])]
        known = batch_row("", 0, read_header(whole), whole)
        rows["control_type"][row] = _TYPES.index(known.control_type)
        rows["coordinator_epoch"][row] = known.coordinator_epoch
    return rows


def _entries(task: Task | None) -> npt.NDArray[np.void]:
    """The entries of the segment's index, by their last offsets."""
    if task is None or not task.segment.has(INDEX):
        return np.zeros(0, ROW)
    content = read_whole(task.segment.store, task.segment.beside(INDEX))
    entries = sorted(decode_index(content or b""), key=lambda entry: entry.last_offset)
    rows = np.zeros(len(entries), ROW)
    rows["kind"] = _ENTRY
    if entries:
        numbers = np.array(entries, np.int64)
        for at, name in enumerate(("producer_id", "base_offset", "last_offset", "first_timestamp")):
            rows[name] = numbers[:, at]
    return rows


def _with_entries(
    rows: npt.NDArray[np.void], entries: npt.NDArray[np.void]
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
    """Rows with the entries before them that belong here, and the other entries."""
    highest = np.maximum.accumulate(rows["base_offset"])
    at = np.searchsorted(highest, entries["last_offset"], "left")
    here = at < len(rows)
    return np.insert(rows, at[here], entries[here]), entries[~here]


def _offset_at(task: Task) -> int:
    """The offset of the batch behind the part, which begins the next part."""
    file = task.segment.store.open(task.segment.path)
    try:
        return read_header(file.read_at(task.end, HEADER_SIZE)).base_offset
    finally:
        file.close()


def rows_in(topic: str, partition: int, segment: int, piece: bytes) -> Iterator[LogRow]:
    """The rows of a piece.

    Args:
        segment: base offset of the file.
    """
    rows = np.frombuffer(piece, ROW)
    batches = _as_batches(topic, partition, segment, rows[rows["kind"] == _BATCH])
    if not rows["kind"].any():
        yield from batches
        return
    for at, kind in enumerate(rows["kind"].tolist()):
        if kind == _BATCH:
            yield next(batches)
        else:
            yield _other(topic, partition, segment, rows[at])


def _other(topic: str, partition: int, segment: int, row: np.void) -> LogRow:
    if row["kind"] == _START:
        has_index, is_last = bool(row["transactional"]), bool(row["control"])
        return SegmentStart(topic, partition, segment, has_index, is_last)
    offset, position = int(row["base_offset"]), int(row["position"])
    if row["kind"] == _ENTRY:
        others = (int(row["last_offset"]), int(row["first_timestamp"]))
        return AbortedEntry(topic, partition, int(row["producer_id"]), offset, *others)
    return LogBatch(
        topic, partition, offset, offset, crc_ok=False, segment=segment, position=position
    )


def _as_batches(
    topic: str, partition: int, segment: int, rows: npt.NDArray[np.void]
) -> Iterator[LogBatch]:
    def column(name: str) -> list[int]:
        values: list[int] = rows[name].tolist()
        return values

    columns = (
        repeat(topic),
        repeat(partition),
        column("base_offset"),
        column("last_offset"),
        column("producer_id"),
        column("producer_epoch"),
        column("base_sequence"),
        column("last_sequence"),
        column("records"),
        column("transactional"),
        column("control"),
        [_TYPES[code] for code in column("control_type")],
        column("coordinator_epoch"),
        column("leader_epoch"),
        column("first_timestamp"),
        column("max_timestamp"),
        column("size"),
        repeat(True),
        repeat(segment),
        column("position"),
    )
    return map(LogBatch._make, zip(*columns, strict=False))
