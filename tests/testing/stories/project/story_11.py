"""A collector goes on where it stopped."""

from __future__ import annotations

from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition

from ottla.testing import Ottla

ORDERS = TopicPartition("orders", 0)


def collector(servers: str, **settings: Any) -> KafkaConsumer:  # Any: of kafka-python
    return KafkaConsumer(
        "orders", bootstrap_servers=servers, client_id="collector", group_id="collectors",
        enable_auto_commit=False, **settings,
    )  # fmt: skip


def collect(consumer: KafkaConsumer, count: int) -> list[str]:
    """The program under test."""
    found: list[str] = []
    while len(found) < count and (polled := consumer.poll(20_000, max_records=count - len(found))):
        found += [each.value.decode() for many in polled.values() for each in many]
    return found


def clean_up(servers: str) -> None:
    """What the night does."""
    admin = KafkaAdminClient(bootstrap_servers=servers, client_id="night")
    admin.delete_records({ORDERS: 4})
    admin.close()


def test_the_collector_has_all_orders_that_are_there(ottla_broker: Ottla) -> None:
    servers = ottla_broker.bootstrap_servers
    ottla_broker.produce("orders", [f"order-{number}" for number in range(6)])
    first = collector(servers, auto_offset_reset="earliest")
    collect(first, 2)
    first.commit()
    first.close()
    clean_up(servers)
    second = collector(servers)
    while not second.assignment() or second.position(ORDERS) < 4:
        second.poll(100)
    ottla_broker.produce("orders", ["order-6"])
    found = collect(second, 1)
    second.close()
    assert found[0] == "order-4"
