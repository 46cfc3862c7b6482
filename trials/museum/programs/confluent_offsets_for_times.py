"""Asks for the offset of a time before and after its leader moves."""

import os
import sys

from confluent_kafka import Consumer, KafkaException, TopicPartition

consumer = Consumer(
    {"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"], "group.id": "museum"}
)


def offset() -> int:
    """The offset of the first record after the beginning of time."""
    (found,) = consumer.offsets_for_times([TopicPartition("museum", 0, 1)], timeout=10)
    if found.error:
        raise KafkaException(found.error)
    return int(found.offset)


print("seen: before", offset(), flush=True)
sys.stdin.readline()
for _ in range(5):
    try:
        print("seen: after", offset())
        break
    except KafkaException as failed:
        print("seen: failed", failed.args[0].name(), flush=True)
consumer.close()
