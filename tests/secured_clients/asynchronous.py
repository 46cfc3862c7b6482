"""aiokafka. A step without an end fails by its name.

The consumer commits by itself, before its end: AIOKafkaConsumer.stop of 0.14.0 retries its last
automatic commit for ever if the connection to the coordinator has expired by then, because it does
not look for a coordinator any more.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider

from .job import VALUES, Job, Report, unsecured_token
from .reading import Numbers

_ANSWER_S = 20.0
_Result = TypeVar("_Result")


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
    reading: dict[str, Any] = {"auto_offset_reset": "earliest", "group_id": job.topic}
    reading |= {"isolation_level": "read_committed", "enable_auto_commit": False}
    consumer = AIOKafkaConsumer(job.topic, **settings(job), **reading)
    numbers = Numbers()
    promises: list[Any] = []
    async with _started("producer", producer), _started("consumer", consumer):
        ends_s = time.monotonic() + job.seconds
        while len(promises) < VALUES or time.monotonic() < ends_s:
            value = str(len(promises)).encode()
            promises.append(await _step("send", producer.send(job.topic, value)))
            await _read(consumer, numbers, 1)
        await _step("acknowledgements", asyncio.gather(*promises))
        await _write_transactions(job)
        ends_s = time.monotonic() + _ANSWER_S
        while not (numbers.count == len(promises) and numbers.has_transaction):
            assert time.monotonic() < ends_s, f"read {numbers.count} of {len(promises)}"
            await _read(consumer, numbers, 200)
        await _step("commit of offsets", consumer.commit())
    return Report(sent=len(promises), read=numbers.count)


async def _write_transactions(job: Job) -> None:
    writer = AIOKafkaProducer(**settings(job), transactional_id=job.topic)
    async with _started("transactional producer", writer):
        for value in (b"aborted", b"committed"):
            await _step("begin of a transaction", writer.begin_transaction())
            await _step("send in a transaction", writer.send_and_wait(job.topic, value))
            if value == b"aborted":
                await _step("abort", writer.abort_transaction())
            else:
                await _step("commit", writer.commit_transaction())


async def _read(consumer: Any, numbers: Numbers, timeout_ms: int) -> None:
    found = await _step("poll", consumer.getmany(timeout_ms=timeout_ms))
    for records in found.values():
        for record in records:
            numbers.take(record.value)


@asynccontextmanager
async def _started(name: str, client: Any) -> AsyncIterator[None]:
    """Start and stop a client; after a failure its own error is the one that is raised."""
    await _step(f"start of the {name}", client.start())
    try:
        yield
    except BaseException:
        with suppress(TimeoutError, asyncio.CancelledError):
            await _step(f"stop of the {name}", client.stop())
        raise
    with suppress(asyncio.CancelledError):  # of a task that it cancels itself
        await _step(f"stop of the {name}", client.stop())


async def _step(name: str, work: Awaitable[_Result]) -> _Result:
    """Its result. Raises TimeoutError with its name, also if it resists its cancellation."""
    task = asyncio.ensure_future(work)
    done, _ = await asyncio.wait([task], timeout=_ANSWER_S)
    if not done:
        task.cancel()
        raise TimeoutError(f"no end of the step {name!r} within {_ANSWER_S:.0f} s")
    return task.result()


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
