"""A service copies orders to invoices, and goes on after a crash."""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, Producer

from ottla.testing import Ottla


def copy_orders(servers: str, process: int, crash_at: str = "") -> None:
    """One process of the program under test."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers, "log_level": 0,
            "client.id": f"reader-{process}", "group.id": "invoices",
            "auto.offset.reset": "earliest", "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )  # fmt: skip
    producer = Producer(
        {"bootstrap.servers": servers, "log_level": 0, "client.id": f"writer-{process}"}
    )
    consumer.subscribe(["orders"])
    while (message := consumer.poll(20)) is not None:
        if (error := message.error()) is not None:
            assert error.code() == KafkaError._PARTITION_EOF
            break
        order = (message.value() or b"").decode()
        consumer.commit(message=message, asynchronous=False)
        if order == crash_at:
            break
        producer.produce("invoices", f"invoice of {order}")
        producer.flush(20)
    consumer.close()


def test_each_order_has_an_invoice(ottla_broker: Ottla, stored: Callable[[str], list[str]]) -> None:
    ottla_broker.create_topic("invoices")
    ottla_broker.produce("orders", ["order-1", "order-2", "order-3"])
    copy_orders(ottla_broker.bootstrap_servers, 1, crash_at="order-2")
    copy_orders(ottla_broker.bootstrap_servers, 2)
    invoices = ["invoice of order-1", "invoice of order-2", "invoice of order-3"]
    assert stored("invoices") == invoices
