"""`spark.readStream.format("kafka-log")`: follows a directory that grows.

An offset of the stream has the next offset of each partition (`positions`). A batch of the stream
ends where a batch of the log does. What is deleted before it was read is an error, on either side
of a range, and also if it is a whole topic. Under read_committed it ends before the first open
transaction, as a consumer does. From PySpark 4.2 on the stream has admission control, and a trigger
AvailableNow reads to the end that the log had at its start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from .blocks import Block
from .columns import last_offsets
from .ends import Ends, name_of
from .fates import blocks_of, open_at
from .listing import Partition, partitions_in, topic_id_in, topic_id_of
from .options import Options
from .planning import choose_partitions, position_before, tasks_of, wanted_of
from .positions import EARLIEST, LATEST, Extent, Positions, chosen_offsets, continued, is_another
from .reading import lost, read_task

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from .planning import Task

try:
    from pyspark.sql.streaming import datasource as limits

    _AvailableNow: Any = limits.SupportsTriggerAvailableNow  # Any: PySpark 4.2 has it
except ImportError:  # an older PySpark: a stream reads all that is there
    limits = None  # type: ignore[assignment]  # tested before each use
    _AvailableNow = object

Json = dict[str, Any]
"""`Positions.as_json`. Any: numbers, and the ids of topics."""


class StreamInput(InputPartition):
    """A task of a batch of the stream.

    Attributes:
        topic_id: of the topic whose records are wanted; empty if it is not known.
    """

    def __init__(self, task: Task, topic_id: str) -> None:
        super().__init__(task)
        self.topic_id = topic_id


class _Log(NamedTuple):
    """A partition in the directory."""

    partition: Partition
    topic_id: str


class LogStreamReader(DataSourceStreamReader, _AvailableNow):  # type: ignore[misc]  # a class of 4.2
    """Plans the batches of a stream, and reads their tasks on executors."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._ends = Ends()
        self._target: Positions | None = None
        self._is_strict = options.fail_on_data_loss is not False

    def _logs(self) -> dict[str, _Log]:
        """The partitions of the stream, by name."""
        found: dict[str, _Log] = {}
        topic_ids: dict[str, str] = {}
        for each in wanted_of(partitions_in(self._options.path), self._options):
            if not topic_ids.get(each.topic):
                topic_ids[each.topic] = topic_id_of(each)
            found[name_of(each)] = _Log(each, topic_ids[each.topic])
        return found

    def _extent(self, name: str, log: _Log) -> Extent:
        segments = log.partition.segments
        begins = segments[0].base_offset if segments else 0
        return Extent(begins, self._ends.end_of(name, log.partition, log.topic_id), log.topic_id)

    def _available(self, logs: Mapping[str, _Log]) -> Positions:
        """The end of each partition, before its first open transaction under read_committed."""
        found = {}
        for name, log in logs.items():
            end = self._ends.end_of(name, log.partition, log.topic_id)
            if self._options.read_committed:
                end = min([end, *open_at(log.partition).values()])
            found[name] = min(end, self._options.end_offset)
        return Positions(found, _topic_ids(logs))

    def initialOffset(self) -> Json:  # PySpark's name
        """Where a new query begins."""
        choose_partitions(self._options)  # a topic that is named is there
        logs = self._logs()
        if self._options.from_latest:
            return self._available(logs).as_json()
        given = self._options.starting_offsets
        at = {
            name: max(log.partition.segments[0].base_offset, self._options.first_offset)
            for name, log in logs.items()
            if log.partition.segments
        }
        if given is not None:
            ends = self._available(logs).at if LATEST in given.values() else {}
            for name, offset in chosen_offsets("startingOffsets", given, set(logs)).items():
                at[name] = {EARLIEST: at.get(name, 0), LATEST: ends.get(name, 0)}.get(
                    offset, offset
                )
        return Positions(at, _topic_ids(logs)).as_json()

    # Any: the limits of PySpark 4.2, which older ones do not have
    def latestOffset(self, start: Json | None = None, limit: Any = None) -> Json:
        """Where the next batch ends; without arguments (PySpark before 4.2) all that is there.

        Raises:
            DataLoss: records behind `start` are gone, and the options make that an error.
        """
        logs = self._logs()
        target = self._available(logs) if self._target is None else self._target
        if start is None:
            return target.as_json()
        begun = self._continued(Positions.of(start), logs)
        ends = dict(begun)
        for name, end in target.at.items():
            if name in logs:
                ends[name] = max(end, begun.get(name, 0))
        is_rows = limits is not None and isinstance(limit, limits.ReadMaxRows)
        is_bytes = limits is not None and isinstance(limit, limits.ReadMaxBytes)
        if is_rows or is_bytes:
            amount = limit.max_rows if is_rows else limit.max_bytes
            ends = self._limited(logs, (begun, ends), amount, in_bytes=is_bytes)
        return Positions(ends, _topic_ids(logs)).as_json()

    def _continued(self, start: Positions, logs: Mapping[str, _Log]) -> dict[str, int]:
        """Where the stream goes on in each partition that it has read; without those that are gone.

        Raises:
            DataLoss: as `latestOffset`; what is not an error is logged when the batch is planned.
        """
        begun: dict[str, int] = {}
        losses = []
        for name in start.at:
            if name in logs:
                extent = self._extent(name, logs[name])
                begun[name], why = continued(name, start, extent, self._options.first_offset)
            else:
                why = self._gone(name)
            losses += [why] if why else []
        if self._is_strict:
            lost(losses, is_error=True)
        return begun

    def _gone(self, name: str) -> str:
        """The loss of a partition that is not there; empty if the options do not want it."""
        topic, _, partition = name.rpartition("-")
        return f"{name} is gone" if self._options.wants(topic, int(partition)) else ""

    def _limited(
        self,
        logs: Mapping[str, _Log],
        bounds: tuple[Mapping[str, int], Mapping[str, int]],
        amount: int,
        *,
        in_bytes: bool,
    ) -> dict[str, int]:
        """Ends at which about `amount` is read: each partition with news gets an equal share."""
        begun, ends = bounds
        found = dict(begun)
        starts = {name: begun.get(name, self._begins(log)) for name, log in logs.items()}
        news = [name for name in sorted(ends) if name in logs and ends[name] > starts[name]]
        for index, name in enumerate(news):
            share = -(-amount // (len(news) - index))
            found[name], used = _reached(
                logs[name].partition, (starts[name], ends[name]), share, in_bytes=in_bytes
            )
            amount = max(amount - used, 1)
        return found

    def _begins(self, log: _Log) -> int:
        segments = log.partition.segments
        return max(segments[0].base_offset if segments else 0, self._options.first_offset)

    def getDefaultReadLimit(self) -> Any:  # Any: as in latestOffset
        """The limit of the options."""
        if self._options.max_bytes_per_trigger is not None:
            return limits.ReadMaxBytes(self._options.max_bytes_per_trigger)
        if self._options.max_offsets_per_trigger is not None:
            return limits.ReadMaxRows(self._options.max_offsets_per_trigger)
        return limits.ReadAllAvailable()

    def reportLatestOffset(self) -> Json:
        """The end of the log, for the progress of the query."""
        return self._available(self._logs()).as_json()

    def prepareForTriggerAvailableNow(self) -> None:
        """Take the end that the log has now as the end of the query."""
        self._target = self._available(self._logs())

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        """The tasks of a batch.

        Raises:
            DataLoss: records of the batch are gone, and the options make that an error.
        """
        first, last, logs = Positions.of(start), Positions.of(end), self._logs()
        inputs: list[InputPartition] = []
        losses: list[str] = []
        for name in sorted({*first.at, *last.at}):
            is_moved = first.at.get(name) != last.at.get(name)
            if not is_moved and not is_another(first.id_of(name), last.id_of(name)):
                continue
            log = logs.get(name)
            if log is None or name not in last.at:
                losses.append(self._gone(name))
            elif is_another(last.id_of(name), log.topic_id):
                losses.append(f"{name}: the topic was deleted and made again since the batch began")
            else:
                extent = self._extent(name, log)
                at, why = continued(name, first, extent, self._options.first_offset)
                until = last.at[name]
                losses.append(why)
                if at < until and extent.ends < until:
                    losses.append(f"{name}: offsets {extent.ends} to {until} of a batch are gone")
                options = replace(self._options, first_offset=at, end_offset=until)
                if at < until:
                    tasks = tasks_of(log.partition, options)
                    inputs += [StreamInput(task, log.topic_id) for task in tasks]
        lost([why for why in losses if why], is_error=self._is_strict)
        return inputs

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task.

        Raises:
            DataLoss: the file was deleted, and the options make that an error.
        """
        assert isinstance(partition, StreamInput)
        task: Task = partition.value
        options = replace(
            self._options,
            first_offset=task.first_offset,
            end_offset=task.end_offset,
            fail_on_data_loss=self._is_strict,
        )
        batches = read_task(task, options, self._schema)
        first = next(batches, None)  # the file is open, and stays so if the topic is deleted
        segment = task.segment
        if is_another(partition.topic_id, topic_id_in(segment.store, segment.directory)):
            why = f"{segment.path} was deleted before it was read, and its topic made again"
            lost([why], is_error=self._is_strict)
            return
        if first is not None:
            yield first
            yield from batches


def _topic_ids(logs: Mapping[str, _Log]) -> dict[str, str]:
    return {log.partition.topic: log.topic_id for log in logs.values() if log.topic_id}


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
