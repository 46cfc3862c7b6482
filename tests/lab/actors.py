"""Stock clients with one set of methods, for tests that hold for each of them."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import KafkaError as ConfluentError
from confluent_kafka import TopicPartition as Place

from ottla.testing import Ottla

from ..kafka.installation import POM, cache_directory, libraries

_HERE: Final = Path(__file__).resolve().parent
_LIMIT_S: Final = 40.0
REQUEST_TIMEOUT_MS: Final = 800
_BLOCK_MS: Final = 10_000
MOST_ERRORS: Final = 3


class Failed(Exception):
    """A call of a client failed; the text is the name of its error."""


class Actor(Protocol):
    """A client with a transactional id; its client id is `actor`.

    Attributes:
        survives_wrong_ids: whether it sends a request again whose answer has a wrong correlation
            id. The Java client forgets the request, and its caller waits until a timeout.
    """

    survives_wrong_ids: bool

    # `offset` commits an offset of a group with the transaction.
    # `read` reads committed records from one offset to another and returns VALUE@OFFSET of each.
    # An error that the client reports comes as its name; then the program fetches again
    # from the position of the client. It gives up after three errors.
    def open(self, broker: Ottla, transactional_id: str) -> None: ...
    def begin(self) -> None: ...
    def send(self, topic: str, value: str) -> None: ...
    def offset(self, group: str, topic: str, offset: int) -> None: ...
    def flush(self) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def poll(self, topic: str, count: int) -> list[str]: ...
    def read(self, topic: str, start: int, end: int) -> list[str]: ...
    def close(self) -> None: ...


class Aiokafka:
    """aiokafka, on an event loop of its own."""

    survives_wrong_ids = True

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._sent: list[asyncio.Future[Any]] = []
        self._settings: dict[str, Any] = {}

    def _run(self, call: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self._runner.run(asyncio.wait_for(call, _LIMIT_S))
        except KafkaError as failure:
            raise Failed(type(failure).__name__) from failure

    def open(self, broker: Ottla, transactional_id: str) -> None:
        self._settings = {"bootstrap_servers": broker.bootstrap_servers, "client_id": "actor"}
        self._settings["request_timeout_ms"] = REQUEST_TIMEOUT_MS

        async def started() -> AIOKafkaProducer:
            producer = AIOKafkaProducer(transactional_id=transactional_id, **self._settings)
            await producer.start()
            return producer

        self._producer = self._run(started())

    def begin(self) -> None:
        self._run(self._producer.begin_transaction())

    def send(self, topic: str, value: str) -> None:
        self._sent.append(self._run(self._producer.send(topic, value.encode())))

    def offset(self, group: str, topic: str, offset: int) -> None:
        places = {TopicPartition(topic, 0): offset}
        self._run(self._producer.send_offsets_to_transaction(places, group))

    def flush(self) -> None:
        async def all_sent() -> None:
            await asyncio.gather(*self._sent)

        self._run(all_sent())
        self._sent.clear()

    def commit(self) -> None:
        self._run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._run(self._producer.abort_transaction())

    def poll(self, topic: str, count: int) -> list[str]:
        async def read() -> list[str]:
            settings = {"isolation_level": "read_committed", "auto_offset_reset": "earliest"}
            consumer = AIOKafkaConsumer(**settings, **self._settings)
            await consumer.start()
            try:
                consumer.assign([TopicPartition(topic, 0)])
                return [(await consumer.getone()).value.decode() for _ in range(count)]
            finally:
                await consumer.stop()

        found: list[str] = self._run(read())
        return found

    def read(self, topic: str, start: int, end: int) -> list[str]:
        async def read() -> list[str]:
            consumer = AIOKafkaConsumer(isolation_level="read_committed", **self._settings)
            await consumer.start()
            partition, found, errors = TopicPartition(topic, 0), list[str](), 0
            try:
                consumer.assign([partition])
                consumer.seek(partition, start)
                while errors < MOST_ERRORS and await consumer.position(partition) < end:
                    try:
                        many = await consumer.getmany(timeout_ms=100)
                    except KafkaError as failure:
                        found.append(type(failure).__name__)
                        errors += 1
                        consumer.seek(partition, await consumer.position(partition))
                    else:
                        records = many.get(partition, [])
                        found += [f"{each.value.decode()}@{each.offset}" for each in records]
            finally:
                await consumer.stop()
            return found

        found: list[str] = self._run(read())
        return found

    def close(self) -> None:
        self._run(self._producer.stop())

    def end(self) -> None:
        """Close the event loop."""
        self._runner.close()


def _named(call: Callable[[float], object]) -> None:
    """Call librdkafka; an error comes by its name."""
    try:
        call(_LIMIT_S)
    except KafkaException as failure:
        raise Failed(failure.args[0].name()) from failure


class Librdkafka:
    """librdkafka. Its consumer passes over a batch with an error by itself."""

    survives_wrong_ids = True

    def __init__(self, *, check_crcs: bool = True) -> None:
        self._check_crcs = check_crcs

    def open(self, broker: Ottla, transactional_id: str) -> None:
        self._settings: dict[str, Any] = {
            "bootstrap.servers": broker.bootstrap_servers, "client.id": "actor", "log_level": 0,
            "reconnect.backoff.max.ms": 100, "retry.backoff.ms": 20, "socket.timeout.ms": 1000,
        }  # fmt: skip
        self._transactional_id = transactional_id
        self._errors: list[ConfluentError] = []

    @functools.cached_property
    def _producer(self) -> Producer:
        settings = {"transactional.id": self._transactional_id, "linger.ms": 0}
        producer = Producer({**self._settings, **settings})
        producer.init_transactions(_LIMIT_S)
        return producer

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, value: str) -> None:
        def delivered(error: ConfluentError | None, message: object) -> None:
            if error is not None:
                self._errors.append(error)

        self._producer.produce(topic, value.encode(), on_delivery=delivered)

    def offset(self, group: str, topic: str, offset: int) -> None:
        consumer = Consumer({**self._settings, "group.id": group})
        metadata = consumer.consumer_group_metadata()
        self._producer.send_offsets_to_transaction([Place(topic, 0, offset)], metadata, _LIMIT_S)
        consumer.close()

    def flush(self) -> None:
        assert self._producer.flush(_LIMIT_S) == 0
        assert not self._errors, self._errors

    def commit(self) -> None:
        _named(self._producer.commit_transaction)

    def abort(self) -> None:
        _named(self._producer.abort_transaction)

    def poll(self, topic: str, count: int) -> list[str]:
        consumer = self._reader()
        consumer.assign([Place(topic, 0, 0)])
        try:
            read = [consumer.poll(_LIMIT_S) for _ in range(count)]
        finally:
            consumer.close()
        return [(each.value() or b"").decode() for each in read if each is not None]

    def close(self) -> None:
        self.__dict__.pop("_producer", None)

    def end(self) -> None:
        """There is nothing to end."""

    def _reader(self) -> Consumer:
        mine = {
            "group.id": "actor", "isolation.level": "read_committed", "enable.partition.eof": True,
            "fetch.wait.max.ms": 10, "fetch.error.backoff.ms": 10, "check.crcs": self._check_crcs,
        }  # fmt: skip
        return Consumer({**self._settings, **mine})

    def read(self, topic: str, start: int, end: int) -> list[str]:
        consumer = self._reader()
        found: list[str] = []
        consumer.assign([Place(topic, 0, start)])
        try:
            while (message := consumer.poll(_LIMIT_S)) is not None:
                error = message.error()
                if error is None:
                    found.append(f"{(message.value() or b'').decode()}@{message.offset()}")
                elif error.code() != ConfluentError._PARTITION_EOF:
                    found.append(error.name())
                elif (message.offset() or 0) >= end:
                    return found
        finally:
            consumer.close()
        raise TimeoutError(f"{found} and no end")


class Java:
    """The Java client: one program, driven by lines."""

    survives_wrong_ids = False

    def __init__(self, *, block_ms: int = _BLOCK_MS) -> None:
        self._block_ms = block_ms
        self._process = subprocess.Popen(
            _java(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, bufsize=1,
        )  # fmt: skip

    def _call(self, *words: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(words) + "\n")
        kind, _, rest = self._process.stdout.readline().rstrip("\n").partition(" ")
        if kind != "ok":
            raise Failed(rest)
        return rest

    def open(self, broker: Ottla, transactional_id: str) -> None:
        self._call(
            "open", f"bootstrap.servers={broker.bootstrap_servers}", "client.id=actor",
            f"transactional.id={transactional_id}", f"request.timeout.ms={REQUEST_TIMEOUT_MS}",
            "linger.ms=0", f"max.block.ms={self._block_ms}",
        )  # fmt: skip
        self._call("init")

    def begin(self) -> None:
        self._call("begin")

    def send(self, topic: str, value: str) -> None:
        self._call("send", topic, value)

    def offset(self, group: str, topic: str, offset: int) -> None:
        self._call("offset", group, topic, str(offset))

    def flush(self) -> None:
        self._call("flush")

    def commit(self) -> None:
        self._call("commit")

    def abort(self) -> None:
        self._call("abort")

    def poll(self, topic: str, count: int) -> list[str]:
        return self._call("poll", topic, str(count)).split()

    def read(self, topic: str, start: int, end: int) -> list[str]:
        return self._call("read", topic, str(start), str(end), str(MOST_ERRORS)).split()

    def close(self) -> None:
        self._call("close")

    def end(self) -> None:
        """End the program."""
        self._process.communicate(timeout=20)


@functools.cache
def _java() -> tuple[str, ...]:
    jars = f"{libraries()}/*"
    source = _HERE / "java/LabClient.java"
    name = hashlib.sha256(source.read_bytes() + POM.read_bytes()).hexdigest()[:16]
    classes = str(cache_directory() / f"lab-client-{name}")
    if not Path(classes).exists():
        with tempfile.TemporaryDirectory(dir=cache_directory()) as made:
            compiled = f"{made}/classes"  # whole or not there: several runs may share the cache
            subprocess.run(["javac", "-d", compiled, "-cp", jars, source], check=True)
            with suppress(OSError):  # another run was faster
                Path(compiled).rename(classes)
    flags = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    return "java", *flags, "-cp", os.pathsep.join((classes, jars)), "LabClient"
