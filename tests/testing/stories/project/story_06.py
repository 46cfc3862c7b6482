"""A service books a journey in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from confluent_kafka import KafkaException, Producer

from ottla.testing import Ottla


def book(servers: str, ask_airline: Callable[[], object]) -> None:
    """The program under test."""
    producer = Producer(
        {
            "bootstrap.servers": servers, "log_level": 0,
            "client.id": "booking", "transactional.id": "booking-1",
            "transaction.timeout.ms": 30_000,
        }
    )  # fmt: skip
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("bookings", "hotel")
    producer.flush(20)
    ask_airline()
    with suppress(KafkaException):
        producer.produce("bookings", "flight")
        producer.commit_transaction(20)


@pytest.fixture
def airline(ottla_broker: Ottla) -> Callable[[], object]:
    """An airline that answers on some day."""
    return lambda: ottla_broker.clock.advance(seconds=45)


@pytest.mark.ottla(clock="manual")
def test_a_journey_has_a_hotel_and_a_flight(
    ottla_broker: Ottla, airline: Callable[[], object], stored: Callable[[str], list[str]]
) -> None:
    ottla_broker.create_topic("bookings")
    book(ottla_broker.bootstrap_servers, airline)
    assert stored("bookings") == ["hotel", "flight"]
