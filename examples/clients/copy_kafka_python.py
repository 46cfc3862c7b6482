"""Copies a topic exactly once with kafka-python 3.

It runs against any Kafka, and is a program for `ottla conform -- python copy_kafka_python.py`.
"""

import os

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError, ProducerFencedError
from kafka.structs import OffsetAndMetadata

BOOTSTRAP = os.environ["OTTLA_BOOTSTRAP"]
INPUT = os.environ["OTTLA_INPUT"]
OUTPUT = os.environ["OTTLA_OUTPUT"]
GROUP = os.environ["OTTLA_GROUP"]
TRANSACTIONAL_ID = os.environ["OTTLA_TRANSACTIONAL_ID"]
RECORDS = int(os.environ["OTTLA_RECORDS"])


def is_copied(consumer, producer, found):
    """Copy records in one transaction; False if it was aborted."""
    producer.begin_transaction()
    try:
        for messages in found.values():
            for each in messages:
                producer.send(OUTPUT, value=each.value, key=each.key)
        offsets = {
            place: OffsetAndMetadata(messages[-1].offset + 1, "", -1)
            for place, messages in found.items()
        }
        producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
        producer.commit_transaction()
    except ProducerFencedError:
        raise
    except KafkaError:
        producer.abort_transaction()
        return False
    return True


def go_back(consumer):
    """Read again from the committed offsets."""
    for place in consumer.assignment():
        consumer.seek(place, consumer.committed(place) or 0)


def copy(consumer, producer):
    """Copy records until all are there. A corrupt batch ends the program."""
    copied = 0
    while copied < RECORDS:
        found = consumer.poll(timeout_ms=300, max_records=10)
        if not found:
            continue
        if is_copied(consumer, producer, found):
            copied += sum(map(len, found.values()))
        else:
            go_back(consumer)


def main():
    """Copy all records."""
    consumer = KafkaConsumer(
        INPUT,
        bootstrap_servers=BOOTSTRAP,
        group_id=GROUP,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    producer = KafkaProducer(bootstrap_servers=BOOTSTRAP, transactional_id=TRANSACTIONAL_ID)
    producer.init_transactions()
    try:
        copy(consumer, producer)
    finally:
        producer.close()
        consumer.close()


if __name__ == "__main__":
    main()
