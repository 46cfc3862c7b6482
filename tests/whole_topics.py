"""Every record of some topics, as librdkafka's consumer gets them up to the end of each log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)


def records_in(
    bootstrap: str,
    topics: Mapping[str, int],
    isolation_level: str = "read_committed",
    timeout_s: float = 30.0,
) -> Iterator[Message]:
    """Read from the first record on; those of a partition come in their order.

    Args:
        topics: the number of partitions of each.
        isolation_level: with `read_committed` a partition ends at its last stable offset.
        timeout_s: how long to wait for a record or the end of a partition.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reads-all",
            "isolation.level": isolation_level,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    unread = {(topic, index) for topic, count in topics.items() for index in range(count)}
    try:
        consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in unread])
        while unread:
            message = consumer.poll(timeout_s)
            assert message is not None, f"partitions without an end: {unread}"
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                unread.discard((message.topic() or "", message.partition() or 0))
            else:
                raise KafkaException(error)
    finally:
        consumer.close()
