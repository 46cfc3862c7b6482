"""Reads all committed records after all transactions have ended."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaError, TopicPartition

READ_TIMEOUT_S = 30.0


def committed(bootstrap: str, topic: str, partitions: int) -> list[list[str]]:
    """The values in each partition of a topic, up to its last stable offset."""
    records = committed_records(bootstrap, topic, partitions)
    return [[value for _, value in partition] for partition in records]


def committed_records(bootstrap: str, topic: str, partitions: int) -> list[list[tuple[str, str]]]:
    """Keys and values in each partition of a topic, up to its last stable offset."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "reader",
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    try:
        consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
        found: list[list[tuple[str, str]]] = [[] for _ in range(partitions)]
        at_end: set[int] = set()
        deadline = time.monotonic() + READ_TIMEOUT_S
        while len(at_end) < partitions:
            assert time.monotonic() < deadline, "the end was not reached"
            for message in consumer.consume(1000, 0.2):
                error, partition = message.error(), message.partition() or 0
                if error is None:
                    key, value = message.key() or b"", message.value() or b""
                    found[partition].append((key.decode(), value.decode()))
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    at_end.add(partition)
        return found
    finally:
        consumer.close()
