"""Goes on where its group has committed; the broker is slow to tell."""

import os

from kafka import KafkaConsumer, TopicPartition

consumer = KafkaConsumer(
    bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"],
    group_id="museum",
    auto_offset_reset="earliest",
    enable_auto_commit=False,
)
consumer.assign([TopicPartition("museum", 0)])
found = consumer.poll(timeout_ms=1000)
print("seen: polled", flush=True)
while not found:
    found = consumer.poll(timeout_ms=1000)
print("seen: first", next(iter(found.values()))[0].offset)
