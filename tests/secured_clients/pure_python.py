"""kafka-python."""

from __future__ import annotations

import time
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.net.sasl.oauth import AbstractTokenProvider

from .job import VALUES, Job, Report, unsecured_token
from .reading import Numbers

_ANSWER_S = 20.0
# With a few milliseconds its own threads race for the consumer, and a poll returns at records.
_POLL_MS = 100


class Tokens(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """Unsecured tokens of one user."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def token(self) -> str:
        return unsecured_token(self._name)[0]


def run(job: Job) -> Report:
    """Carry out a job."""
    producer = KafkaProducer(**settings(job), enable_idempotence=True, linger_ms=1)
    reading: dict[str, Any] = {"auto_offset_reset": "earliest", "group_id": job.topic}
    reading["isolation_level"] = "read_committed"
    consumer = KafkaConsumer(job.topic, **settings(job), **reading)
    numbers, ends_s = Numbers(), time.monotonic() + job.seconds
    promises: list[Any] = []
    while len(promises) < VALUES or time.monotonic() < ends_s:
        promises.append(producer.send(job.topic, str(len(promises)).encode()))
        _read(consumer, numbers, _POLL_MS)
    for promise in promises:
        promise.get(_ANSWER_S)
    producer.close()
    _write_transactions(job)
    ends_s = time.monotonic() + _ANSWER_S
    while not (numbers.count == len(promises) and numbers.has_transaction):
        assert time.monotonic() < ends_s, f"read {numbers.count} of {len(promises)}"
        _read(consumer, numbers, 200)
    consumer.close()
    return Report(sent=len(promises), read=numbers.count)


def _write_transactions(job: Job) -> None:
    writer = KafkaProducer(**settings(job), transactional_id=job.topic)
    writer.init_transactions()
    for value in (b"aborted", b"committed"):
        writer.begin_transaction()
        writer.send(job.topic, value).get(_ANSWER_S)
        if value == b"aborted":
            writer.abort_transaction()
        else:
            writer.commit_transaction()
    writer.close()


def _read(consumer: Any, numbers: Numbers, timeout_ms: int) -> None:
    for records in consumer.poll(timeout_ms).values():
        for record in records:
            numbers.take(record.value)


def settings(job: Job) -> dict[str, Any]:
    """The settings of a connection."""
    found: dict[str, Any] = {
        "bootstrap_servers": job.bootstrap, "security_protocol": job.protocol,
        "ssl_cafile": job.authority or None, "ssl_certfile": job.key or None,
        "ssl_keyfile": job.key or None, "sasl_mechanism": job.mechanism or None,
    }  # fmt: skip
    if job.mechanism == "OAUTHBEARER":
        found["sasl_oauth_token_provider"] = Tokens(job.name)
    elif job.mechanism:
        found |= {"sasl_plain_username": job.name, "sasl_plain_password": job.password}
    return {name: value for name, value in found.items() if value is not None}
