"""A query that copies a topic through the sink; it begins again after each failure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import StreamingQueryException

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True)
class Copy:
    """A query from one topic to another.

    Attributes:
        directory: for the checkpoint and the steps.
        tasks: into which the rows of a batch are spread; 0: as the source does.
        rows_per_batch: the most rows of a micro-batch.
        timeout_ms: transaction.timeout.ms.
        is_batch: a batch write (`df.write`) of all rows at once.
    """

    bootstrap: str
    source: str
    target: str
    directory: str
    tasks: int = 0
    rows_per_batch: int = 200
    timeout_ms: int = 60_000
    is_batch: bool = False

    @property
    def steps(self) -> Path:
        """The files that kill."""
        return Path(self.directory) / "steps"

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
        """Copy all that there is. Raises what Spark raises if a part of it failed."""
        if self.is_batch:
            self._write(spark)
        else:
            self.start(spark, ends=True).awaitTermination()

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
            .option("writeId", self.target)
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
