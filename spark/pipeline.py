"""The two streaming queries of the demo, both under read_committed, and their results.

`totals`: orders and amount by region, into a second topic (at least once; the key makes a repeated
update harmless). `table`: every order, into Parquet files (exactly once, by the file sink's own
log). A failed query resumes from its checkpoint, as in production.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from .audit.ledger_audit import Total
from .orders import SCHEMA

TRIGGER = "1 second"
MAX_RESTARTS = 5


class Pipeline:
    """The queries from `orders` into `totals` and into a table; `directory` holds their state."""

    def __init__(
        self, spark: SparkSession, *, bootstrap: str, orders: str, totals: str, directory: Path
    ) -> None:
        self.restarts = 0
        self._read_before = {"totals": 0, "table": 0}  # rows of queries that failed
        self._spark = spark
        self._bootstrap = bootstrap
        self._orders = orders
        self._totals = totals
        self._table = str(directory / "table")
        self._checkpoints = directory / "checkpoints"
        self._queries: dict[str, StreamingQuery] = {}

    def start(self) -> None:
        """Run both queries, from their checkpoints if present."""
        for name in ("totals", "table"):
            self._start(name)

    def rows_read(self, name: str) -> int:
        """The number of rows in the batches that a query has finished."""
        return self._read_before[name] + self._rows_of(self._queries[name])

    def is_counting(self) -> bool:
        """Whether a query is in the middle of a batch with orders."""
        states = [query.status for query in list(self._queries.values())]
        return any(state["isTriggerActive"] and state["isDataAvailable"] for state in states)

    def keep_up(self) -> None:
        """Restart failed queries; raises StreamingQueryException if one fails repeatedly."""
        for name, query in self._queries.items():
            if not query.isActive:
                self._again(name)

    def finish(self) -> None:
        """Wait until both queries have processed all committed records; stop them."""
        for name in self._queries:
            while True:
                try:
                    self._queries[name].processAllAvailable()
                    break
                except StreamingQueryException:
                    self._again(name)
            self._queries[name].stop()

    def table_ids(self) -> Iterator[int]:
        """The ids in the table, with repetitions."""
        return _ids(self._spark.read.parquet(self._table))

    def topic_ids(self, isolation_level: str) -> Iterator[int]:
        """The ids in the topic under an isolation level, read from the start by a batch query."""
        return _ids(_orders_in(self._topic(self._orders, isolation_level)))

    def totals(self) -> dict[str, Total]:
        """The last total of each region in the topic of totals."""
        updates = self._topic(self._totals, "read_committed").select("key", "value", "offset")
        last: dict[str, tuple[int, Total]] = {}
        for row in updates.toLocalIterator():
            region, value = row.key.decode(), json.loads(row.value)
            total = Total(value["orders"], value["amount_cents"])
            last[region] = max(
                last.get(region, (-1, total)), (row.offset, total), key=lambda one: one[0]
            )
        return {region: total for region, (_, total) in last.items()}

    def _start(self, name: str) -> None:
        orders = _orders_in(
            self._spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self._bootstrap)
            .option("kafka.isolation.level", "read_committed")
            .option("subscribe", self._orders)
            .option("startingOffsets", "earliest")
            .load()
        )
        writer = self._into_topic(orders) if name == "totals" else self._into_table(orders)
        self._queries[name] = (
            writer.queryName(f"{self._orders}_{name}".replace("-", "_"))
            .option("checkpointLocation", str(self._checkpoints / name))
            .trigger(processingTime=TRIGGER)
            .start()
        )

    def _into_topic(self, orders: DataFrame) -> DataStreamWriter:
        totals = orders.groupBy("region").agg(
            f.count("*").alias("orders"), f.sum("amount_cents").alias("amount_cents")
        )
        value = f.to_json(f.struct("orders", "amount_cents")).alias("value")
        return (
            totals.select(f.col("region").alias("key"), value)
            .writeStream.outputMode("update")
            .format("kafka")
            .option("kafka.bootstrap.servers", self._bootstrap)
            .option("topic", self._totals)
        )

    def _into_table(self, orders: DataFrame) -> DataStreamWriter:
        return orders.writeStream.outputMode("append").format("parquet").option("path", self._table)

    def _again(self, name: str) -> None:
        if self.restarts == MAX_RESTARTS:
            failure = self._queries[name].exception()
            raise failure if failure is not None else AssertionError(f"{name} stopped by itself")
        self.restarts += 1
        self._read_before[name] += self._rows_of(self._queries[name])
        self._start(name)

    @staticmethod
    def _rows_of(query: StreamingQuery) -> int:
        return sum(int(progress.numInputRows) for progress in query.recentProgress)

    def _topic(self, topic: str, isolation_level: str) -> DataFrame:
        return (
            self._spark.read.format("kafka")
            .option("kafka.bootstrap.servers", self._bootstrap)
            .option("kafka.isolation.level", isolation_level)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .load()
        )


def _orders_in(records: DataFrame) -> DataFrame:
    order = f.from_json(f.col("value").cast("string"), SCHEMA)
    return records.select(order.alias("order")).select("order.*")


def _ids(orders: DataFrame) -> Iterator[int]:
    return (row.id for row in orders.select("id").toLocalIterator())
