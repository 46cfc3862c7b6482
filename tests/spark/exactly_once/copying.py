"""A query that copies a topic through the sink; it begins again after each failure.

As a program (`python -m tests.spark.exactly_once.copying JSON`) it prints "ready PID", with the
process id of its JVM, and runs until it is killed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import StreamingQueryException

from ottla.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True)
class Copy:
    """A query from one topic to another.

    Attributes:
        directory: for the checkpoint and the steps.
        tasks: into which the rows of a batch are spread; 0: as the source does.
    """

    bootstrap: str
    source: str
    target: str
    directory: str
    tasks: int = 0
    timeout_ms: int = 60_000

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
            .option("maxOffsetsPerTrigger", "200")
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

    def run_to_the_end(self, spark: SparkSession, *, most_failures: int = 5) -> int:
        """Copy all that there is, through failures; return their number."""
        failures = 0
        while True:
            try:
                self.start(spark, ends=True).awaitTermination()
            except StreamingQueryException:
                failures += 1
                if failures > most_failures:
                    raise
            else:
                return failures

    def as_argument(self) -> str:
        return json.dumps(asdict(self))


def main(argument: str) -> None:
    """Run the query for ever."""
    copy = Copy(**json.loads(argument))
    # A failed task is repeated as attempt 1, twice at most.
    log = Path(copy.directory) / "spark.log"
    spark = session("copy", master="local[2,3]", log_path=log)
    jvm = spark._jvm
    assert jvm is not None
    sys.stdout.write(f"ready {jvm.java.lang.ProcessHandle.current().pid()}\n")
    sys.stdout.flush()
    while True:
        try:
            copy.start(spark).awaitTermination()
        except StreamingQueryException as failed:
            sys.stderr.write(f"the query failed: {str(failed)[-1500:]}\n")


if __name__ == "__main__":
    main(sys.argv[1])
