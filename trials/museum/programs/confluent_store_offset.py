"""Commits by a message, and then by an offset that it has stored itself."""

import os

from confluent_kafka import Consumer, KafkaException, TopicPartition

consumer = Consumer(
    {
        "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
        "group.id": "museum",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
    }
)
consumer.assign([TopicPartition("museum", 0, 0)])
message = None
while message is None or message.error():
    message = consumer.poll(1)
consumer.commit(message=message, asynchronous=False)
consumer.store_offsets(offsets=[TopicPartition("museum", 0, 3)])
try:
    consumer.commit(asynchronous=False)
    print("seen: committed")
except KafkaException as failed:
    print("seen: failed", failed.args[0].name())
consumer.close()
