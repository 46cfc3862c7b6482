"""Copies a topic exactly once with confluent-kafka (librdkafka).

It runs against any Kafka, and is a program for `ottla conform -- python copy_confluent_kafka.py`
and for `ottla torture`. If OTTLA_RECORDS is 0 it copies until SIGTERM.
"""

import math
import os
import signal
import sys
import time

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
    libversion,
)

BOOTSTRAP = os.environ["OTTLA_BOOTSTRAP"]
INPUT = os.environ["OTTLA_INPUT"]
OUTPUT = os.environ["OTTLA_OUTPUT"]
GROUP = os.environ["OTTLA_GROUP"]
TRANSACTIONAL_ID = os.environ["OTTLA_TRANSACTIONAL_ID"]
RECORDS = int(os.environ.get("OTTLA_RECORDS", "0")) or math.inf
GROUP_PROTOCOL = os.environ.get("COPY_GROUP_PROTOCOL", "classic")
HEARTBEAT_INTERVAL_MS = os.environ.get("COPY_HEARTBEAT_INTERVAL_MS", "3000")
TIMEOUT_S = 5.0
STUCK_S = TIMEOUT_S + 1
PATIENCE_S = 5.0
POLL_S = 0.1
REBOOTSTRAP_SINCE = 0x02080000


def retried(call, *arguments):
    """Call a function of transactions again while its error is retriable, for some time."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return call(*arguments)
        except KafkaException as failed:
            if not failed.args[0].retriable() or time.monotonic() > deadline:
                raise


def ends(messages):
    """The offsets behind the last message of each partition."""
    last = {(each.topic(), each.partition()): each.offset() for each in messages}
    return [TopicPartition(*place, offset + 1) for place, offset in last.items()]


def send_offsets(producer, messages, metadata):
    """Add the offsets to the transaction; SIGALRM ends the process if librdkafka never returns.

    librdkafka 2.10 to 2.16 waits forever, whatever the timeout, if the group's coordinator has been
    out of the metadata (librdkafka's issues 5511 and 5456). A new process aborts the transaction.
    """
    signal.setitimer(signal.ITIMER_REAL, STUCK_S)
    try:
        producer.send_offsets_to_transaction(ends(messages), metadata, TIMEOUT_S)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def is_copied(consumer, producer, messages):
    """Copy records in one transaction; False if it was aborted."""
    producer.begin_transaction()
    try:
        for message in messages:
            producer.produce(OUTPUT, message.value(), message.key())
        metadata = consumer.consumer_group_metadata()
        retried(send_offsets, producer, messages, metadata)
        retried(producer.commit_transaction, TIMEOUT_S)
    except KafkaException as failed:
        if not failed.args[0].txn_requires_abort():
            raise
        retried(producer.abort_transaction, TIMEOUT_S)
        return False
    return True


def committed(consumer, places):
    """The places with the committed offsets; the beginning if there are none."""
    found = []
    for place in consumer.committed(places, TIMEOUT_S):
        if place.error is not None:
            raise KafkaException(place.error)
        offset = place.offset if place.offset >= 0 else 0
        found.append(TopicPartition(place.topic, place.partition, offset))
    return found


def begin(consumer, places):
    """Read new partitions from the committed offsets.

    librdkafka 2.16 does so itself, but goes to auto.offset.reset if the group rebalances while an
    open transaction withholds the offsets. Then records are copied twice.
    """
    consumer.assign(committed(consumer, places))


def go_back(consumer):
    """Read again from the committed offsets."""
    for place in committed(consumer, consumer.assignment()):
        consumer.seek(place)


class Stop:
    """Whether SIGTERM has come."""

    came = False

    def __call__(self, *_):
        """Handle the signal."""
        self.came = True


def clients():
    """The consumer and the producer."""
    cluster = {"bootstrap.servers": BOOTSTRAP}
    if libversion()[1] >= REBOOTSTRAP_SINCE:
        # librdkafka's rebootstrap drops the only broker of a cluster, and may never reconnect.
        cluster["metadata.recovery.strategy"] = "none"
    group = {"group.id": GROUP}
    if GROUP_PROTOCOL == "classic":
        group["heartbeat.interval.ms"] = HEARTBEAT_INTERVAL_MS
    else:
        group["group.protocol"] = GROUP_PROTOCOL
    consumer = Consumer(
        {
            **cluster,
            **group,
            "client.id": "copy-consumer",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "check.crcs": True,
        }
    )
    producer = Producer(
        {**cluster, "client.id": "copy-producer", "transactional.id": TRANSACTIONAL_ID}
    )
    return consumer, producer


def main():
    """Copy all records, or until SIGTERM."""
    stop = Stop()
    signal.signal(signal.SIGTERM, stop)
    consumer, producer = clients()
    if GROUP_PROTOCOL == "classic":
        consumer.subscribe([INPUT], on_assign=begin)
    else:
        consumer.subscribe([INPUT])
    retried(producer.init_transactions, TIMEOUT_S)
    copied = 0
    while copied < RECORDS and not stop.came:
        messages = []
        for message in consumer.consume(10, POLL_S):
            error = message.error()
            if error is None:
                messages.append(message)
            elif error.fatal() or error.code() == KafkaError._AUTHENTICATION:
                raise KafkaException(error)
        if messages and is_copied(consumer, producer, messages):
            copied += len(messages)
        elif messages:
            go_back(consumer)
    consumer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
