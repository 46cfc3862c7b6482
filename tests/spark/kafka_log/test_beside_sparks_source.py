"""Streams of `kafka-log` and of Spark's Kafka source do the same when a topic changes."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException

from ottla.client import Client
from ottla.client.admin.topics import delete_topic
from ottla.spark.kafka_log import lag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from ottla.testing import Ottla

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def _query(
    spark: SparkSession, source: str, broker: Ottla, topic: str, home: Path
) -> StreamingQuery:
    reader = spark.readStream.format(source)
    if source == "kafka":
        reader = reader.option("kafka.bootstrap.servers", broker.bootstrap_servers)
        reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
        rows = reader.load()
    else:
        rows = reader.option("topic", topic).load(str(broker.data_dir))
    writer = rows.select("offset").writeStream.format("memory")
    name = f"rows_{secrets.token_hex(4)}"
    return writer.queryName(name).option("checkpointLocation", str(home / source)).start()


def test_both_sources_fail_if_their_topic_is_made_again_with_fewer_records(
    spark: SparkSession, ottla: Ottla, ottla_topic: str, tmp_path: Path
) -> None:
    ottla.produce(ottla_topic, ["a", "b", "c"])
    sources = ("kafka", "kafka-log")
    queries = [_query(spark, each, ottla, ottla_topic, tmp_path) for each in sources]
    try:
        for each in queries:
            each.processAllAvailable()
            assert spark.table(str(each.name)).count() == 3
            assert lag(each.lastProgress)["maxOffsetsBehindLatest"] == 0
        with Client.to(ottla.bootstrap_servers) as client:
            delete_topic(client, ottla_topic)
        ottla.create_topic(ottla_topic)
        ottla.produce(ottla_topic, ["x", "y"])
        for each, said in zip(
            queries, (r"from 3 to \d", "is gone|deleted and made again"), strict=True
        ):
            with pytest.raises(StreamingQueryException, match=said):
                each.processAllAvailable()
    finally:
        for each in queries:
            each.stop()
