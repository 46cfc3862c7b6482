"""A service writes bills, a transaction for each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from confluent_kafka import KafkaException, Producer

from ottla.testing import Ottla


class Biller:
    """One process of the program under test."""

    def __init__(self, servers: str, process: int) -> None:
        self.producer = Producer(
            {
                "bootstrap.servers": servers,
                "log_level": 0,
                "client.id": f"billing-{process}",
                "transactional.id": "billing",
            }
        )
        self.producer.init_transactions(20)

    def begin(self, bill: str) -> None:
        self.producer.begin_transaction()
        self.producer.produce("bills", bill)
        self.producer.flush(20)

    def end(self) -> None:
        with suppress(KafkaException):
            self.producer.commit_transaction(20)


def write_bills(servers: str) -> None:
    """Three bills; the service is scaled up meanwhile."""
    first = Biller(servers, 1)
    first.begin("bill-1")
    first.end()
    first.begin("bill-2")
    second = Biller(servers, 2)
    first.end()
    second.begin("bill-3")
    second.end()


def test_all_bills_are_written(ottla_broker: Ottla, stored: Callable[[str], list[str]]) -> None:
    ottla_broker.create_topic("bills")
    write_bills(ottla_broker.bootstrap_servers)
    assert stored("bills") == ["bill-1", "bill-2", "bill-3"]
