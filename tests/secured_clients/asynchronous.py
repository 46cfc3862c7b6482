"""aiokafka."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider

from .job import VALUES, Job, Report, unsecured_token
from .reading import Numbers

_ANSWER_S = 20.0


class Tokens(AbstractTokenProvider):  # type: ignore[misc]  # it has no types
    """Unsecured tokens of one user."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def token(self) -> str:
        return unsecured_token(self._name)[0]


def run(job: Job) -> Report:
    """Carry out a job."""
    return asyncio.run(_run(job))


async def _run(job: Job) -> Report:
    producer = AIOKafkaProducer(**settings(job), enable_idempotence=True, linger_ms=1)
    reading = {"auto_offset_reset": "earliest", "group_id": job.topic}
    reading["isolation_level"] = "read_committed"
    consumer = AIOKafkaConsumer(job.topic, **settings(job), **reading)
    numbers, ends_s = Numbers(), time.monotonic() + job.seconds
    promises: list[Any] = []
    try:
        await producer.start()
        await consumer.start()
        while len(promises) < VALUES or time.monotonic() < ends_s:
            promises.append(await producer.send(job.topic, str(len(promises)).encode()))
            await _read(consumer, numbers, 1)
        await asyncio.wait_for(asyncio.gather(*promises), _ANSWER_S)
        await _write_transactions(job)
        ends_s = time.monotonic() + _ANSWER_S
        while not (numbers.count == len(promises) and numbers.has_transaction):
            assert time.monotonic() < ends_s, f"read {numbers.count} of {len(promises)}"
            await _read(consumer, numbers, 200)
    finally:
        await producer.stop()
        await consumer.stop()
    return Report(sent=len(promises), read=numbers.count)


async def _write_transactions(job: Job) -> None:
    writer = AIOKafkaProducer(**settings(job), transactional_id=job.topic)
    await writer.start()
    try:
        for value in (b"aborted", b"committed"):
            await writer.begin_transaction()
            await writer.send_and_wait(job.topic, value)
            if value == b"aborted":
                await writer.abort_transaction()
            else:
                await writer.commit_transaction()
    finally:
        await writer.stop()


async def _read(consumer: Any, numbers: Numbers, timeout_ms: int) -> None:
    for records in (await consumer.getmany(timeout_ms=timeout_ms)).values():
        for record in records:
            numbers.take(record.value)


def settings(job: Job) -> dict[str, Any]:
    """The settings of a connection."""
    found: dict[str, Any] = {"bootstrap_servers": job.bootstrap, "security_protocol": job.protocol}
    if job.authority:
        context = ssl.create_default_context(cafile=job.authority)
        if job.key:
            context.load_cert_chain(job.key)
        found["ssl_context"] = context
    if job.mechanism:
        found["sasl_mechanism"] = job.mechanism
    if job.mechanism == "OAUTHBEARER":
        found["sasl_oauth_token_provider"] = Tokens(job.name)
    elif job.mechanism:
        found |= {"sasl_plain_username": job.name, "sasl_plain_password": job.password}
    return found
