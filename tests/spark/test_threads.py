"""The sink is found in the threads that register it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from pyspark import InheritableThread

from ottla.spark.exactly_once import data_source
from ottla.testing import Ottla

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def outcome(function: Callable[[], object], kind: type[Thread]) -> str:
    """The result of a function in a new thread, or the text of its exception."""
    found: list[str] = []

    def run() -> None:
        try:
            found.append(str(function()))
        except Exception as raised:
            found.append(str(raised))

    thread = kind(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_a_thread_that_registers_the_sink_writes_by_it_and_no_other(
    spark: SparkSession, ottla: Ottla, ottla_topic: str, tmp_path: Path
) -> None:
    rows = spark.createDataFrame([("a",)], ["value"]).coalesce(1)
    options = {"kafka.bootstrap.servers": ottla.bootstrap_servers, "topic": ottla_topic}

    def write() -> None:
        rows.write.format("kafka-exactly-once").options(**options).mode("append").save()

    def stream() -> None:
        rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
        query = rate.selectExpr("string(value) value").writeStream.format("kafka-exactly-once")
        query = query.options(**options).option("checkpointLocation", str(tmp_path))
        query.trigger(availableNow=True).start().awaitTermination()

    def registered(use: Callable[[], object]) -> object:
        data_source.register(spark)
        return use()

    for kind in (Thread, InheritableThread):
        for use in (write, stream):
            assert "DATA_SOURCE_NOT_FOUND" in outcome(use, kind)
        assert outcome(lambda: registered(write), kind) == "None"
    assert outcome(lambda: registered(stream), Thread) == "None"
