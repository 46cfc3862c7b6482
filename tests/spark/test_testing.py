"""The helpers for tests of Spark pipelines."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.spark.testing import assert_exactly_once, produce, run_until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ottla.testing import Ottla

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def test_lost_doubled_and_foreign_rows_are_named() -> None:
    assert_exactly_once([3, 1, 1], [1, 3, 1])
    assert_exactly_once([{"id": 1, "n": 2}], [{"id": 1, "n": 3}], key="id")
    assert_exactly_once([("a broom",)], ["a broom"])  # a row of one column is its value
    headers = [("h", b"x")]  # of collected rows: lists, and bytearrays
    assert_exactly_once([("a", tuple(headers))], [("a", [("h", bytearray(b"x"))])])
    assert_exactly_once([{"id": headers, "n": {"a": 1}}], [{"id": headers}], key="id")
    with pytest.raises(TypeError, match=r"give key=\.\.\., one or more of \['id', 'n'\]"):
        assert_exactly_once([{"id": 1, "n": 2}], [{"id": 1, "n": 3}])
    with pytest.raises(AssertionError) as failed:
        assert_exactly_once(range(10), [*range(2), 2, 2, 99])
    assert str(failed.value).splitlines() == [
        "10 rows in, 5 rows out",
        "lost: 7: 3 (0 of 1), 4 (0 of 1), 5 (0 of 1), 6 (0 of 1), 7 (0 of 1), and 2 more",
        "doubled: 1: 2 (2 times)",
        "not in the input: 1: 99",
    ]


def test_a_query_runs_until_it_has_read_all_produced_records(
    spark: SparkSession, ottla: Ottla, tmp_path: Path
) -> None:
    topic = f"run-until-{secrets.token_hex(4)}"
    ottla.create_topic(topic, partitions=2)
    other = spark.newSession()
    query = (
        other.readStream.format("kafka")
        .option("kafka.bootstrap.servers", ottla.bootstrap_servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
        .writeStream.format("memory")
        .queryName(f"read_{secrets.token_hex(4)}")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    try:
        values = [f"{number}" for number in range(20)]
        ends = produce(ottla, topic, [(each, each) for each in values])
        with ThreadPoolExecutor(1) as another:  # which has no active session
            another.submit(run_until, query, ends).result(60)
        found = other.table(str(query.name)).select("value")
        assert_exactly_once([each.encode() for each in values], found)
        with pytest.raises(AssertionError, match="is not at"):
            run_until(query, {topic: {0: 1000}}, timeout_s=0.1)
    finally:
        query.stop()
    with pytest.raises(AssertionError, match="stopped before"):
        run_until(query, {topic: {0: 1000}})


def test_a_query_that_reads_a_topic_twice_runs_until_both_sources_are_there(
    spark: SparkSession, ottla: Ottla, tmp_path: Path
) -> None:
    topic = f"run-until-{secrets.token_hex(4)}"
    ottla.create_topic(topic)
    values = [f"{number}" for number in range(8)]
    ends = produce(ottla, topic, values)

    def read(limit: int) -> DataFrame:
        source = spark.readStream.format("kafka").options(**ottla.client_settings("spark"))
        source = source.option("subscribe", topic).option("startingOffsets", "earliest")
        return source.option("maxOffsetsPerTrigger", limit).load().select("value")

    writer = read(2).union(read(100)).writeStream.format("memory")
    name = f"twice_{secrets.token_hex(4)}"
    query = writer.queryName(name).option("checkpointLocation", str(tmp_path)).start()
    try:
        run_until(query, ends)
        assert_exactly_once([each.encode() for each in values * 2], spark.table(name))
    finally:
        query.stop()
