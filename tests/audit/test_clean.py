"""The audit reports nothing on logs of real clients that went through crashes of their broker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ottla.audit.rules import Severity
from ottla.audit.whole import Outcome, audit
from ottla.spark.audit.rows import logs_of
from ottla.spark.audit.wire import logs_of_cluster
from ottla.spark.orders import Ledger, Moment, create_topics, write_orders
from ottla.testing import RunningBroker, running_broker
from tests.kafka import node
from tests.kafka.place import KAFKA, Place

pytestmark = pytest.mark.clients


def written(bootstrap: str, restart: Callable[[], None], transactions: int) -> int:
    """Write transactions of which some are aborted, while the broker is killed; the kills."""
    ledger = Ledger()
    killers = []

    def disturb(number: int, now: Moment) -> None:
        half = number % 6 == 2 and now is Moment.HALF_WRITTEN
        if half or (number % 6 == 5 and now is Moment.COMMITTING):
            killer = threading.Thread(target=restart)
            killers.append(killer)
            killer.start()
            if half:
                killer.join()

    create_topics(bootstrap, {"orders": 3})
    write_orders(
        ledger,
        bootstrap=bootstrap,
        topic="orders",
        transactions=transactions,
        orders_each=30,
        disturb=disturb,
    )
    for killer in killers:
        killer.join()
    return len(killers)


def check(outcome: Outcome, transactions: int) -> None:
    found = [each for each in outcome.findings if each.severity is not Severity.NOTICE]
    assert found == []
    ended = [each for each in outcome.transactions if each.first_offset >= 0 and each.result]
    assert len({each.marker_timestamp for each in ended}) >= transactions // 2
    assert {each.result for each in ended} == {"commit", "abort"}
    assert any(each.topic == "__transaction_state" for each in outcome.partitions)


def over_the_wire(broker: RunningBroker) -> Outcome:
    """The same rules on rows that were fetched."""
    return audit(replace(logs_of_cluster(broker.bootstrap), live_from_ms=-1))


def test_logs_of_ottla_are_clean_through_crashes(tmp_path: Path) -> None:
    with running_broker(data_dir=tmp_path / "data") as broker:

        def restart() -> None:
            broker.kill()
            broker.start()

        assert written(broker.bootstrap, restart, 12) == 4
        check(over_the_wire(broker), 12)
        broker.kill()
        check(audit(logs_of(str(broker.data_dir))), 12)


@pytest.mark.kafka
@pytest.mark.timeout(300)
def test_logs_of_kafka_are_clean_through_crashes(
    pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("starts an Apache Kafka: -m kafka")
    place = Place(tmp_path)

    def start() -> None:
        node.start(place.port, place.directory, KAFKA, heap_mb=512)

    def restart() -> None:
        node.stop(place.directory, kill=True)
        start()

    try:
        start()
        assert written(f"127.0.0.1:{place.port}", restart, 24) == 8
    finally:
        node.stop(place.directory, kill=True)
    check(audit(logs_of(str(place.data))), 24)
