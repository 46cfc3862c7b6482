"""The data source `kafka-log` for Spark: options, schema, planning, and the reader of a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)

from . import FORMAT
from .ends import Ends, name_of
from .listing import Partition
from .options import Options, parse
from .planning import Task, choose_partitions, tasks_of
from .positions import EARLIEST, LATEST, chosen_offsets
from .pushdown import PushFilters, narrowed
from .reading import lost, read_task
from .schemas import COLUMNS, Level, struct_type

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType


class KafkaLog(DataSource):
    """`spark.read.format("kafka-log")`; docs/reference/spark-log.md."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        options = parse(self.options)
        return struct_type(options.level, options.columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        return LogReader(parse(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from .stream import LogStreamReader

        options = parse(self.options)
        checked(options, schema)
        if options.level in (Level.DAMAGE, Level.TRANSACTIONS):
            raise ValueError(f"level {options.level} is read in batches, not as a stream")
        if "endingOffsets" in self.options:  # names of Spark's options have no case
            raise ValueError("endingOffsets is for batch reads: a stream has no end")
        return LogStreamReader(options, schema)


class LogInput(InputPartition):
    """A task of Spark."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)


def checked(options: Options, schema: StructType) -> None:
    """Raise ValueError if a schema of the user's has a column that the level lacks."""
    for name in schema.fieldNames():
        if name not in COLUMNS[options.level]:
            raise ValueError(f"level {options.level} has no column {name!r}")


class LogReader(DataSourceReader):
    """Plans a batch read, and reads its tasks on executors."""

    def __init__(self, options: Options, schema: StructType) -> None:
        checked(options, schema)
        if options.from_latest:
            raise ValueError("startingOffsets is latest: a batch read would have no rows")
        self._given = options
        self._options = options  # narrowed by filters of the query
        self._schema = schema
        if hasattr(DataSourceReader, "pushFilters"):
            filters = PushFilters(DataSourceReader.pushFilters, self._push)
            self.pushFilters = filters  # type: ignore[method-assign]  # see PushFilters

    def _push(self, filters: Sequence[Filter]) -> None:
        self._options = narrowed(self._options, filters)

    def partitions(self) -> Sequence[InputPartition]:
        """One input for each task."""
        chosen = choose_partitions(self._given)
        names = {name_of(each) for each in chosen}
        first, end = (
            {} if offsets is None else chosen_offsets(option, offsets, names)
            for option, offsets in (
                ("startingOffsets", self._given.starting_offsets),
                ("endingOffsets", self._given.ending_offsets),
            )
        )
        return [
            LogInput(task)
            for partition in chosen
            if self._options.wants(partition.topic, partition.partition)
            for task in tasks_of(partition, self._ranged(partition, first, end))
        ]

    def _ranged(
        self, partition: Partition, first: Mapping[str, int], end: Mapping[str, int]
    ) -> Options:
        """The options with the offsets that are given for a partition."""
        options, name = self._options, name_of(partition)
        if name not in first and name not in end:
            return options
        begins = partition.segments[0].base_offset if partition.segments else 0
        ends = Ends().end_of(name, partition)
        start, stop = first.get(name, EARLIEST), end.get(name, LATEST)
        named = {EARLIEST: begins, LATEST: ends}
        start, stop = named.get(start, start), named.get(stop, stop)
        if start < begins or max(start, stop) > ends:
            lost(
                [f"{name} has offsets {begins} to {ends}, and {start} to {stop} were asked for"],
                is_error=bool(options.fail_on_data_loss),
            )
        return replace(
            options,
            first_offset=max(options.first_offset, start),
            end_offset=min(options.end_offset, stop),
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        if partition.value is None:  # Spark makes one empty task if there are none
            return
        task: Task = partition.value
        options = replace(self._options, first_offset=task.first_offset, end_offset=task.end_offset)
        yield from read_task(task, options, self._schema)
