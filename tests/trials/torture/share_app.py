"""A share consumer for `ottla torture`: it copies records at least once, or makes a mistake.

`python share_app.py MISTAKE`, where `none` is none and `accepts_first` accepts the records before
they are in the output.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from confluent_kafka import AcknowledgeType, KafkaException, Producer, ShareConsumer


class Ended(Exception):
    """The process gets SIGTERM."""


def _end(*_: object) -> None:
    raise Ended


def run(bootstrap: str, mistake: str) -> None:
    """Copy until SIGTERM."""
    cluster = {"bootstrap.servers": bootstrap}
    producer = Producer(cluster | {"linger.ms": 0})
    reading = {"group.id": os.environ["OTTLA_GROUP"], "share.acknowledgement.mode": "explicit"}
    consumer: Any = ShareConsumer(cluster | reading)  # Any: the library has no types for it
    consumer.subscribe([os.environ["OTTLA_INPUT"]])
    try:
        while True:
            _copy(consumer, producer, accepts_first=mistake == "accepts_first")
    except Ended:
        consumer.close()


def _copy(consumer: Any, producer: Producer, *, accepts_first: bool) -> None:
    messages = [each for each in consumer.poll(0.1) if each.error() is None]
    if not messages:
        return
    if accepts_first:
        _accept(consumer, messages)
    for message in messages:
        producer.produce(os.environ["OTTLA_OUTPUT"], message.value())
    if producer.flush(10):
        raise SystemExit("the output is not written")
    if not accepts_first:
        _accept(consumer, messages)


def _accept(consumer: Any, messages: list[Any]) -> None:
    for message in messages:
        consumer.acknowledge(message, AcknowledgeType.ACCEPT)
    try:
        consumer.commit_sync(5.0)
    except KafkaException as refused:
        sys.stderr.write(f"acknowledgements: {refused}\n")  # the records come again


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    run(os.environ["OTTLA_BOOTSTRAP"], sys.argv[1])
