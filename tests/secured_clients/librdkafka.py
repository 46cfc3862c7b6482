"""confluent-kafka, which is librdkafka."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer

from .job import VALUES, Job, Report, unsecured_token
from .reading import Numbers

_ANSWER_S = 20.0


def run(job: Job) -> Report:
    """Carry out a job."""
    producer = Producer({**settings(job), "enable.idempotence": True, "linger.ms": 1})
    group = {"group.id": job.topic, "auto.offset.reset": "earliest"}
    # librdkafka reads committed records alone by default.
    consumer = Consumer({**settings(job), **group})
    consumer.subscribe([job.topic])
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(error)

    numbers, sent, ends_s = Numbers(), 0, time.monotonic() + job.seconds
    while sent < VALUES or time.monotonic() < ends_s:
        producer.produce(job.topic, str(sent).encode(), on_delivery=delivered)
        sent += 1
        producer.poll(0.001)
        _read(consumer, numbers, 0)
    assert producer.flush(_ANSWER_S) == 0
    assert not failures, failures[0]
    _write_transactions(job)
    _read_until(consumer, numbers, sent)
    consumer.close()
    return Report(sent=sent, read=numbers.count)


def _write_transactions(job: Job) -> None:
    writer = Producer({**settings(job), "transactional.id": job.topic})
    writer.init_transactions(_ANSWER_S)
    for value in (b"aborted", b"committed"):
        writer.begin_transaction()
        writer.produce(job.topic, value)
        assert writer.flush(_ANSWER_S) == 0  # an abort drops what was not sent
        if value == b"aborted":
            writer.abort_transaction(_ANSWER_S)
        else:
            writer.commit_transaction(_ANSWER_S)


def _read_until(consumer: Consumer, numbers: Numbers, sent: int) -> None:
    ends_s = time.monotonic() + _ANSWER_S
    while not (numbers.count == sent and numbers.has_transaction):
        assert time.monotonic() < ends_s, f"read {numbers.count} of {sent}"
        _read(consumer, numbers, 0.2)


def _read(consumer: Consumer, numbers: Numbers, timeout_s: float) -> None:
    for message in consumer.consume(500, timeout_s):
        error = message.error()
        assert error is None, error
        value = message.value()
        assert isinstance(value, bytes)
        numbers.take(value)


def settings(job: Job) -> dict[str, Any]:
    """The settings of a connection."""
    found: dict[str, Any] = {
        "bootstrap.servers": job.bootstrap, "security.protocol": job.protocol,
        "ssl.ca.location": job.authority or None,
        "ssl.certificate.location": job.key or None, "ssl.key.location": job.key or None,
        "sasl.mechanism": job.mechanism or None,
    }  # fmt: skip
    if job.mechanism == "OAUTHBEARER":
        found["oauth_cb"] = lambda _: unsecured_token(job.name)
    elif job.mechanism:
        found |= {"sasl.username": job.name, "sasl.password": job.password}
    return {name: value for name, value in found.items() if value is not None}
