"""Spark's own connector reads and writes by TLS and logins, with the options of ottla.testing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.testing import Ottla

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    ("security", "mechanism"),
    [
        ("SSL", "PLAIN"),
        ("SASL_SSL", "PLAIN"),
        ("SASL_SSL", "SCRAM-SHA-512"),
        ("SASL_SSL", "OAUTHBEARER"),
    ],
)
def test_queries_read_and_write(
    spark: SparkSession, tmp_path: Path, security: str, mechanism: str
) -> None:
    """A batch is written, copied by a streaming query with a transaction before it, and read."""
    users = {"alice": "secret"}
    with Ottla(security=security, mechanism=mechanism, users=users) as broker:
        options = broker.client_settings("spark")
        for topic in ("orders", "copies"):
            broker.create_topic(topic, partitions=2)
        rows = spark.range(40).selectExpr("CAST(id AS STRING) AS value")
        rows.write.format("kafka").options(**options).option("topic", "orders").save()
        broker.produce("orders", ["aborted"], transactional_id="t", commit=False)
        read = spark.readStream.format("kafka").options(**options).option("subscribe", "orders")
        read = read.option("startingOffsets", "earliest")
        read = read.option("kafka.isolation.level", "read_committed")
        write = read.load().select("value").writeStream.format("kafka").options(**options)
        write = write.option("topic", "copies").option("checkpointLocation", str(tmp_path))
        write.trigger(availableNow=True).start().awaitTermination()
        copied = spark.read.format("kafka").options(**options).option("subscribe", "copies").load()
        found = [int(row.value) for row in copied.select("value").collect()]
        assert sorted(found) == list(range(40))


def test_a_wrong_password_fails_the_query(spark: SparkSession) -> None:
    with Ottla(security="SASL_SSL", users={"alice": "secret"}) as broker:
        broker.create_topic("orders")
        options = {
            name: value.replace('password="secret"', 'password="wrong"')
            for name, value in broker.client_settings("spark").items()
        }
        read = spark.read.format("kafka").options(**options).option("subscribe", "orders")
        with pytest.raises(Exception, match="Authentication failed: Invalid username or password"):
            read.load().collect()
