"""The ids of the orders in a topic, read by a plain consumer from the start to the end."""

from __future__ import annotations

import json
import secrets

from confluent_kafka import Consumer, TopicPartition


def ids_in(bootstrap: str, topic: str, isolation_level: str) -> list[int]:
    """The ids under an isolation level, as often as they came. Returns at the end of the log."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"audit-{secrets.token_hex(4)}",
            "isolation.level": isolation_level,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    try:
        metadata = consumer.list_topics(topic, timeout=10)
        partitions = [
            TopicPartition(topic, number, 0) for number in metadata.topics[topic].partitions
        ]
        consumer.assign(partitions)
        ends = {
            each.partition: consumer.get_watermark_offsets(each, timeout=10)[1]
            for each in partitions
        }
        found: list[int] = []
        while any(each.offset < ends[each.partition] for each in consumer.position(partitions)):
            message = consumer.poll(0.05)
            if message is not None and message.error() is None:
                value = message.value()
                assert value is not None
                found.append(json.loads(value)["id"])
            elif all(end == 0 for end in ends.values()):
                break
        return found
    finally:
        consumer.close()
