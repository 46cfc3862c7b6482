"""Runs streaming queries of Spark, each from a topic of 1,000 records to another: HOST:PORT DIR N.

Each reads its topic with a checkpoint of its own, counts or copies in micro-batches until it has
all, and writes to a topic that is read back.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.spark.session import session

RECORDS = 1_000
PARTITIONS = 3
TIMEOUT_S = 60.0


def main(bootstrap: str, scratch: str, queries: int) -> None:
    """Run all queries one after another. Raises AssertionError for a record that is not there."""
    spark = session("suite", settings={"spark.sql.shuffle.partitions": "3"})
    try:
        for number in range(queries):
            source, sink = f"source-{number}", f"sink-{number}"
            create(bootstrap, source, sink)
            fill(bootstrap, source)
            rows = (
                spark.readStream.format("kafka")
                .option("kafka.bootstrap.servers", bootstrap)
                .option("subscribe", source)
                .option("startingOffsets", "earliest")
                .option("maxOffsetsPerTrigger", str(RECORDS // 2))
                .load()
            )
            query = (
                rows.selectExpr("CAST(key AS STRING) AS key", "value")
                .writeStream.format("kafka")
                .option("kafka.bootstrap.servers", bootstrap)
                .option("topic", sink)
                .option("checkpointLocation", f"{scratch}/checkpoint-{number}")
                .trigger(availableNow=True)
                .start()
            )
            assert query.awaitTermination(int(TIMEOUT_S)), "the query goes on"
            assert count(bootstrap, sink) == RECORDS
    finally:
        spark.stop()


def create(bootstrap: str, *topics: str) -> None:
    """Create topics."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = admin.create_topics([NewTopic(topic, PARTITIONS) for topic in topics])
    for each in made.values():
        each.result(TIMEOUT_S)


def fill(bootstrap: str, topic: str) -> None:
    """Write the records of a query."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    for number in range(RECORDS):
        producer.produce(topic, f"value {number}".encode(), f"key {number}".encode())
    assert producer.flush(TIMEOUT_S) == 0


def count(bootstrap: str, topic: str) -> int:
    """Read a topic; the number of its records."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "counts", "auto.offset.reset": "earliest"}
    )
    try:
        partitions = [TopicPartition(topic, number, 0) for number in range(PARTITIONS)]
        consumer.assign(partitions)
        found, deadline_s = 0, time.monotonic() + TIMEOUT_S
        while found < RECORDS and time.monotonic() < deadline_s:
            found += sum(not each.error() for each in consumer.consume(RECORDS, 1.0))
        return found
    finally:
        consumer.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
