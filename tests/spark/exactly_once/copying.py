"""A query that copies a topic through the sink; it begins again after each failure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import StreamingQueryException

from ottla.spark.exactly_once.cluster import ClusterTransactions, sink_client
from ottla.spark.exactly_once.names import is_task_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


STAYS_OPEN = "transactions stay open after stop()"
_PREFIX = "spark-sink"
_POLL_S = 0.02


class StoppedQuery(Exception):
    """The query was stopped in order; the text begins with STAYS_OPEN if it left transactions."""


@dataclass(frozen=True)
class Copy:
    """A query from one topic to another.

    Attributes:
        directory: for the checkpoint and the steps.
        tasks: into which the rows of a batch are spread; 0: as the source does.
        rows_per_batch: the most rows of a micro-batch.
        timeout_ms: transaction.timeout.ms.
        is_batch: a batch write (`df.write`) of all rows at once.
        write_id: its name; "": that of the target.
    """

    bootstrap: str
    source: str
    target: str
    directory: str
    tasks: int = 0
    rows_per_batch: int = 200
    timeout_ms: int = 60_000
    is_batch: bool = False
    write_id: str = ""

    @property
    def steps(self) -> Path:
        """The files that kill."""
        return Path(self.directory) / "steps"

    @property
    def stop_file(self) -> Path:
        """While a query runs, this file stops it, once."""
        return Path(self.directory) / "stop"

    @property
    def was_stopped(self) -> bool:
        """Whether the query has been stopped by that file."""
        return self.stop_file.with_name("stopped").exists()

    def start(self, spark: SparkSession, *, ends: bool = False) -> StreamingQuery:
        """Start the query.

        Args:
            ends: it stops at the end of the source.
        """
        self.steps.mkdir(exist_ok=True)
        rows = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("subscribe", self.source)
            .option("startingOffsets", "earliest")
            .option("kafka.isolation.level", "read_committed")
            .option("maxOffsetsPerTrigger", str(self.rows_per_batch))
            .load()
            .select("key", "value")
        )
        if self.tasks:
            rows = rows.repartition(self.tasks)
        return (
            rows.writeStream.format("kafka-exactly-once")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("topic", self.target)
            .option("kafka.transaction.timeout.ms", str(self.timeout_ms))
            .option("stepsDirectory", str(self.steps))
            .option("checkpointLocation", str(Path(self.directory) / "checkpoint"))
            .trigger(**({"availableNow": True} if ends else {"processingTime": "0 seconds"}))
            .start()
        )

    def run(self, spark: SparkSession) -> None:
        """Copy all that there is. Raises what Spark raises if a part of it failed.

        Raises:
            StoppedQuery: `stop_file` was there.
        """
        if self.is_batch:
            self._write(spark)
            return
        query = self.start(spark, ends=True)
        while not query.awaitTermination(_POLL_S):  # type: ignore[arg-type]  # a float, too
            if self.stop_file.exists():
                self.stop_file.rename(self.stop_file.with_name("stopped"))
                query.stop()
                raise StoppedQuery(self._after_stop(str(query.id)))

    def _after_stop(self, query_id: str) -> str:
        with sink_client(self.bootstrap) as client:
            found = ClusterTransactions(client).open_ids()
        left = [each for each in found if is_task_of(each, _PREFIX, query_id)]
        return f"{STAYS_OPEN}: {', '.join(left)}" if left else "stopped in order"

    def _write(self, spark: SparkSession) -> None:
        rows = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("subscribe", self.source)
            .option("kafka.isolation.level", "read_committed")
            .load()
            .select("key", "value")
        )
        (
            (rows.repartition(self.tasks) if self.tasks else rows)
            .write.format("kafka-exactly-once")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("topic", self.target)
            .option("kafka.transaction.timeout.ms", str(self.timeout_ms))
            .option("stepsDirectory", str(self.steps))
            .option("writeId", self.write_id or self.target)
            .mode("append")
            .save()
        )

    def run_to_the_end(self, spark: SparkSession, *, most_failures: int = 5) -> int:
        """Copy all that there is, through failures; return their number."""
        failures = 0
        while True:
            try:
                self.run(spark)
            except StreamingQueryException:
                failures += 1
                if failures > most_failures:
                    raise
            else:
                return failures

    def as_argument(self) -> str:
        """The query in JSON, for another process."""
        return json.dumps(asdict(self))
