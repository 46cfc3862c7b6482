"""The ids of the orders in a topic, read by a plain consumer from the start to the end."""

from __future__ import annotations

import json
import secrets

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition


def ids_in(bootstrap: str, topic: str, isolation_level: str) -> list[int]:
    """The ids and their counts at an isolation level, read to the end of the log."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"audit-{secrets.token_hex(4)}",
            "isolation.level": isolation_level,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    try:
        unfinished = set(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in unfinished])
        found: list[int] = []
        while unfinished:
            message = consumer.poll(20)
            assert message is not None, f"no more records from partitions {unfinished}"
            error, value = message.error(), message.value()
            if error is None:
                assert value is not None
                found.append(json.loads(value)["id"])
            elif error.code() == KafkaError._PARTITION_EOF:
                unfinished.discard(message.partition())
            else:
                raise KafkaException(error)
        return found
    finally:
        consumer.close()
