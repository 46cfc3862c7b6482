"""Spark reads a log directory by `spark.read.format("kafka-log")`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.testing import RunningBroker

from .logs import batch, segment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_the_log_of_a_broker_has_records_with_fates(
    spark: SparkSession, ottla: RunningBroker, ottla_topic: str
) -> None:
    ottla.produce(ottla_topic, [("k", "v"), ("l", "w")], transactional_id="shop")
    ottla.produce(ottla_topic, [("m", "x")], transactional_id="shop", commit=False)
    ottla.produce(ottla_topic, [("n", "y")])
    log = spark.read.format("kafka-log").option("topic", ottla_topic).load(str(ottla.data_dir))
    found = log.where("not control").selectExpr("string(key)", "fate", "transactional")
    assert sorted(tuple(row) for row in found.collect()) == [
        ("k", "committed", True),
        ("l", "committed", True),
        ("m", "aborted", True),
        ("n", "committed", False),
    ]
    batches = spark.read.format("kafka-log").option("level", "batches").load(str(ottla.data_dir))
    ends = batches.where("control").where(batches.topic == ottla_topic).select("control_type")
    assert sorted(row.control_type for row in ends.collect()) == ["abort", "commit"]


def test_a_schema_of_a_few_columns_prunes_the_others(spark: SparkSession, tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, [batch(0, [(b"k", b"v")] * 3)])
    log = spark.read.format("kafka-log").schema("offset bigint, topic string").load(str(tmp_path))
    assert [tuple(row) for row in log.collect()] == [(0, "t"), (1, "t"), (2, "t")]
