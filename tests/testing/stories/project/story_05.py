"""Two services write events, and an audit reads them."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from ottla.testing import Ottla


def producer_of(servers: str, name: str) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "log_level": 0,
            "client.id": name,
            "transactional.id": f"{name}-7",
        }
    )
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("events", f"of {name}")
    producer.flush(20)
    return producer


def read_events(servers: str) -> list[str]:
    """What the audit sees until the end of the topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers, "log_level": 0, "client.id": "audit", "group.id": "audit",
            "enable.auto.commit": False, "enable.partition.eof": True,
        }
    )  # fmt: skip
    consumer.assign([TopicPartition("events", 0, 0)])
    found: list[str] = []
    while (message := consumer.poll(20)) is not None:
        if (error := message.error()) is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            break
        found.append((message.value() or b"").decode())
    consumer.close()
    return found


def test_the_audit_sees_the_payment(ottla_broker: Ottla) -> None:
    ottla_broker.create_topic("events")
    stock = producer_of(ottla_broker.bootstrap_servers, "stock")
    payments = producer_of(ottla_broker.bootstrap_servers, "payments")
    payments.commit_transaction(20)
    seen = read_events(ottla_broker.bootstrap_servers)
    assert stock is not None
    assert "of payments" in seen
