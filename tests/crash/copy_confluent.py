"""A copy loop with confluent-kafka: a process of its own, which a test kills and starts again.

`python -m tests.crash.copy_confluent HOST:PORT PARTITION` copies one partition of `input` to that
of `output` in transactions that carry its offset, from what was committed last to the end; some are
aborted and done again. It ends with 0 at the end, with 1 when it is to be started anew.
"""

from __future__ import annotations

import random
import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

TRANSACTION = 8
TIMEOUT_S = 5.0
ABORTED = 0.2


def main() -> int:
    """Copy to the end."""
    bootstrap, partition = sys.argv[1], int(sys.argv[2])
    common = {
        "bootstrap.servers": bootstrap,
        "reconnect.backoff.max.ms": 200,
        # Its rebootstrap forgets the only broker there is, and may not find the way back.
        "metadata.recovery.strategy": "none",
    }
    producer = Producer(
        {**common, "transactional.id": f"copy-{partition}", "linger.ms": 0, "retry.backoff.ms": 20},
        logger=None,
        error_cb=lambda _: None,
    )
    consumer = Consumer(
        {
            **common,
            "group.id": f"copy-{partition}",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        },
        logger=None,
        error_cb=lambda _: None,
    )
    try:
        producer.init_transactions(TIMEOUT_S)
        copy(consumer, producer, partition)
    except KafkaException as failed:
        sys.stderr.write(f"{failed}\n")
        return 1
    return 0


def copy(consumer: Consumer, producer: Producer, partition: int) -> None:
    """Copy from the committed offset to the end. Raises KafkaException."""
    place = TopicPartition("input", partition)
    _, end = consumer.get_watermark_offsets(place, TIMEOUT_S)
    position = max(0, consumer.committed([place], TIMEOUT_S)[0].offset)
    consumer.assign([TopicPartition("input", partition, position)])
    while position < end:
        messages = consumer.consume(min(TRANSACTION, end - position), TIMEOUT_S)
        values = [each.value() or b"" for each in messages if each.error() is None]
        position += len(values)
        while values and not is_copied(consumer, producer, partition, position, values):
            pass


def is_copied(
    consumer: Consumer, producer: Producer, partition: int, position: int, values: list[bytes]
) -> bool:
    """Commit one transaction, or abort it and say False. Raises KafkaException."""
    producer.begin_transaction()
    try:
        for value in values:
            producer.produce("output", value, partition=partition)
        offset = TopicPartition("input", partition, position)
        metadata = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction([offset], metadata, TIMEOUT_S)
        if random.random() >= ABORTED:
            producer.commit_transaction(TIMEOUT_S)
            return True
    except KafkaException as failed:
        if not failed.args[0].txn_requires_abort():
            raise
    producer.abort_transaction(TIMEOUT_S)
    return False


if __name__ == "__main__":
    sys.exit(main())
