"""A sensor sends what it measures."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from kafka import KafkaProducer
from kafka.errors import KafkaError

from ottla.testing import Ottla


def measure(servers: str, between: Callable[[int], object]) -> None:
    """The program under test."""
    producer = KafkaProducer(
        bootstrap_servers=servers, client_id="sensor", retries=0, enable_idempotence=False
    )
    for degrees in (20, 21, 22):
        with suppress(KafkaError):
            producer.send("degrees", str(degrees).encode()).get(20)
        between(degrees)
    producer.close()


@pytest.mark.ottla(nodes=2)
def test_all_measurements_arrive(ottla_broker: Ottla, stored: Callable[[str], list[str]]) -> None:
    ottla_broker.create_topic("degrees", replication_factor=2)
    ottla_broker.move_leader("degrees", 0, 1)

    def upgrade_a_node(degrees: int) -> None:
        if degrees == 20:
            ottla_broker.move_leader("degrees", 0, 2)

    measure(ottla_broker.bootstrap_servers, upgrade_a_node)
    assert stored("degrees") == ["20", "21", "22"]
