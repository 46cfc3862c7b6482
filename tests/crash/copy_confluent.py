"""A copy loop with confluent-kafka, in a process that a test kills and restarts.

`python -m tests.crash.copy_confluent HOST:PORT PARTITION SEED` copies one partition of `input` to
the same one of `output`, in transactions that commit its offset, from the last committed offset to
the end. It aborts some, by the seed, and repeats them. The exit status is 0 at the end, and 1 after
an error, and the test restarts it.
"""

from __future__ import annotations

import sys
from random import Random

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

TRANSACTION = 8
TIMEOUT_S = 5.0
ABORTED = 0.2


def main() -> int:
    """Copy to the end."""
    bootstrap, partition, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    common = {
        "bootstrap.servers": bootstrap,
        "reconnect.backoff.max.ms": 200,
        # librdkafka's rebootstrap drops the only broker, and may never reconnect.
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
        copy(consumer, producer, partition, Random(seed))
    except KafkaException as failed:
        sys.stderr.write(f"{failed}\n")
        return 1
    return 0


def copy(consumer: Consumer, producer: Producer, partition: int, random: Random) -> None:
    """Copy from the committed offset to the end. Raises KafkaException."""
    place = TopicPartition("input", partition)
    _, end = consumer.get_watermark_offsets(place, TIMEOUT_S)
    position = max(0, consumer.committed([place], TIMEOUT_S)[0].offset)
    consumer.assign([TopicPartition("input", partition, position)])
    while position < end:
        messages = consumer.consume(min(TRANSACTION, end - position), TIMEOUT_S)
        values = [each.value() or b"" for each in messages if each.error() is None]
        position += len(values)
        while values:
            is_aborted = random.random() < ABORTED
            offset = TopicPartition("input", partition, position)
            if is_copied(consumer, producer, offset, values, is_aborted=is_aborted):
                break


def is_copied(
    consumer: Consumer,
    producer: Producer,
    offset: TopicPartition,
    values: list[bytes],
    *,
    is_aborted: bool,
) -> bool:
    """Commit one transaction, or abort it and return False. Raises KafkaException."""
    producer.begin_transaction()
    try:
        for value in values:
            producer.produce("output", value, partition=offset.partition)
        metadata = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction([offset], metadata, TIMEOUT_S)
        if not is_aborted:
            producer.commit_transaction(TIMEOUT_S)
            return True
    except KafkaException as failed:
        if not failed.args[0].txn_requires_abort():
            raise
    producer.abort_transaction(TIMEOUT_S)
    return False


if __name__ == "__main__":
    sys.exit(main())
