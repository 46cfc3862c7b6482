"""Reads the rows of one task: opens its file, walks over it, makes the rows of the level."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from .batch_rows import batch_rows
from .blocks import BLOCK_BYTES, Block, Gap, walk
from .columns import arrow_schema, last_offsets
from .damage_rows import damage_rows
from .decoded_rows import decoded_rows
from .fates import whole_range
from .files import OpenFile
from .heads import walk_headers
from .options import Options
from .planning import Task
from .record_rows import (
    Refusal,
    chosen,
    fates_of,
    needs_parsing,
    record_rows,
    rows_of,
    without_control,
)
from .schemas import TOPICS, Level
from .transaction_rows import transaction_rows

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_log = logging.getLogger(__name__)


class DataLoss(Exception):
    """Records were deleted before they were read."""


_NAMED: Final = 5


def lost(what: Sequence[str], *, is_error: bool) -> None:
    """Raise or log that records were deleted before they were read.

    Args:
        what: a sentence for each partition; nothing happens without one.

    Raises:
        DataLoss: `is_error`.
    """
    if not what:
        return
    more = f"; and {len(what) - _NAMED} more partitions" if len(what) > _NAMED else ""
    why = "; ".join(what[:_NAMED]) + more
    if is_error:
        raise DataLoss(f"{why}; failOnDataLoss=false goes on without them")
    _log.warning("%s", why)


def read_task(task: Task, options: Options, schema: StructType) -> Iterator[pa.RecordBatch]:
    """The rows of a task, in Arrow batches of a limited size.

    Raises:
        DataLoss: the segment was deleted, and the options make that an error.
        OSError: the file cannot be read.
    """
    arrow = arrow_schema(schema)
    for batch in _LEVELS[options.level](task, options, arrow):
        for start in range(0, batch.num_rows, options.max_rows_per_batch):
            yield batch.slice(start, options.max_rows_per_batch)


def opened(task: Task, options: Options) -> OpenFile | None:
    """The file of a task; None if it was deleted, which is logged."""
    segment = task.segment
    for path in (segment.path, f"{segment.path}.deleted"):  # Kafka renames it a minute before
        try:
            return segment.store.open(path)
        except FileNotFoundError:
            continue
    why = f"{segment.path} was deleted before it was read"
    lost([why], is_error=bool(options.fail_on_data_loss))
    return None


def blocks(task: Task, options: Options, *, bodies: bool = True) -> Iterator[Block | Gap]:
    """The blocks and gaps of a task's file; without `bodies` the headers, and no CRC is checked."""
    file = opened(task, options)
    if file is None:
        return
    try:
        range_ = whole_range(task.segment, task.start)._replace(end=task.end)
        if bodies:
            size = min(BLOCK_BYTES, options.max_bytes_per_batch)
            yield from walk(file, range_, block_bytes=size)
        else:
            yield from walk_headers(file, range_)
    finally:
        file.close()


def in_range(block: Block, options: Options) -> Block:
    """The batches of a block that overlap the wanted offsets and times."""
    headers = block.headers
    keep = (last_offsets(headers) >= options.first_offset) & (
        headers["base_offset"] < options.end_offset
    )
    keep &= headers["max_timestamp"] >= options.from_ms
    return block.pick(keep)


def _batches(task: Task, options: Options, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for block in blocks(task, options, bodies="crc_ok" in schema.names):
        if isinstance(block, Gap):
            continue
        wanted = in_range(block, options)
        early = np.where(wanted.headers["base_timestamp"] < 0, -1, wanted.headers["base_timestamp"])
        wanted = wanted.pick(early < options.to_ms)
        if len(wanted.headers):
            yield batch_rows(schema, task.segment, wanted)


def _records(task: Task, options: Options, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    columns = set(schema.names)
    fates = fates_of(task.segment, columns, options)
    level = options.level
    with_records = level in TOPICS or needs_parsing(columns, options)
    for block in blocks(task, options):
        if isinstance(block, Gap):
            _warn(task, block.position, block.why)
            continue
        wanted = in_range(block, options)
        if not options.include_damaged:
            wanted = wanted.pick(wanted.crc_ok)
        if not len(wanted.headers):
            continue
        known = None if fates is None else fates.of(wanted)
        for rows in rows_of(wanted, parsed=with_records):
            if isinstance(rows, Refusal):
                _warn(task, int(wanted.positions[rows.row]), rows.why)
                continue
            rows = chosen(rows, wanted, options, known)
            if level in TOPICS:
                rows = without_control(rows, wanted)
            if not len(rows.batch):
                continue
            if level in TOPICS:
                yield decoded_rows(schema, task.segment, wanted, rows, level, fates=known)
            else:
                yield record_rows(schema, task.segment, wanted, rows, known)


def _warn(task: Task, position: int, why: str) -> None:
    _log.warning("%s: bytes from %d on are left out: %s", task.segment.path, position, why)


_Read = Callable[[Task, Options, pa.Schema], Iterator[pa.RecordBatch]]
_LEVELS: Final[dict[Level, _Read]] = {
    Level.BATCHES: _batches,
    Level.RECORDS: _records,
    Level.OFFSETS: _records,
    Level.TXN_STATE: _records,
    Level.METADATA: _records,
    Level.TRANSACTIONS: transaction_rows,
    Level.DAMAGE: damage_rows,
}
