"""Streaming queries of a stock Spark get all committed records exactly once."""

from __future__ import annotations

import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.spark.audit.ledger_audit import Audit, audit
from ottla.spark.orders import Ledger, Moment, OrderFate, create_topics, write_orders
from ottla.spark.pipeline import Pipeline
from ottla.testing import RunningBroker, running_broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def new_pipeline(spark: SparkSession, bootstrap: str, directory: Path) -> tuple[Pipeline, str]:
    orders = f"orders-{secrets.token_hex(4)}"
    create_topics(bootstrap, {orders: 4, f"{orders}-totals": 1})
    pipeline = Pipeline(
        spark, bootstrap=bootstrap, orders=orders, totals=f"{orders}-totals", directory=directory
    )
    return pipeline, orders


def audited(ledger: Ledger, pipeline: Pipeline) -> Audit:
    return audit(
        ledger,
        read_committed=pipeline.table_ids(),
        read_uncommitted=pipeline.topic_ids("read_uncommitted"),
        totals=pipeline.totals(),
    )


def test_a_streaming_query_gets_committed_records_exactly_once(
    spark: SparkSession, ottla: RunningBroker, tmp_path: Path
) -> None:
    ledger = Ledger()
    pipeline, topic = new_pipeline(spark, ottla.bootstrap, tmp_path)
    pipeline.start()
    write_orders(ledger, bootstrap=ottla.bootstrap, topic=topic, transactions=20, orders_each=50)
    pipeline.finish()

    found = audited(ledger, pipeline)
    assert found.faults() == []
    assert found.seen_by_read_committed == ledger.count(OrderFate.COMMITTED) == 900
    assert found.seen_by_read_uncommitted == 1000
    assert sorted(pipeline.topic_ids("read_committed")) == sorted(ledger.ids(OrderFate.COMMITTED))


def test_a_query_survives_a_kill_of_the_broker(spark: SparkSession, tmp_path: Path) -> None:
    ledger = Ledger()
    with running_broker() as broker:

        def disturb(number: int, moment: Moment) -> None:
            if number == 5 and moment is Moment.HALF_WRITTEN:
                broker.kill()
                broker.start()

        pipeline, topic = new_pipeline(spark, broker.bootstrap, tmp_path)
        pipeline.start()
        writer = threading.Thread(
            target=write_orders,
            args=(ledger,),
            kwargs={
                "bootstrap": broker.bootstrap,
                "topic": topic,
                "transactions": 12,
                "pause_s": 0.1,
                "disturb": disturb,
            },
        )
        writer.start()
        writer.join()
        pipeline.finish()
        found = audited(ledger, pipeline)
    assert found.faults() == []
    assert found.produced == 1200
