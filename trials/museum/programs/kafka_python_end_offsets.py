"""Asks for the end of a partition."""

import os

from kafka import KafkaConsumer, TopicPartition

consumer = KafkaConsumer(bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"])
place = TopicPartition("museum", 0)
try:
    print("seen: end", consumer.end_offsets([place])[place])
except Exception as failed:
    print("seen: failed", type(failed).__name__, failed)
