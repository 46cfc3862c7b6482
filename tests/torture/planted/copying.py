"""What the planted applications share: clients, records of a topic, and the end by SIGTERM.

The settings are right for exactly once: read_committed, no commits by the client itself, one
transactional id per copy. A program changes what its bug changes.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Final

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

OUTPUT: Final = os.environ.get("OTTLA_OUTPUT", "output")
TIMEOUT_S: Final = 5.0
_PATIENCE_S: Final = 5.0
_BATCH: Final = 10
_POLL_S: Final = 0.1


def consumer(**changed: str) -> Consumer:
    """A member of the group that reads the input; `changed` has settings with _ for the dots."""
    found = Consumer(
        _cluster()
        | {
            "group.id": os.environ["OTTLA_GROUP"],
            "heartbeat.interval.ms": "300",
            "isolation.level": "read_committed",
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
        }
        | {name.replace("_", "."): value for name, value in changed.items()}
    )
    found.subscribe([os.environ["OTTLA_INPUT"]])
    return found


def stranger() -> Consumer:
    """A consumer of the group that never joins."""
    return Consumer(_cluster() | {"group.id": os.environ["OTTLA_GROUP"]})


def producer(transactional_id: str = "") -> Producer:
    """A transactional producer that is ready. Raises KafkaException."""
    found = Producer(
        _cluster()
        | {
            "transactional.id": transactional_id or os.environ["OTTLA_TRANSACTIONAL_ID"],
        }
    )
    retried(found.init_transactions, TIMEOUT_S)
    return found


def plain_producer(**settings: str) -> Producer:
    """A producer without transactions; `settings` has _ for the dots."""
    return Producer(
        _cluster() | {name.replace("_", "."): value for name, value in settings.items()}
    )


def _cluster() -> dict[str, str]:
    return {
        "bootstrap.servers": os.environ["OTTLA_BOOTSTRAP"],
        # librdkafka's rebootstrap drops the only broker of a cluster, and may never reconnect.
        "metadata.recovery.strategy": "none",
    }


def batches(reader: Consumer) -> Iterator[list[Message]]:
    """Records of the input, some at a time, until SIGTERM. Raises KafkaException."""
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    while not stopped:
        messages = reader.consume(_BATCH, _POLL_S)
        good = [each for each in messages if each.error() is None]
        for each in messages:
            error = each.error()
            if error is not None and error.fatal():
                raise KafkaException(error)
        if good:
            yield good
    reader.close()


def ends(messages: list[Message]) -> list[TopicPartition]:
    """The offsets behind the last record of each partition."""
    last = {(each.topic(), each.partition()): each.offset() for each in messages}
    return [
        TopicPartition(topic or "", partition or 0, (offset or 0) + 1)
        for (topic, partition), offset in last.items()
    ]


def send(writer: Producer, messages: list[Message]) -> None:
    """Give copies of records to the producer. Raises KafkaException."""
    for each in messages:
        writer.produce(OUTPUT, each.value(), each.key())


def send_offsets(writer: Producer, reader: Consumer, messages: list[Message]) -> None:
    """Make the offsets of records part of the transaction. Raises KafkaException."""
    metadata = reader.consumer_group_metadata()
    retried(writer.send_offsets_to_transaction, ends(messages), metadata, TIMEOUT_S)


def commit(writer: Producer) -> None:
    """Commit the transaction. Raises KafkaException."""
    retried(writer.commit_transaction, TIMEOUT_S)


def abort(writer: Producer) -> None:
    """Abort the transaction. Raises KafkaException."""
    retried(writer.abort_transaction, TIMEOUT_S)


def copy(reader: Consumer, writer: Producer, messages: list[Message]) -> None:
    """Copy records in a transaction, or abort it and go back. Raises KafkaException."""
    writer.begin_transaction()
    try:
        send(writer, messages)
        send_offsets(writer, reader, messages)
        commit(writer)
    except KafkaException as failed:
        if not error_of(failed).txn_requires_abort():
            raise
        abort(writer)
        go_back(reader)


def go_back(reader: Consumer) -> None:
    """Read again from the committed offsets. Raises KafkaException."""
    for place in reader.committed(reader.assignment(), TIMEOUT_S):
        reader.seek(TopicPartition(place.topic, place.partition, max(place.offset, 0)))


def retried(call: Callable[..., object], *arguments: object) -> None:
    """Call again while the error is retriable, for some time. Raises KafkaException."""
    deadline_s = monotonic() + _PATIENCE_S
    while True:
        try:
            call(*arguments)
        except KafkaException as failed:
            if not error_of(failed).retriable() or monotonic() > deadline_s:
                raise
        else:
            return


def error_of(failed: KafkaException) -> KafkaError:
    """The error inside an exception."""
    error = failed.args[0]
    assert isinstance(error, KafkaError)
    return error


def say(what: object) -> None:
    """Write a line to the standard error."""
    sys.stderr.write(f"{what}\n")
