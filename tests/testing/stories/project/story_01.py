"""A shop sends its orders."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from ottla.testing import Ottla


def send_orders(servers: str, orders: list[str]) -> None:
    """The program under test."""
    producer = Producer(
        {"bootstrap.servers": servers, "log_level": 0, "client.id": "shop", "acks": "all"}
    )
    for order in orders:
        producer.produce("orders", order)
        producer.flush(20)


@pytest.fixture
def network(ottla_broker: Ottla) -> None:
    """A network as in production."""
    ottla_broker.create_topic("orders")
    ottla_broker.faults.add("drop_answer", close=True, match={"api": "Produce", "nth": 2})


@pytest.mark.usefixtures("network")
def test_each_order_is_stored_once(ottla_broker: Ottla, stored: Callable[[str], list[str]]) -> None:
    send_orders(ottla_broker.bootstrap_servers, ["order-1", "order-2", "order-3"])
    assert stored("orders") == ["order-1", "order-2", "order-3"]
