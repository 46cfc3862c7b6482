"""A program with an admin client, a producer, transactions and consumers of both kinds of groups.

Arguments: the name of its topic, and what it does: `admin`, `produce`, `transactions`, `classic`,
`consumer`, `share`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from confluent_kafka import Consumer, Producer, ShareConsumer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
)

BOOTSTRAP: dict[str, str | int | float | bool] = {
    "bootstrap.servers": os.environ["OTTLA_BOOTSTRAP"]
}
TIMEOUT_S = 20
RECORDS = 10


def admin(topic: str) -> None:
    """Create the topic and look at it."""
    client = AdminClient(BOOTSTRAP)
    wanted = NewTopic(topic, 2, 1, config={"retention.ms": "3600000"})
    client.create_topics([wanted])[topic].result(TIMEOUT_S)
    described = client.describe_cluster().result(TIMEOUT_S)
    assert len(described.nodes) == 1
    client.list_consumer_groups().result(TIMEOUT_S)


def produce(topic: str) -> None:
    """Send records with sequence numbers, compressed."""
    producer = Producer({**BOOTSTRAP, "enable.idempotence": True, "compression.type": "gzip"})
    for number in range(RECORDS):
        producer.produce(topic, f"value-{number}", partition=number % 2)
    assert producer.flush(TIMEOUT_S) == 0


def transactions(topic: str) -> None:
    """Commit one transaction, abort another."""
    producer = Producer({**BOOTSTRAP, "transactional.id": f"x-{topic}"})
    producer.init_transactions(TIMEOUT_S)
    for value in ("committed", "aborted"):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        assert producer.flush(TIMEOUT_S) == 0
        if value == "committed":
            producer.commit_transaction(TIMEOUT_S)
        else:
            producer.abort_transaction(TIMEOUT_S)


def _consume(topic: str, **settings: Any) -> None:
    given = {"group.id": f"{settings}-{topic}", "auto.offset.reset": "earliest", **settings}
    consumer = Consumer({**BOOTSTRAP, **given, "enable.auto.commit": False})
    consumer.subscribe([topic])
    for _ in range(RECORDS):
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, "no record came"
        assert message.error() is None, message.error()
    consumer.commit(asynchronous=False)
    consumer.close()


def classic(topic: str) -> None:
    """Read as a member of a classic group."""
    _consume(topic)


def consumer(topic: str) -> None:
    """Read as a member of a group of KIP-848."""
    _consume(topic, **{"group.protocol": "consumer"})


def share(topic: str) -> None:
    """Read as a member of a share group, from both partitions, and acknowledge."""
    group = f"s-{topic}"
    earliest = ConfigEntry(
        "share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=[earliest])
    client = AdminClient(BOOTSTRAP)
    client.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)
    reader = ShareConsumer({**BOOTSTRAP, "group.id": group})
    reader.subscribe([topic])
    seen = 0
    while seen < RECORDS:
        messages = reader.poll(TIMEOUT_S)
        assert messages, "no record came"
        seen += len(messages)
    reader.commit_sync()
    reader.close()


if __name__ == "__main__":
    for step in (admin, produce, transactions, classic, consumer, share):
        if step.__name__ in sys.argv[2:]:
            step(sys.argv[1])
