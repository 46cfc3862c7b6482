"""The data source `kafka-log` for Spark: options, schema, planning, and the reader of a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from .listing import partitions_in
from .options import Options, parse
from .planning import Task, tasks_of
from .pushdown import PushFilters, narrowed
from .reading import read_task
from .schemas import COLUMNS, Level, struct_type

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType


class KafkaLog(DataSource):
    """`spark.read.format("kafka-log")`; docs/SPARK_LOG.md."""

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
        self._options = options
        self._schema = schema
        if hasattr(DataSourceReader, "pushFilters"):
            filters = PushFilters(DataSourceReader.pushFilters, self._push)
            self.pushFilters = filters  # type: ignore[method-assign]  # see PushFilters

    def _push(self, filters: Sequence[Filter]) -> None:
        self._options = narrowed(self._options, filters)

    def partitions(self) -> Sequence[InputPartition]:
        """One input for each task."""
        return [
            LogInput(task)
            for partition in partitions_in(self._options.path)
            if self._options.wants(partition.topic, partition.partition)
            for task in tasks_of(partition, self._options)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        if partition.value is None:  # Spark makes one empty task if there are none
            return
        task: Task = partition.value
        options = replace(self._options, first_offset=task.first_offset, end_offset=task.end_offset)
        yield from read_task(task, options, self._schema)
