"""Writes the rows of a task in a transaction, and leaves it open for the driver. Runs on executors.

Only confluent-kafka is needed here. The producer does not abort its transaction when it is closed;
its statistics contain the producer id and epoch that the driver needs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from .crash_steps import CrashStep, reached
from .options import SinkOptions
from .tasks import Headers, Span, Task, TransactionKey, row_digest, sum_of

_STATISTICS_MS: Final = 5
_ANSWER_S: Final = 60.0
_ABORT_S: Final = 2.0
_TOO_LARGE: Final = " (kafka.max.request.size is the limit, and max.message.bytes of the topic)"
_TOO_LARGE_FOR_TOPIC: Final = (
    " (max.message.bytes of the topic is the limit for a batch of rows; one has up to"
    " kafka.batch.size, by default 1000000)"
)
_DROPPED: Final = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})
"""Codes of rows that were not sent, or not waited for, because another one failed."""
_FLUSH_S: Final = 600.0  # delivery.timeout.ms ends it earlier


class OutgoingRow(NamedTuple):
    """A row to write; the partition -1: by the hash of the key."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int = -1


class NotWritten(Exception):
    """The rows of a task are not all acknowledged; the transaction must not be committed."""


class TaskWriter:
    """A transaction of one task.

    Args:
        transactional_id: of this attempt alone.
    """

    def __init__(self, options: SinkOptions, transactional_id: str) -> None:
        self._options = options
        self._transactional_id = transactional_id
        self._statistics = ""
        self._failed: KafkaError | None = None
        self._failed_at = ("", -1)
        self._spans: dict[tuple[str, int], tuple[int, int]] = {}
        self._acknowledged = 0
        self._producer: Producer | None = None
        self._trouble = ""
        """What librdkafka said last about its connections."""

    def write(self, rows: Iterable[OutgoingRow], *, task: int) -> Task | None:
        """Write the rows and wait for every acknowledgement; the transaction stays open.

        Returns:
            The report for the driver; None if there are no rows: then there is no transaction.

        Raises:
            NotWritten, KafkaException: the rows are not all written.
        """
        reached(CrashStep.TASK_STARTED, self._options.steps_directory)
        try:
            return self._write(rows, task)
        except BaseException:  # also of a task that Spark kills: readers do not wait for a timeout
            self._abort()
            raise
        finally:
            # The producer has callbacks of this object: its threads and connections would last, and
            # look for brokers that are gone, until the garbage collector finds both.
            self._producer = None

    def _write(self, rows: Iterable[OutgoingRow], task: int) -> Task | None:
        digests: list[int] = []
        producer: Producer | None = None
        for row in rows:
            if producer is None:
                producer = self._begin()
            digests.append(row_digest(row.topic, row.key, row.value, row.headers))
            self._send(producer, row)
            if len(digests) == 1:
                reached(CrashStep.TRANSACTION_BEGUN, self._options.steps_directory)
        if producer is None:
            return None
        reached(CrashStep.ROWS_SENT, self._options.steps_directory)
        left = producer.flush(_FLUSH_S)
        if self._failed is not None:
            raise self._describe_failure(producer)
        if left or self._acknowledged != len(digests):
            raise NotWritten(f"{self._acknowledged} of {len(digests)} rows are acknowledged")
        transaction = self._transaction(producer)
        reached(CrashStep.ROWS_ACKNOWLEDGED, self._options.steps_directory)
        spans = tuple(Span(*place, *offsets) for place, offsets in sorted(self._spans.items()))
        return Task(transaction, task, len(digests), sum_of(digests), spans)

    def _begin(self) -> Producer:
        settings = {
            **self._options.settings(self._transactional_id),
            "statistics.interval.ms": _STATISTICS_MS,
            "stats_cb": self._take_statistics,
            "error_cb": self._take_trouble,
        }
        producer = self._producer = Producer(settings)
        try:
            producer.init_transactions(self._options.answer_s)
        except KafkaException as failed:
            raise self._without_coordinator(failed) from failed
        producer.begin_transaction()
        return producer

    def _without_coordinator(self, failed: KafkaException) -> NotWritten:
        servers, seconds = self._options.bootstrap_servers, self._options.answer_s
        said = f" ({self._trouble})" if self._trouble else ""
        return NotWritten(
            f"transactional id {self._transactional_id}: no coordinator answered at {servers}"
            f" (kafka.bootstrap.servers) within {seconds:g} s (kafka.max.block.ms):"
            f" {failed.args[0].str()}{said}"
        )

    def _describe_failure(self, producer: Producer) -> NotWritten:
        """The error of the first row that was not delivered, with its topic and the brokers."""
        deadline = time.monotonic() + _ABORT_S
        while self._failed and self._failed.code() in _DROPPED and time.monotonic() < deadline:
            producer.poll(0.1)  # that of the row which is the reason comes later
        failed, (topic, partition) = self._failed, self._failed_at
        assert failed is not None
        reason, hint, within = failed.str(), _hint(failed, partition), ""
        try:
            known = producer.list_topics(topic, timeout=_ABORT_S).topics[topic].error
            if known is not None:
                is_missing = known.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
                reason = known.str()
                hint = " (topics are not created by themselves here)" if is_missing else ""
            elif failed.code() in _DROPPED and self._trouble:
                reason = self._trouble  # why all rows were dropped
        except KafkaException:
            hint = f"; {self._trouble or 'no broker answers'}"
            self._producer = None  # nor would one to the end of the transaction
        if failed.code() == KafkaError._MSG_TIMED_OUT:
            within = f" within {self._options.delivery_ms} ms (kafka.delivery.timeout.ms)"
        servers = self._options.bootstrap_servers
        return NotWritten(
            f"a row was not delivered to topic {topic} at {servers}{within}: {reason}{hint}"
        )

    def _abort(self) -> None:
        """Abort the transaction, if a broker answers soon."""
        producer = self._producer
        if producer is None:
            return
        with suppress(KafkaException):  # it may not have begun
            producer.purge()
            producer.abort_transaction(_ABORT_S)

    def _send(self, producer: Producer, row: OutgoingRow) -> None:
        deadline = time.monotonic() + _FLUSH_S
        while True:
            try:
                producer.produce(
                    row.topic,
                    value=row.value,
                    key=row.key,
                    headers=list(row.headers) or None,
                    partition=row.partition,
                    on_delivery=self._note_delivery,
                )
            except BufferError:  # the queue is full
                producer.poll(0.1)
                if time.monotonic() > deadline:
                    raise NotWritten("the broker takes no more rows") from None
            except KafkaException as refused:
                error = refused.args[0]
                self._await_cause(producer, error)
                is_large = error.code() == KafkaError.MSG_SIZE_TOO_LARGE
                hint = _TOO_LARGE if is_large else _hint(error, row.partition)
                raise NotWritten(
                    f"a row cannot be sent to topic {row.topic}: {error.str()}{hint}"
                ) from refused
            else:
                break
        producer.poll(0)
        if self._failed is not None:
            raise self._describe_failure(producer)

    def _await_cause(self, producer: Producer, error: KafkaError) -> None:
        """Raise the error of an earlier row, if that is why no further one is taken."""
        deadline = time.monotonic() + (_ABORT_S if error.code() == KafkaError._STATE else 0)
        while self._failed is None and time.monotonic() < deadline:
            producer.poll(0.1)
        if self._failed is not None:
            raise self._describe_failure(producer)

    def _note_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            if self._failed is None or self._failed.code() in _DROPPED:
                number = message.partition()
                self._failed_at = (message.topic() or "", -1 if number is None else number)
                self._failed = error
            return
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None
        assert partition is not None
        assert offset is not None
        place = (topic, partition)
        first, last = self._spans.get(place, (offset, offset))
        self._spans[place] = (min(first, offset), max(last, offset))
        self._acknowledged += 1

    def _take_trouble(self, error: KafkaError) -> None:
        self._trouble = error.str()

    def _take_statistics(self, text: str) -> None:
        self._statistics = text  # one in hundreds is read

    def _transaction(self, producer: Producer) -> TransactionKey:
        """The transaction that the rows are in, from statistics made after the last answer."""
        self._statistics = ""
        deadline = time.monotonic() + _ANSWER_S
        while not self._statistics:
            producer.poll(0.1)
            if time.monotonic() > deadline:
                raise NotWritten("the producer has no statistics")
        found: dict[str, Any] = json.loads(self._statistics)["eos"]
        # A producer that lost its epoch would have failed its transaction.
        if found["txn_state"] != "InTransaction" or found["epoch_cnt"] != 1:
            raise NotWritten(f"the producer's transaction is {found['txn_state']}")
        return TransactionKey(self._transactional_id, found["producer_id"], found["producer_epoch"])


def _hint(error: KafkaError, partition: int) -> str:
    """Words for an error that waiting does not mend; empty for others."""
    if error.code() == KafkaError._UNKNOWN_PARTITION:
        return f" {partition} (column partition)"
    return _TOO_LARGE_FOR_TOPIC if error.code() == KafkaError.MSG_SIZE_TOO_LARGE else ""
