"""Rows of the level `transactions`: each transaction of a partition, from its batches and marker.

A transaction belongs to the task whose segments have its first batch. The state at the task's start
is the producer snapshot there; the task reads on behind its segments until its last transaction has
ended. Its memory is the transactions that are open at one offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from ...protocol.batch import CONTROL, LOG_OVERHEAD, TRANSACTIONAL
from .batch_rows import ABORT, COMMIT, controls
from .blocks import Block
from .columns import last_offsets, rows_to_batch
from .fates import ABORTED, COMMITTED, FATES, OPEN, blocks_of, open_at, partition_of

if TYPE_CHECKING:
    from .listing import Segment
    from .options import Options
    from .planning import Task

_ROWS: Final = 8192
_PATIENCE_BYTES: Final = 64 << 20


@dataclass(slots=True)
class _Transaction:
    producer_id: int
    producer_epoch: int
    first_offset: int
    last_data_offset: int
    segment: str
    first_timestamp_ms: int
    last_timestamp_ms: int
    records: int = 0
    batches: int = 0
    bytes: int = 0


class _Batch:
    """The fields of a transactional batch or a marker."""

    __slots__ = ("epoch", "last_offset", "max_ms", "min_ms", "offset", "pid", "records", "size")

    def __init__(self, fields: tuple[int, ...]) -> None:
        (self.offset, self.last_offset, self.pid, self.epoch, self.records, self.size,
         self.min_ms, self.max_ms) = fields  # fmt: skip


class _Follower:
    """Follows the batches of a partition and returns the rows of ended transactions."""

    def __init__(self, foreign: dict[int, int]) -> None:
        self._foreign = foreign  # begun before the task's first segment
        self.open: dict[int, _Transaction] = {}

    def rows(self, block: Block, segment: Segment, *, is_own: bool) -> Iterator[dict[str, object]]:
        """The rows of the transactions that end in a block.

        Args:
            is_own: the segment is one of the task's, so that transactions may begin in it.
        """
        found = controls(block)
        kinds = {
            row: (kind, epoch)
            for row, kind, epoch in zip(*(each.tolist() for each in found), strict=True)
        }
        for row, batch in _batches(block):
            if row not in kinds:
                self._data(batch, segment, is_own=is_own)
                continue
            kind, coordinator_epoch = kinds[row]
            if kind not in (COMMIT, ABORT):
                continue
            fate = COMMITTED if kind == COMMIT else ABORTED
            ended = self.open.pop(batch.pid, None)
            if ended is None and (self._foreign.pop(batch.pid, None) is not None or not is_own):
                continue
            yield self._row(ended, fate, segment, (batch, coordinator_epoch))

    def _data(self, batch: _Batch, segment: Segment, *, is_own: bool) -> None:
        if batch.pid in self._foreign:
            return
        entry = self.open.get(batch.pid)
        if entry is None:
            if not is_own:
                self._foreign[batch.pid] = batch.offset
                return
            entry = self.open[batch.pid] = _Transaction(
                batch.pid, batch.epoch, batch.offset, batch.last_offset, segment.name,
                batch.min_ms, batch.max_ms,
            )  # fmt: skip
        entry.producer_epoch = batch.epoch
        entry.last_data_offset = batch.last_offset
        entry.last_timestamp_ms = max(entry.last_timestamp_ms, batch.max_ms)
        entry.records += batch.records
        entry.batches += 1
        entry.bytes += batch.size

    def _row(
        self,
        ended: _Transaction | None,
        fate: int,
        segment: Segment,
        marker: tuple[_Batch, int] | None = None,
    ) -> dict[str, object]:
        row: dict[str, object] = {
            "topic": segment.topic,
            "partition": segment.partition,
            "fate": FATES[fate],
            "records": 0,
            "batches": 0,
            "bytes": 0,
            "segment": segment.name,
        }
        if marker is not None:
            batch, coordinator_epoch = marker
            row |= {
                "producer_id": batch.pid,
                "producer_epoch": batch.epoch,
                "last_offset": batch.offset,
                "marker_epoch": batch.epoch,
                "coordinator_epoch": coordinator_epoch,
                "marker_timestamp": batch.max_ms,
            }
        if ended is not None:
            row |= {
                "producer_id": ended.producer_id,
                "producer_epoch": ended.producer_epoch,
                "first_offset": ended.first_offset,
                "last_data_offset": ended.last_data_offset,
                "records": ended.records,
                "batches": ended.batches,
                "bytes": ended.bytes,
                "first_timestamp": ended.first_timestamp_ms,
                "last_timestamp": ended.last_timestamp_ms,
                "segment": ended.segment,
            }
        return row

    def hanging(self, segment: Segment) -> Iterator[dict[str, object]]:
        """The rows of transactions without an end."""
        for entry in self.open.values():
            yield self._row(entry, OPEN, segment)


def _batches(block: Block) -> Iterator[tuple[int, _Batch]]:
    headers = block.headers
    rows = np.flatnonzero(headers["attributes"] & (TRANSACTIONAL | CONTROL))
    columns = (
        headers["base_offset"][rows],
        last_offsets(headers)[rows],
        headers["producer_id"][rows],
        headers["producer_epoch"][rows],
        headers["record_count"][rows],
        headers["length"][rows].astype(np.int64) + LOG_OVERHEAD,
        headers["base_timestamp"][rows],
        headers["max_timestamp"][rows],
    )
    every = zip(*(column.tolist() for column in columns), strict=True)
    for row, fields in zip(rows.tolist(), every, strict=True):
        yield row, _Batch(fields)


def transaction_rows(task: Task, options: Options, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The transactions that begin in the task's segments."""
    rows: list[dict[str, object]] = []
    for row in _all(task):
        last = row.get("last_offset") or row.get("last_data_offset")
        first = row.get("first_offset", last)
        assert isinstance(first, int)
        assert isinstance(last, int)
        if last >= options.first_offset and first < options.end_offset:
            rows.append(row)
        if len(rows) == _ROWS:
            yield rows_to_batch(schema, rows)
            rows = []
    if rows:
        yield rows_to_batch(schema, rows)


def _all(task: Task) -> Iterator[dict[str, object]]:
    own = (task.segment, *task.following)
    partition = partition_of(task.segment)
    follower = _Follower(open_at(partition, task.segment.base_offset))
    for segment in own:
        for block in blocks_of(segment, check_crc=True):
            if isinstance(block, Block):
                yield from follower.rows(block, segment, is_own=True)
    read_bytes = 0
    hanging: dict[int, int] | None = None
    for segment in partition.segments:
        if segment.base_offset <= own[-1].base_offset:
            continue
        for block in blocks_of(segment):
            if not follower.open:
                return
            if isinstance(block, Block):
                read_bytes += block.end - block.at
                yield from follower.rows(block, segment, is_own=False)
            if read_bytes > _PATIENCE_BYTES and hanging is None:
                hanging = open_at(partition)
            if hanging is not None and all(
                hanging.get(producer_id, entry.first_offset + 1) <= entry.first_offset
                for producer_id, entry in follower.open.items()
            ):
                yield from follower.hanging(segment)
                return
    yield from follower.hanging(task.segment)
