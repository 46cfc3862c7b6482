"""Helpers for tests of Spark pipelines on a broker of Ottla or Apache Kafka.

`produce` and `topic` move rows into and out of topics, with the fate of each record; `run_until`
waits for a query without sleeps; `kill_in_batch` kills a broker in the middle of a batch, and
`assert_killed` fails if it has not; `assert_exactly_once` compares output and input of a pipeline.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from .connector import without

try:
    from pyspark.sql import DataFrame
    from pyspark.sql.functions import udf
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryListener,
    )
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(without(missing, __name__), name=missing.name) from None

from ..client.admin.offsets import EARLIEST, LATEST, partition_offsets
from ..client.cluster_client import Client, NoAnswer
from ..client.properties import security_of
from ..client.record_reader import RecordReader
from ..client.retries import patiently
from .exactly_once.cluster import sink_client
from .exactly_once.producer_settings import JAVA_DEFAULTS
from .kafka_log.progress import offsets_in
from .pairs import Text, pairs_of, pairs_of_frame

if TYPE_CHECKING:
    from confluent_kafka import Producer
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery, StreamingQueryManager

_SCHEMA: Final = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp,"
    " headers array<struct<key: string, value: binary>>,"
    " producer_id long, producer_epoch int, fate string"
)
_SHOWN: Final = 5
_FLUSH_S: Final = 60.0
_QUEUE_S: Final = 0.1
_TOPIC_S: Final = 2.0
"""A broker that restarts, or makes the topic, does not know it for a moment."""
_SERVERS: Final = "bootstrap.servers"


class Broker(Protocol):
    """A broker of `ottla.testing`: it knows how a client connects and logs in."""

    def client_settings(self, client: str, /) -> Mapping[str, Any]: ...


Bootstrap = str | Mapping[str, Any] | Broker
"""HOST:PORT, with commas between them; or the settings of a client of librdkafka; or a broker of
`ottla.testing`, also one with TLS or logins."""
Offsets = Mapping[str, Mapping[int, int]]
"""The offset after the last record, by topic and partition."""
Rows = DataFrame | str | bytes | Iterable[Text | bytearray | tuple[Text, Text]]


def produce(bootstrap_servers: Bootstrap, topic: str, rows: Rows, **kafka: str) -> Offsets:
    """Write rows into a topic; return its end offsets, for `run_until`.

    Args:
        rows: a DataFrame with a column `value`, and optionally `key`, of text or bytes; or values;
            or pairs of key and value; or a single text for one record.
        kafka: settings of librdkafka, with underscores for dots.

    Raises:
        TypeError: a row is none of these; nothing is produced, but for a DataFrame.
        ErrorAnswer: there is no such topic, and the broker makes none.
        AssertionError: a record is not acknowledged, or refused.
    """
    from confluent_kafka import KafkaError, KafkaException, Message, Producer

    refusals: list[str] = []

    def note(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            refusals.append(error.str())

    settings = {name.replace("_", "."): value for name, value in kafka.items()}
    pairs = pairs_of_frame(rows) if isinstance(rows, DataFrame) else iter([*pairs_of(rows)])
    _await_topic(bootstrap_servers, topic)
    # Keys are where Java's producers, and so Spark's own sink, put them.
    producer = Producer({**JAVA_DEFAULTS, **_settings(bootstrap_servers), **settings})
    for key, value in pairs:
        try:
            _send(producer, topic, key, value, note)
        except KafkaException as wrong:
            refusals.append(wrong.args[0].str())
        if refusals:
            break
    left = producer.flush(_FLUSH_S)
    if refusals:
        raise AssertionError(f"a record of {topic} is refused: {refusals[0]}")
    if left:
        raise AssertionError(f"{left} records of {topic} are not acknowledged")
    return end_offsets(bootstrap_servers, topic)


def _send(
    producer: Producer, topic: str, key: Text, value: Text, note: Callable[..., None]
) -> None:
    while True:
        try:
            producer.produce(topic, value, key, on_delivery=note)
        except BufferError:  # the queue is full
            producer.poll(_QUEUE_S)
        else:
            producer.poll(0)
            return


def _await_topic(bootstrap_servers: Bootstrap, topic: str) -> None:
    """Look for a topic, as a producer does; brokers that are away now may be there for it."""
    with _client(bootstrap_servers) as client, suppress(NoAnswer):
        patiently(lambda: client.partitions(topic, may_create=True), _TOPIC_S)


def _settings(bootstrap_servers: Bootstrap) -> Mapping[str, Any]:
    if isinstance(bootstrap_servers, str):
        return {_SERVERS: bootstrap_servers}
    if isinstance(bootstrap_servers, Mapping):
        return bootstrap_servers
    return bootstrap_servers.client_settings("confluent")


def _client(bootstrap_servers: Bootstrap) -> Client:
    settings = _settings(bootstrap_servers)
    return sink_client(settings[_SERVERS], security_of(settings))


def _offsets(client: Client, topic: str, time_ms: int) -> dict[int, int]:
    """The offset of each partition at a time, also while brokers restart.

    Raises:
        ErrorAnswer: there is no such topic.
    """
    with suppress(NoAnswer):
        patiently(partial(client.partitions, topic), _TOPIC_S)
    partitions = patiently(partial(client.partitions, topic))
    times_ms = dict.fromkeys(partitions, time_ms)
    return patiently(partial(partition_offsets, client, topic, times_ms))


def end_offsets(bootstrap_servers: Bootstrap, *topics: str) -> Offsets:
    """The offset after the last record of each partition."""
    with _client(bootstrap_servers) as client:
        return {topic: _offsets(client, topic, LATEST) for topic in topics}


def topic(spark: SparkSession, bootstrap_servers: Bootstrap, name: str) -> DataFrame:
    """All records of a topic, also of aborted and open transactions.

    The column `fate` is "committed", "aborted", "open", or "plain" for a record without a
    transaction. The driver reads the records, so the topic should be small.
    """
    with _client(bootstrap_servers) as client:
        rows = patiently(lambda: list(_records(client, name)))
    in_order = sorted(rows, key=lambda row: (row[3], row[4]))  # by partition and offset
    return spark.createDataFrame(in_order, _SCHEMA)


def _records(client: Client, name: str) -> Iterator[tuple[Any, ...]]:
    """The rows of all partitions."""
    ends = _offsets(client, name, LATEST)
    reader = RecordReader(client, name, _offsets(client, name, EARLIEST))
    for record in reader.read_to(ends):
        moment = datetime.fromtimestamp(record.timestamp_ms / 1000, UTC)
        yield (
            record.key, record.value, name, record.partition, record.offset, moment,
            list(record.headers), record.producer_id, record.producer_epoch, record.fate.value,
        )  # fmt: skip


class _Progress(StreamingQueryListener):
    """Sets an event after each batch of a query, and at its end."""

    def __init__(self, query_id: str) -> None:
        self._query_id = query_id
        self.changed = threading.Event()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing has been read yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """A batch is committed."""
        if str(event.progress.id) == self._query_id:
            self.changed.set()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """There was nothing to read."""
        if str(event.id) == self._query_id:
            self.changed.set()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """The query has stopped or failed."""
        if str(event.id) == self._query_id:
            self.changed.set()


def run_until(query: StreamingQuery, offsets: Offsets, *, timeout_s: float = 60.0) -> None:
    """Return when a query has committed a batch that reaches these offsets of its sources.

    The sources are those of Kafka, or `kafka-log`. It works from any thread and session.

    Raises:
        AssertionError: it does not within `timeout_s`, or it stopped before.
        StreamingQueryException: the query failed.
        ValueError: there are no offsets to wait for.
    """
    if not any(offsets.values()):
        raise ValueError(f"{offsets}: an offset of a partition was expected, by topic")
    listener = _Progress(str(query.id))
    streams = _streams_of(query)
    streams.addListener(listener)
    deadline = time.monotonic() + timeout_s
    try:
        while not _reaches(query, offsets):
            if not query.isActive:
                if failure := query.exception():
                    raise failure
                assert _reaches(query, offsets), f"{_name(query)} stopped before {offsets}"
                return
            waited = listener.changed.wait(max(0.0, deadline - time.monotonic()))
            assert waited, f"{_name(query)} is not at {offsets}, but at {_reached(query)}"
            listener.changed.clear()
    finally:
        streams.removeListener(listener)


def _streams_of(query: StreamingQuery) -> StreamingQueryManager:
    """The queries of the session that started this one, whatever session this thread has."""
    from pyspark.sql.streaming.query import StreamingQueryManager

    return StreamingQueryManager(query._jsq.sparkSession().streams())


def _name(query: StreamingQuery) -> str:
    return f"query {query.name or query.id}"


def _reached(query: StreamingQuery) -> dict[str, dict[int, int]]:
    """The end offsets of the last batch, by topic and partition.

    Of several sources with the same topic, as in a join with itself, the one that is behind counts.
    """
    progress = query.lastProgress
    found: dict[str, dict[int, int]] = {}
    for source in () if progress is None else progress["sources"]:
        for name, partitions in offsets_in(source["endOffset"]).items():
            known = found.setdefault(name, {})
            for partition, offset in partitions.items():
                known[partition] = min(offset, known.get(partition, offset))
    return found


def _reaches(query: StreamingQuery, offsets: Offsets) -> bool:
    reached = _reached(query)
    return all(
        reached.get(name, {}).get(partition, 0) >= offset
        for name, partitions in offsets.items()
        for partition, offset in partitions.items()
    )


class _Kill(NamedTuple):
    """A kill that was ordered.

    Attributes:
        row: the one that kills.
        file: is there until a task takes the order, and has another name when the process is dead.
    """

    row: int
    file: Path

    @property
    def done(self) -> Path:
        return self.file.with_suffix(".done")


_kills: Final[list[_Kill]] = []


def kill_in_batch(frame: DataFrame, pid: int, *, row: int = 1) -> DataFrame:
    """The same rows; the first task that comes to a row kills a process (SIGKILL), once.

    A test of pytest that ordered a kill, and has passed without one, fails. Elsewhere
    `assert_killed` does it.

    Args:
        frame: the rows of a query, batch or streaming; the task runs on this machine.
        pid: for example `broker.pid` of `ottla.testing`. The test starts that broker again, by
            `broker.kill()` and `broker.start()`.
        row: the row of a task that kills, counted from 1 in each task.

    Raises:
        ValueError: `row` is below 1, or `pid` is not that of another process.
    """
    if not isinstance(row, int) or row < 1:
        raise ValueError(f"row is {row}: rows are counted from 1")
    if not isinstance(pid, int) or pid <= 1 or pid == os.getpid():  # 0, -1: many processes
        raise ValueError(f"pid is {pid}: that of a process was expected, such as broker.pid")
    handle, name = tempfile.mkstemp(prefix="ottla-kill-", suffix=".ordered")
    os.close(handle)
    order = _Kill(row, Path(name))
    _kills.append(order)
    passed = 0

    def passes() -> bool:
        nonlocal passed
        passed += 1
        if passed == row and _taken(order.file):
            os.kill(pid, signal.SIGKILL)
            order.done.touch()
        return True

    # Nondeterministic: Spark may neither drop the call nor repeat it.
    return frame.where(udf(passes, "boolean", useArrow=False).asNondeterministic()())


def _taken(file: Path) -> bool:
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    return True


def assert_killed() -> None:
    """Fail if a kill that was ordered by `kill_in_batch` has not happened; then forget all orders.

    Raises:
        AssertionError: no task had so many rows, or the query did not run.
    """
    missing = []
    while _kills:
        order = _kills.pop()
        if not order.done.exists():
            missing.append(order.row)
        for file in (order.file, order.done):
            file.unlink(missing_ok=True)
    assert not missing, (
        f"kill_in_batch(row={missing[0]}) has killed nothing: no task came to its row {missing[0]};"
        " take a smaller row, or a frame of one partition: frame.coalesce(1)"
    )


def assert_exactly_once(
    input: DataFrame | Iterable[Any],
    output: DataFrame | Iterable[Any],
    *,
    key: str | Sequence[str] | None = None,
) -> None:
    """Compare the rows of a pipeline's output with those of its input, each as often as it occurs.

    Args:
        input, output: DataFrames, rows, or values. A row of one column is its value.
        key: the columns that identify a row; None: the whole row.

    Raises:
        AssertionError: the text has the numbers and examples of lost, doubled and foreign rows.
        TypeError: a value is not hashable, such as a dict, and there is no `key`.
    """
    expected, found = (Counter(_keys(each, key)) for each in (input, output))
    lost = {each: count for each, count in expected.items() if found[each] < count}
    foreign = [each for each in found if each not in expected]
    doubled = {each: found[each] for each in expected if found[each] > expected[each]}
    if not lost and not foreign and not doubled:
        return
    lines = [f"{expected.total()} rows in, {found.total()} rows out"]
    lines += _examples("lost", [f"{each} ({found[each]} of {lost[each]})" for each in lost])
    lines += _examples("doubled", [f"{each} ({doubled[each]} times)" for each in doubled])
    lines += _examples("not in the input", [str(each) for each in foreign])
    raise AssertionError("\n".join(lines))


def _keys(rows: DataFrame | Iterable[Any], key: str | Sequence[str] | None) -> Iterator[Any]:
    columns = [key] if isinstance(key, str) else key
    found: Iterable[Any]
    if isinstance(rows, DataFrame):
        chosen = rows if columns is None else rows.select(*columns)
        found = map(_hashable, chosen.toLocalIterator())
    elif columns is not None:
        found = (_hashable([row[column] for column in columns]) for row in rows)
    else:
        found = map(_checked, rows)
    for each in found:
        yield each[0] if isinstance(each, tuple) and len(each) == 1 else each


def _checked(value: object) -> object:
    if isinstance(value, Mapping):
        raise TypeError(
            f"dicts are compared by columns: give key=..., one or more of {list(value)}"
        )
    return _hashable(value)


def _hashable(value: Any) -> Any:  # Any: whatever a column has, such as headers
    """The value with tuples for rows and arrays, and sets of pairs for maps."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    if isinstance(value, dict):
        return frozenset((_hashable(name), _hashable(each)) for name, each in value.items())
    return value


def _examples(kind: str, rows: Sequence[str]) -> list[str]:
    if not rows:
        return []
    more = f", and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return [f"{kind}: {len(rows)}: {', '.join(sorted(rows)[:_SHOWN])}{more}"]
