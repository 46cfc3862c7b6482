"""A warehouse notes what comes in."""

from __future__ import annotations

from confluent_kafka import KafkaError, Message, Producer

from ottla.testing import Ottla


def note(servers: str, goods: list[str]) -> list[str]:
    """The program under test; what could not be stored."""
    lost: list[str] = []

    def hear(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            lost.append((message.value() or b"").decode())

    producer = Producer(
        {"bootstrap.servers": servers, "log_level": 0, "client.id": "warehouse", "retries": 0}
    )
    for each in goods:
        producer.produce("goods", each, on_delivery=hear)
        producer.flush(20)
    return lost


def test_a_refused_record_is_reported(ottla: Ottla) -> None:
    ottla.create_topic("goods")
    ottla.faults.add(
        "error", code="KAFKA_STORAGE_ERROR", match={"api": "Produce", "topic": "goods"},
        name="a broken disk",
    )  # fmt: skip
    assert note(ottla.bootstrap_servers, ["tea"]) == ["tea"]


def test_all_goods_are_noted(ottla: Ottla) -> None:
    assert note(ottla.bootstrap_servers, ["coffee", "sugar"]) == []
