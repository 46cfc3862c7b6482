"""`spark.readStream.format("kafka-log")`: follows a directory that grows.

An offset of the stream has the next offset of each partition, by "TOPIC-PARTITION". A batch of the
stream ends where a batch of the log does. Under read_committed it ends before the first open
transaction, as a consumer does. From PySpark 4.2 on the stream has admission control, and a trigger
AvailableNow reads to the end that the log had at its start.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from .blocks import Block
from .columns import last_offsets
from .fates import blocks_of, open_at
from .listing import Partition, partitions_in
from .options import END, Options
from .planning import position_before, tasks_of
from .reading import DataLoss, read_task

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from .planning import Task

try:
    from pyspark.sql.streaming import datasource as limits

    _AvailableNow: Any = limits.SupportsTriggerAvailableNow  # Any: PySpark 4.2 has it
except ImportError:  # an older PySpark: a stream reads all that is there
    limits = None  # type: ignore[assignment]  # tested before each use
    _AvailableNow = object

_log = logging.getLogger(__name__)

Offsets = dict[str, int]


class StreamInput(InputPartition):
    """A task of a batch of the stream."""


class _Ends:
    """The ends of logs, found again from where they were last found.

    Attributes:
        at: by partition: the position in the last segment behind the batches that were seen.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int, int]] = {}

    def end_of(self, name: str, partition: Partition) -> int:
        """The offset behind the last whole batch."""
        if not partition.segments:
            return 0
        segment = partition.segments[-1]
        base, position, offset = self._seen.get(name, (-1, 0, 0))
        if base != segment.base_offset or position > segment.size_bytes:
            position, offset = position_before(segment, END), segment.base_offset
        for block in blocks_of(segment, position, check_crc=True):
            if isinstance(block, Block):
                offset = max(offset, int(last_offsets(block.headers)[-1]) + 1)
                position = block.end
        self._seen[name] = (segment.base_offset, position, offset)
        return offset


class LogStreamReader(DataSourceStreamReader, _AvailableNow):  # type: ignore[misc]  # a class of 4.2
    """Plans the batches of a stream, and reads their tasks on executors."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._ends = _Ends()
        self._target: Offsets | None = None

    def _partitions(self) -> dict[str, Partition]:
        return {
            f"{each.topic}-{each.partition}": each
            for each in partitions_in(self._options.path)
            if self._options.wants(each.topic, each.partition)
        }

    def _available(self) -> Offsets:
        """The end of each partition, before its first open transaction under read_committed."""
        found = {}
        for name, partition in self._partitions().items():
            end = self._ends.end_of(name, partition)
            if self._options.read_committed:
                end = min([end, *open_at(partition).values()])
            found[name] = min(end, self._options.end_offset)
        return found

    def initialOffset(self) -> Offsets:  # PySpark's name
        """Where a new query begins."""
        if self._options.from_latest:
            return self._available()
        return {
            name: max(each.segments[0].base_offset, self._options.first_offset)
            for name, each in self._partitions().items()
            if each.segments
        }

    # Any: the limits of PySpark 4.2, which older ones do not have
    def latestOffset(self, start: Offsets | None = None, limit: Any = None) -> Offsets:
        """Where the next batch ends; without arguments (PySpark before 4.2) all that is there."""
        ends = self._available() if self._target is None else self._target
        if start is None:
            return ends
        # A partition that was deleted keeps its offset.
        ends = {**start, **{name: max(end, start.get(name, 0)) for name, end in ends.items()}}
        is_rows = limits is not None and isinstance(limit, limits.ReadMaxRows)
        is_bytes = limits is not None and isinstance(limit, limits.ReadMaxBytes)
        if not is_rows and not is_bytes:
            return ends
        amount = limit.max_rows if is_rows else limit.max_bytes
        return self._limited(start, ends, amount, in_bytes=is_bytes)

    def _limited(self, start: Offsets, ends: Offsets, amount: int, *, in_bytes: bool) -> Offsets:
        """Ends at which about `amount` is read: each partition with news gets an equal share."""
        partitions = self._partitions()
        news = [name for name in sorted(ends) if ends[name] > start.get(name, 0)]
        found = dict(start)
        for index, name in enumerate(news):
            share = -(-amount // (len(news) - index))
            if name in partitions:
                end, used = _reached(
                    partitions[name], (start.get(name, 0), ends[name]), share, in_bytes=in_bytes
                )
                found[name] = end
                amount = max(amount - used, 1)
        return found

    def getDefaultReadLimit(self) -> Any:  # Any: as in latestOffset
        """The limit of the options."""
        if self._options.max_bytes_per_trigger is not None:
            return limits.ReadMaxBytes(self._options.max_bytes_per_trigger)
        if self._options.max_offsets_per_trigger is not None:
            return limits.ReadMaxRows(self._options.max_offsets_per_trigger)
        return limits.ReadAllAvailable()

    def reportLatestOffset(self) -> Offsets:
        """The end of the log, for the progress of the query."""
        return self._available()

    def prepareForTriggerAvailableNow(self) -> None:
        """Take the end that the log has now as the end of the query."""
        self._target = self._available()

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """The tasks of a batch."""
        return [
            StreamInput(task)
            for name, partition in self._partitions().items()
            for task in self._tasks(partition, start.get(name), end.get(name, 0))
        ]

    def _tasks(self, partition: Partition, start: int | None, end: int) -> Iterator[Task]:
        begins = partition.segments[0].base_offset if partition.segments else 0
        if start is None:
            start = begins
        if start >= end:
            return
        if start < begins:
            why = f"{partition.directory}: offsets {start} to {begins} were deleted unread"
            if self._options.fail_on_data_loss is not False:
                raise DataLoss(f"{why}; failOnDataLoss=false goes on behind them")
            _log.warning("%s", why)
        yield from tasks_of(partition, replace(self._options, first_offset=start, end_offset=end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        task: Task = partition.value
        options = replace(
            self._options,
            first_offset=task.first_offset,
            end_offset=task.end_offset,
            fail_on_data_loss=self._options.fail_on_data_loss is not False,
        )
        yield from read_task(task, options, self._schema)


def _reached(
    partition: Partition, range_: tuple[int, int], share: int, *, in_bytes: bool
) -> tuple[int, int]:
    """The offset at which a share of a partition's news is read, and how much that is.

    At least one batch is read, so that a batch larger than the limit does not stop the stream.
    """
    start, end = range_
    used = 0
    for segment in partition.segments:
        if segment.end_offset is not None and segment.end_offset <= start:
            continue
        for block in blocks_of(segment, position_before(segment, start)):
            if not isinstance(block, Block):
                continue
            last = last_offsets(block.headers)
            field = "length" if in_bytes else "record_count"
            for offset, size in zip(last.tolist(), block.headers[field].tolist(), strict=True):
                if offset < start:
                    continue
                if offset >= end:
                    return end, used
                used += size
                if used >= share:
                    return offset + 1, used
    return end, used
