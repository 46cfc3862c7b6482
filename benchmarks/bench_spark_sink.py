"""Measures small batches of the exactly-once sink beside those of Spark's own sink.

What a batch costs apart from its rows: a batch write of 64 tasks with one row each, and
micro-batches of one row. The session is warm; both sinks write to the same broker of Ottla. A third
sink in Python writes nothing: what Spark itself takes for a sink of that kind. Run it by
`python -m benchmarks.bench_spark_sink`.
"""

from __future__ import annotations

import argparse
import secrets
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamWriter,
    DataSourceWriter,
    WriterCommitMessage,
)

from ottla.spark.session import session
from ottla.spark.testing import produce
from ottla.testing import Ottla

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.types import StructType

FORMATS: Final = ("kafka-exactly-once", "nothing-in-python", "kafka")
_TASKS: Final = 64
_WARM: Final = 2  # batches that are not counted


def passed_over(rows: Iterator[Row]) -> WriterCommitMessage:
    """Take the rows and write none."""
    for _ in rows:
        pass
    return WriterCommitMessage()


class NoBatch(DataSourceWriter):
    """A write of a batch that writes nothing."""

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        return passed_over(iterator)


class NoStream(DataSourceStreamWriter):
    """A stream that writes nothing."""

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        return passed_over(iterator)


class NothingInPython(DataSource):
    """The least that a sink in Python does."""

    @classmethod
    def name(cls) -> str:
        return "nothing-in-python"

    def writer(self, schema: StructType, overwrite: bool) -> NoBatch:
        return NoBatch()

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoStream:
        return NoStream()


def main() -> None:
    """Print the medians and the extremes of both sinks, in turns."""
    parser = argparse.ArgumentParser(prog="bench_spark_sink", description=__doc__)
    parser.add_argument("--writes", type=int, default=5, help="of 64 tasks (5)")
    parser.add_argument("--batches", type=int, default=15, help="of one row (15)")
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="ottla-bench-"))
    spark = session("bench-sink", log_path=directory / "spark.log")
    spark.dataSource.register(NothingInPython)
    with Ottla() as broker:
        broker.create_topic("out", partitions=2)
        rows = spark.range(_TASKS).selectExpr("string(id) value").repartition(_TASKS)
        for name in FORMATS:
            seconds = [written(rows, name, broker) for _ in range(given.writes + _WARM)]
            tell(f"a write of {_TASKS} tasks", name, seconds)
        broker.create_topic("in")
        produce(broker.bootstrap_servers, "in", [f"{row}" for row in range(given.batches + _WARM)])
        for name in FORMATS * 2:
            tell("a micro-batch", name, streamed(spark, name, broker, directory))


def written(rows: DataFrame, name: str, broker: Ottla) -> float:
    """The time of a batch write, in seconds."""
    began = time.perf_counter()
    write = rows.write.format(name).option("kafka.bootstrap.servers", broker.bootstrap_servers)
    write.option("topic", "out").mode("append").save()
    return time.perf_counter() - began


def streamed(spark: SparkSession, name: str, broker: Ottla, directory: Path) -> list[float]:
    """The times of micro-batches of one row, in seconds, as Spark reports them."""
    servers = {"kafka.bootstrap.servers": broker.bootstrap_servers}
    read = spark.readStream.format("kafka").options(**servers).option("subscribe", "in")
    read = read.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "1")
    write = read.load().select("value").writeStream.format(name).options(**servers)
    checkpoint = directory / secrets.token_hex(4)
    write = write.option("topic", "out").option("checkpointLocation", str(checkpoint))
    query = write.trigger(availableNow=True).start()
    query.awaitTermination()
    found = [each for each in query.recentProgress if each["numInputRows"]]
    return [each["durationMs"]["triggerExecution"] / 1000 for each in found]


def tell(what: str, name: str, seconds: list[float]) -> None:
    """Print a line."""
    counted = seconds[_WARM:]
    sys.stdout.write(
        f"{what:<20} {name:<20} median {statistics.median(counted):6.3f} s,"
        f" {min(counted):.3f} to {max(counted):.3f} s ({len(counted)} times)\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
