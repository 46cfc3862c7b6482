"""The writer of orders and its ledger, with a broker that is killed at critical moments."""

from __future__ import annotations

import json
import secrets
import threading

import pytest

from ottla.spark.audit.ledger_audit import audit, totals_of
from ottla.spark.orders import Ledger, Moment, OrderFate, create_topics, write_orders
from ottla.testing import RunningBroker, running_broker
from tests.whole_topics import records_in

pytestmark = pytest.mark.clients


def new_topic(bootstrap: str) -> str:
    topic = f"orders-{secrets.token_hex(4)}"
    create_topics(bootstrap, {topic: 4})
    return topic


def ids_in(bootstrap: str, topic: str, isolation_level: str) -> list[int]:
    read = records_in(bootstrap, {topic: 4}, isolation_level)
    return [json.loads(message.value() or b"")["id"] for message in read]


def faults_of(ledger: Ledger, bootstrap: str, topic: str) -> list[str]:
    committed = ids_in(bootstrap, topic, "read_committed")
    return audit(
        ledger,
        read_committed=committed,
        read_uncommitted=ids_in(bootstrap, topic, "read_uncommitted"),
        totals=totals_of(committed),
    ).faults()


def test_every_tenth_transaction_is_aborted_and_stays_invisible(
    ottla: RunningBroker,
) -> None:
    ledger, topic = Ledger(), new_topic(ottla.bootstrap)
    write_orders(ledger, bootstrap=ottla.bootstrap, topic=topic, transactions=20, orders_each=10)
    assert ledger.count(OrderFate.COMMITTED) == 180
    assert ledger.count(OrderFate.ABORTED) == 20
    assert len(ledger.acknowledged) == 200
    assert faults_of(ledger, ottla.bootstrap, topic) == []


@pytest.mark.parametrize("moment", Moment)
def test_no_acknowledged_order_is_lost_when_the_broker_is_killed(moment: Moment) -> None:
    ledger = Ledger()
    with running_broker() as broker:
        killers = []

        def kill_and_start() -> None:
            broker.kill()
            broker.start()

        def disturb(number: int, now: Moment) -> None:
            if number % 4 == 0 and now is moment:
                killer = threading.Thread(target=kill_and_start)
                killers.append(killer)
                killer.start()
                if moment is Moment.HALF_WRITTEN:
                    killer.join()

        topic = new_topic(broker.bootstrap)
        write_orders(
            ledger,
            bootstrap=broker.bootstrap,
            topic=topic,
            transactions=12,
            orders_each=50,
            disturb=disturb,
        )
        for killer in killers:
            killer.join()
        assert len(killers) == 3
        assert faults_of(ledger, broker.bootstrap, topic) == []
