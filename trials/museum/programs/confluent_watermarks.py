"""Asks for the end of a partition before and after its leader moves."""

import os
import sys

from confluent_kafka import Consumer, KafkaException, TopicPartition

consumer = Consumer(
    {"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"], "group.id": "museum"}
)
place = TopicPartition("museum", 0)
print("seen: before", consumer.get_watermark_offsets(place, timeout=10)[1], flush=True)
sys.stdin.readline()
for _ in range(5):
    try:
        print("seen: after", consumer.get_watermark_offsets(place, timeout=10)[1])
        break
    except KafkaException as failed:
        print("seen: failed", failed.args[0].name(), flush=True)
consumer.close()
