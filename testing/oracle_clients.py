"""Writes the ledger of `ottla oracle` for programs with confluent-kafka.

`RecordedProducer` and `RecordedConsumer` have the methods of confluent-kafka's classes that a
copying program calls, call them, and write what was promised. They need that package.

    with Ledger("history.jsonl") as ledger:
        producer = RecordedProducer(ledger, {"bootstrap.servers": "127.0.0.1:9092"})
        producer.produce("orders", "order-7")
        producer.flush()
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from secrets import token_hex
from threading import Lock
from types import TracebackType
from typing import Any, Final, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from ..verdict.oracle.history import (
    ABORT,
    ASSIGN,
    BEGIN,
    COMMIT,
    FAIL,
    INFO,
    INIT,
    NOWHERE,
    OK,
    POLL,
    READ_COMMITTED,
    SEND,
    Value,
)
from .oracle_logs import value_of

_NOT_SENT: Final = frozenset({KafkaError._PURGE_QUEUE, KafkaError._QUEUE_FULL})
Delivered = Callable[[KafkaError | None, Message], object]
Records = dict[str, list[tuple[int, Value]]]


class Ledger:
    """A file of operations in the order of time; several clients and threads may write to it.

    Args:
        path: the file; it is replaced.
    """

    def __init__(self, path: Path | str) -> None:
        self._file = Path(path).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115  # close()
        self._lock = Lock()
        self._numbers = count(1)
        self._run = token_hex(4)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; each line is in it already."""
        self._file.close()

    def name(self, kind: str) -> str:
        """A name that no other client and no other operation has, in other files neither."""
        return f"{kind}-{self._run}-{next(self._numbers)}"

    def write(self, process: str, op: str, kind: str, **fields: object) -> None:
        """Write a line."""
        given = {name: value for name, value in fields.items() if value}
        with self._lock:
            known = {"process": process, "op": op, "type": kind, "time_ns": time.time_ns()}
            self._file.write(json.dumps(known | given) + "\n")


class RecordedProducer:
    """A producer whose sends and transactions are in the ledger. Each value is sent once in a run.

    Args:
        settings: of confluent_kafka.Producer.
    """

    def __init__(self, ledger: Ledger, settings: Mapping[str, Any]) -> None:
        self.producer = Producer(dict(settings))
        self._ledger = ledger
        self._process = ledger.name("producer")
        self._transactional_id = str(settings.get("transactional.id") or "")
        self._txn = ""
        self._offsets: tuple[str, dict[str, int]] = ("", {})

    def init_transactions(self, *timeout_s: float) -> None:
        """Fence earlier producers of the transactional id."""
        self.producer.init_transactions(*timeout_s)
        self._ledger.write(self._process, INIT, OK, transactional_id=self._transactional_id)

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        self.producer.begin_transaction()
        self._txn = self._ledger.name(self._process)
        self._offsets = ("", {})

    def produce(
        self,
        topic: str,
        value: str | bytes,
        key: str | bytes | None = None,
        partition: int = -1,
        on_delivery: Delivered | None = None,
        **more: Any,
    ) -> None:
        """Send a record; its end is in the ledger when it is delivered."""
        data = value.encode() if isinstance(value, str) else value
        # Several sends are under way, and a process of the ledger does one thing at a time.
        process, txn = self._ledger.name("send"), self._txn
        place = f"{topic}-{partition if partition >= 0 else '?'}"
        sent: Records = {place: [(-1, value_of(data))]}
        self._ledger.write(process, SEND, BEGIN, txn=txn, records=sent)

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                kind = FAIL if error.code() in _NOT_SENT else INFO
                self._ledger.write(process, SEND, kind, txn=txn, records=sent)
            else:
                self._ledger.write(process, SEND, OK, txn=txn, records=_records([message]))
            if on_delivery is not None:
                on_delivery(error, message)

        try:
            self.producer.produce(
                topic, data, key, partition=partition, on_delivery=delivered, **more
            )
        except (BufferError, KafkaException):
            self._ledger.write(process, SEND, FAIL, txn=txn, records=sent)
            raise

    def poll(self, *timeout_s: float) -> int:
        """Serve the callbacks."""
        return int(self.producer.poll(*timeout_s))

    def flush(self, *timeout_s: float) -> int:
        """Wait for all deliveries."""
        return int(self.producer.flush(*timeout_s))

    def send_offsets_to_transaction(
        self, offsets: Sequence[TopicPartition], group: Any, *timeout_s: float, group_id: str
    ) -> None:
        """Add offsets to the transaction.

        Args:
            group: what consumer_group_metadata() returns.
            group_id: the group, which that object does not tell.
        """
        self.producer.send_offsets_to_transaction(list(offsets), group, *timeout_s)
        self._offsets = (group_id, {**self._offsets[1], **_offsets(offsets)})

    def commit_transaction(self, *timeout_s: float) -> None:
        """Commit the transaction."""
        group, offsets = self._offsets
        self._end_transaction(COMMIT, self.producer.commit_transaction, timeout_s, group, offsets)

    def abort_transaction(self, *timeout_s: float) -> None:
        """Abort the transaction."""
        self._end_transaction(ABORT, self.producer.abort_transaction, timeout_s, "", {})

    def _end_transaction(
        self,
        op: str,
        end: Callable[..., object],
        timeout_s: tuple[float, ...],
        group: str,
        offsets: dict[str, int],
    ) -> None:
        fields = {"txn": self._txn, "group": group, "offsets": offsets}
        self._ledger.write(self._process, op, BEGIN, **fields)
        try:
            end(*timeout_s)
        except KafkaException:
            self._ledger.write(self._process, op, INFO, **fields)
            raise
        self._ledger.write(self._process, op, OK, **fields)
        self._txn = ""


class RecordedConsumer:
    """A consumer whose polls, positions and commits are in the ledger.

    Args:
        settings: of confluent_kafka.Consumer.
    """

    def __init__(self, ledger: Ledger, settings: Mapping[str, Any]) -> None:
        self.consumer = Consumer(dict(settings))
        self._ledger = ledger
        self._process = ledger.name("consumer")
        self._group = str(settings.get("group.id") or "")
        self._isolation = str(settings.get("isolation.level") or READ_COMMITTED)

    def subscribe(
        self,
        topics: Sequence[str],
        on_assign: Callable[[Consumer, list[TopicPartition]], object] | None = None,
    ) -> None:
        """Subscribe; each assignment is in the ledger."""

        def assigned(consumer: Consumer, places: list[TopicPartition]) -> None:
            if on_assign is not None:
                on_assign(consumer, places)
            self._goes_on(places)

        self.consumer.subscribe(list(topics), on_assign=assigned)

    def assign(self, places: Sequence[TopicPartition]) -> None:
        """Read these partitions from these offsets."""
        self.consumer.assign(list(places))
        self._goes_on(places)

    def seek(self, place: TopicPartition) -> None:
        """Go on at another offset."""
        self.consumer.seek(place)
        self._goes_on([place])

    def poll(self, timeout_s: float = -1) -> Message | None:
        """The next message, or an error, or None."""
        message = self.consumer.poll(timeout_s)
        self._record_polled([] if message is None else [message])
        return message

    def consume(self, num_messages: int = 1, timeout_s: float = -1) -> list[Message]:
        """The next messages."""
        messages = self.consumer.consume(num_messages, timeout_s)
        self._record_polled(messages)
        return list(messages)

    def commit(self, offsets: Sequence[TopicPartition]) -> None:
        """Commit offsets, and wait for it."""
        fields = {"group": self._group, "offsets": _offsets(offsets)}
        self._ledger.write(self._process, COMMIT, BEGIN, **fields)
        try:
            self.consumer.commit(offsets=list(offsets), asynchronous=False)
        except KafkaException:
            self._ledger.write(self._process, COMMIT, INFO, **fields)
            raise
        self._ledger.write(self._process, COMMIT, OK, **fields)

    def close(self) -> None:
        """Leave the group."""
        self.consumer.close()

    def _goes_on(self, places: Iterable[TopicPartition]) -> None:
        offsets = {f"{each.topic}-{each.partition}": max(each.offset, -1) for each in places}
        self._ledger.write(self._process, ASSIGN, OK, offsets=offsets)

    def _record_polled(self, messages: Iterable[Message]) -> None:
        records = _records(each for each in messages if each.error() is None)
        if records:
            fields = {"isolation": self._isolation, "records": records}
            self._ledger.write(self._process, POLL, OK, **fields)


def _records(messages: Iterable[Message]) -> Records:
    found: Records = {}
    for each in messages:
        place = f"{each.topic()}-{each.partition()}"
        offset = each.offset()
        found.setdefault(place, []).append(
            (NOWHERE if offset is None else offset, value_of(each.value()))
        )
    return found


def _offsets(places: Iterable[TopicPartition]) -> dict[str, int]:
    return {f"{each.topic}-{each.partition}": each.offset for each in places}
