"""The format `kafka-exactly-once` of PySpark (docs/reference/spark-sink.md).

`register(spark)` makes it known to a session and a thread. Spark pickles the classes below to the
executors.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException, Producer
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamWriter,
    DataSourceWriter,
    WriterCommitMessage,
)

from ...client.admin.configs import Resource, describe_settings
from ...client.cluster_client import Client, ErrorAnswer, LoginFailed, NoAnswer
from ...client.retries import patiently
from ..pairs import near_name
from ..threads import use_in_this_thread
from .checkpoint import query_id_in
from .cluster import sink_client
from .driver import Driver, Origin
from .options import SinkOptions
from .task_writer import OutgoingRow, TaskWriter
from .tasks import Task

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession
    from pyspark.sql.types import StructType

FORMAT: Final = "kafka-exactly-once"
_log = logging.getLogger(__name__)
_COLUMNS: Final = {
    "value": ("string", "binary"),
    "key": ("string", "binary"),
    "topic": ("string",),
    "partition": ("int",),
    "headers": ("array<struct<key:string,value:binary>>",),
}
_TOPIC_S: Final = 2.0
"""A broker that restarts, or makes the topic, does not know it for a moment."""
# Spark passes these local properties of the driver to the tasks of a micro-batch.
_QUERY_ID: Final = "sql.streaming.queryId"
_RUN_ID: Final = "spark.jobGroup.id"


@dataclass(frozen=True)
class Report(WriterCommitMessage):
    """What a task reports to the driver; `task` is None if it had no rows."""

    origin: Origin
    task: Task | None


class KafkaExactlyOnce(DataSource):
    """The data source; it can only be written to."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """The writer of `df.write`."""
        if overwrite:
            # Spark refuses its default mode with a text that names Append and Overwrite.
            raise ValueError(f'{FORMAT} appends, and overwrites no topic: use .mode("append")')
        options = _checked(self.options, schema)
        run_id = uuid.uuid4().hex
        return BatchWriter(options, schema, Origin(options.write_id or run_id, run_id))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        """The writer of `df.writeStream`.

        Args:
            overwrite: outputMode("complete"): each batch appends the whole result, as by Spark's
                own sink.
        """
        checkpoint = self.options.get("checkpointLocation")
        options = _checked(self.options, schema)
        if options.write_id is not None:
            raise ValueError(
                f"{FORMAT}: writeId={options.write_id} is for batch writes: a query has the name"
                " in its checkpoint"
            )
        return StreamWriter(options, schema, checkpoint)


class _Writer:
    """What both writers do on an executor."""

    def __init__(
        self, options: SinkOptions, schema: StructType, origin: Origin | None = None
    ) -> None:
        self._options = options
        self._names = tuple(schema.fieldNames())
        self._origin = origin

    def write(self, iterator: Iterator[Row]) -> Report:
        """Write the rows of a task; the transaction stays open."""
        context = TaskContext.get()
        assert context is not None
        origin = self._origin or Origin(
            _property(context, _QUERY_ID), _property(context, _RUN_ID).replace("-", "")
        )
        index = context.partitionId()
        name = origin.transactional_id(self._options, index, context.attemptNumber())
        convert = _converter(self._names, self._options.topic, self._options.wal_topic)
        rows = (convert(row) for row in iterator)
        return Report(origin, TaskWriter(self._options, name).write(rows, task=index))

    def _driver(self, messages: Sequence[Any], batch_id: int) -> Driver | None:
        """The driver of a batch; None if it is not known which query it is of."""
        reports = [each for each in messages if each is not None]
        origin = reports[0].origin if reports else self._origin
        if origin is None:
            return None
        tasks = [each.task for each in reports if each.task is not None]
        return Driver(self._options, origin, batch_id, tasks)


class StreamWriter(_Writer, DataSourceStreamWriter):
    """Writes and commits the micro-batches of a query.

    Args:
        checkpoint: the option checkpointLocation, if the query has it.
    """

    def __init__(
        self, options: SinkOptions, schema: StructType, checkpoint: str | None = None
    ) -> None:
        super().__init__(options, schema)
        self._checkpoint = checkpoint

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Commit a micro-batch, once for each batch id."""
        driver = self._driver(messages, batchId)
        if driver is not None:
            driver.commit()

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Abort the transactions of a micro-batch whose job failed, or whose query stops."""
        driver = self._driver(messages, batchId)
        if driver is None and self._checkpoint is not None:
            # No task has reported, and only tasks know the run.
            query_id = query_id_in(self._checkpoint)
            if query_id is not None:
                driver = Driver(self._options, Origin(query_id, ""), batchId, ())
        if driver is not None:
            driver.abort()
        elif self._checkpoint is None:
            _log.warning(
                "batch %s: transactions may stay open until the next run, or for %s ms"
                " (kafka.transaction.timeout.ms): a query without the option checkpointLocation,"
                " which has it from the session, is not known before a task reports",
                batchId,
                self._options.timeout_ms,
            )


class BatchWriter(_Writer, DataSourceWriter):
    """Writes and commits a DataFrame."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commit the write, once for each `writeId`."""
        driver = self._driver(messages, 0)
        if driver is not None:
            driver.commit()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Abort the transactions of a write that failed."""
        driver = self._driver(messages, 0)
        if driver is not None:
            driver.abort()


def register(spark: SparkSession) -> None:
    """Make the format known to a session, and to the thread that calls."""
    spark.dataSource.register(KafkaExactlyOnce)
    use_in_this_thread(spark)


def _checked(options: Mapping[str, str], schema: StructType) -> SinkOptions:
    """The options. Raises ValueError if they or the columns cannot be written.

    Other columns are ignored, as Spark's own sink does: a copy of a topic has offset and timestamp.
    """
    checked = SinkOptions.of(options)
    _check_settings(checked)
    _check_columns(schema.fieldNames())
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    for name, found in types.items():
        if name in _COLUMNS and found not in _COLUMNS[name]:
            raise ValueError(f"{FORMAT}: column {name} is {found}, not {_COLUMNS[name][0]}")
    if "value" not in types:
        raise ValueError(f"{FORMAT} needs a column value")
    if "topic" not in types and checked.topic is None:
        raise ValueError(f"{FORMAT} needs the option topic, or a column topic")
    _check_brokers(checked)
    return checked


def _check_columns(names: Sequence[str]) -> None:
    """Raise ValueError for a column that would be left out although its name is nearly right.

    To Spark, KEY and key are the same column, and a join may have two of a name.
    """
    for known in _COLUMNS:
        if names.count(known) > 1:
            raise ValueError(f"{FORMAT}: there are {names.count(known)} columns {known}")
    if near := near_name(names, _COLUMNS):
        raise ValueError(f"{FORMAT}: {near}")


def _check_settings(options: SinkOptions) -> None:
    """Let librdkafka read the settings; the producer connects to nothing.

    Raises:
        ValueError: a setting is unknown, or its value cannot be used.
    """
    settings = {**options.settings("checked", options.timeout_ms), **options.producer}
    del settings["bootstrap.servers"]
    try:
        Producer(settings)
    except KafkaException as refused:
        names = ", ".join(f"kafka.{name}" for name in options.producer)
        raise ValueError(f"{FORMAT}: of {names}: {refused.args[0].str()}") from None


def _check_brokers(options: SinkOptions) -> None:
    """Log in once, and look for the topic.

    librdkafka repeats a login that fails, and waits for a topic for kafka.delivery.timeout.ms.
    Brokers that are down now may be up when there are rows to write.

    Raises:
        ValueError: a broker refuses the login, the client does not trust its certificate, or the
            topic is not there; or the write-ahead log forgets batches.
    """
    servers, topic = options.bootstrap_servers, options.topic
    with sink_client(servers, options.security()) as client:
        try:
            client.connect()
        except LoginFailed as wrong:
            raise ValueError(f"{FORMAT}: {servers}: {wrong.failed}") from None
        except NoAnswer:
            return
        _check_log(client, options.wal_topic)
        if topic is None:
            return
        try:  # as a producer asks: a broker with auto.create.topics.enable makes the topic
            patiently(lambda: client.partitions(topic, may_create=True), _TOPIC_S)
        except ErrorAnswer as refused:
            raise ValueError(
                f"{FORMAT}: the option topic={topic} cannot be written at {servers}"
                f" (kafka.bootstrap.servers): {refused}"
            ) from None
        except NoAnswer:
            return


def _check_log(client: Client, topic: str) -> None:
    """Raise ValueError if the topic of the write-ahead log, which is there, forgets what is old.

    Batches that are forgotten would be written a second time.
    """
    try:
        settings = describe_settings(client, Resource.TOPIC, topic)
    except (ErrorAnswer, NoAnswer):  # not there yet, or not to be described with this login
        return
    policy = {each.name: each.value for each in settings}.get("cleanup.policy") or ""
    if "delete" in policy:
        raise ValueError(
            f"{FORMAT}: the topic walTopic={topic} has cleanup.policy={policy}, and would forget"
            " which batches are written: set cleanup.policy=compact"
        )


def _property(context: TaskContext, name: str) -> str:
    value = context.getLocalProperty(name)
    if not value:
        raise ValueError(f"{FORMAT}: Spark passes no {name} to the task")
    return str(value)


def _converter(
    names: Sequence[str], default_topic: str | None, wal_topic: str
) -> Callable[[Row], OutgoingRow]:
    """A function from a row to a record; the option `topic` overrides the column, as in Spark."""
    at = {name: number for number, name in enumerate(names)}
    value, key, topic = at["value"], at.get("key"), at.get("topic")
    headers, partition = at.get("headers"), at.get("partition")

    def convert(row: Row) -> OutgoingRow:
        chosen = default_topic or (None if topic is None else row[topic])
        if chosen is None:
            raise ValueError(f"{FORMAT}: a row has no topic")
        if chosen == wal_topic:
            raise ValueError(f"{FORMAT}: a row has the topic {chosen}, which is the walTopic")
        number = None if partition is None else row[partition]
        if number is not None and number < 0:  # librdkafka's -1 is any partition
            raise ValueError(f"{FORMAT}: a row has the partition {number}")
        return OutgoingRow(
            chosen,
            None if key is None else _bytes(row[key]),
            _bytes(row[value]),
            () if headers is None else _headers(row[headers]),
            -1 if number is None else number,
        )

    return convert


def _bytes(content: str | bytes | bytearray | None) -> bytes | None:
    if content is None or isinstance(content, bytes):
        return content
    return content.encode() if isinstance(content, str) else bytes(content)


def _headers(given: Sequence[Any] | None) -> list[tuple[str, bytes | None]]:
    for each in given or ():
        if each is None or each[0] is None:
            raise ValueError(f"{FORMAT}: a row has a header without a name")
    return [(each[0], None if each[1] is None else bytes(each[1])) for each in given or ()]
