"""A report counts payments."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from ottla.testing import Ottla


def pay(servers: str, payments: list[str]) -> None:
    """Write all payments or none; the first try does not get the bank's word."""
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "log_level": 0,
            "client.id": "payer",
            "transactional.id": "payer-1",
        }
    )
    producer.init_transactions(20)
    for has_word_of_the_bank in (False, True):
        producer.begin_transaction()
        for each in payments:
            producer.produce("payments", each)
        producer.flush(20)
        if has_word_of_the_bank:
            producer.commit_transaction(20)
        else:
            producer.abort_transaction(20)


def report(servers: str) -> list[str]:
    """The program under test."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers, "log_level": 0,
            "client.id": "report", "group.id": "report",
            "enable.auto.commit": False, "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
        }
    )  # fmt: skip
    consumer.assign([TopicPartition("payments", 0, 0)])
    found: list[str] = []
    while (message := consumer.poll(20)) is not None:
        if (error := message.error()) is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            break
        found.append((message.value() or b"").decode())
    consumer.close()
    return found


def test_the_report_has_each_payment(ottla_broker: Ottla) -> None:
    ottla_broker.create_topic("payments")
    pay(ottla_broker.bootstrap_servers, ["100 EUR", "250 EUR"])
    assert report(ottla_broker.bootstrap_servers) == ["100 EUR", "250 EUR"]
