"""Options of the sink: Java's names are translated or refused, before a task runs."""

from __future__ import annotations

import pytest
from pyspark.sql import Row
from pyspark.sql.types import LongType, StringType, StructField, StructType

from ottla.spark.exactly_once.data_source import KafkaExactlyOnce, _converter
from ottla.spark.exactly_once.options import SinkOptions

SERVERS = {"kafka.bootstrap.servers": "127.0.0.1:9", "topic": "t"}
VALUE = StructType([StructField("value", StringType())])


def started(schema: StructType = VALUE, **options: str) -> None:
    """Start a query, as far as it goes before a task runs."""
    named = {name.replace("__", "."): value for name, value in options.items()}
    KafkaExactlyOnce({**SERVERS, **named}).streamWriter(schema, overwrite=False)


@pytest.mark.parametrize(
    ("name", "value", "setting", "translated"),
    [
        ("max.request.size", "5000000", "message.max.bytes", "5000000"),
        ("buffer.memory", "33554433", "queue.buffering.max.kbytes", "32769"),
        ("linger.ms", "20", "linger.ms", "20"),
        ("queue.buffering.max.ms", "20", "linger.ms", "20"),
        ("send.buffer.bytes", "-1", "socket.send.buffer.bytes", "0"),
        ("acks", "all", "acks", "all"),
        ("acks", "-1", "acks", "-1"),
        ("compression.type", "zstd", "compression.type", "zstd"),
        ("delivery.timeout.ms", "120000", "delivery.timeout.ms", 120000),
        ("enable.idempotence", "true", "enable.idempotence", "true"),
        ("batch.size", "65536", "batch.size", "65536"),
        ("client.id", "me", "client.id", "me"),
    ],
)
def test_a_setting_by_its_name_in_java(
    name: str, value: str, setting: str, translated: object
) -> None:
    options = {**SERVERS, f"kafka.{name}": value}
    assert SinkOptions.of(options).settings("id")[setting] == translated
    KafkaExactlyOnce(options).streamWriter(VALUE, overwrite=False)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("kafka.acks", "1", "kafka.acks=1: the sink needs acks=all"),
        ("kafka.enable.idempotence", "false", "kafka.enable.idempotence=false"),
        ("kafka.transactional.id", "mine", "transactionalIdPrefix"),
        ("kafka.key.serializer", "x", "kafka.key.serializer cannot be set"),
        ("kafka.group.id", "x", "kafka.group.id cannot be set"),
        ("kafka.no.such.setting", "1", "no.such.setting"),
        ("kafka.linger.ms", "soon", "kafka.linger.ms=soon: expected a whole number"),
        ("kafka.compression.type", "rar", "compression.type"),
        ("kafka.delivery.timeout.ms", "900001", "kafka.delivery.timeout.ms=900001"),
        ("kafka.transaction.timeout.ms", "x", "kafka.transaction.timeout.ms=x"),
        ("kafka.max.block.ms", "x", "kafka.max.block.ms=x"),
        ("kafka.bootstrap.servers", "localhost", "kafka.bootstrap.servers=localhost"),
        ("commitMargin", "abc", "commitMargin=abc"),
        ("commitMargin", "-1", "commitMargin=-1: expected 0 to 900000"),
        ("commitMargin", "900001", "commitMargin=900001: expected 0 to 900000"),
        ("commitMargin", "", "commitMargin is empty"),
        ("kafka.bootstrap.servers", "h:" + "9" * 5_000, "9: expected HOST:PORT"),
        ("writeId", "", "writeId is empty: leave the option out, or give it a value"),
        ("writeId", "daily", "writeId=daily is for batch writes"),
        ("topic", " ", "topic is empty"),
        ("transactionalIdPrefix", "", "transactionalIdPrefix is empty"),
        ("walTopic", "", "walTopic is empty"),
        ("walTopic", "t", "topic and walTopic are both t"),
        ("topic", "spark-sink-log", "topic and walTopic are both spark-sink-log"),
        ("kafka.max.block.ms", "0", "kafka.max.block.ms=0: expected 1 or more"),
        ("writeIdd", "x", "did you mean writeId"),
        ("linger.ms", "5", "did you mean kafka.linger.ms"),
        ("path", "t", "unknown option path"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_before_a_task_runs(
    name: str, value: str, text: str
) -> None:
    with pytest.raises(ValueError, match="kafka-exactly-once") as raised:
        KafkaExactlyOnce({**SERVERS, name: value}).streamWriter(VALUE, overwrite=False)
    assert text in str(raised.value)


@pytest.mark.parametrize("block_ms", ["1", "60000", "9223372036854775807"])
def test_a_longest_wait_of_java_is_taken(block_ms: str) -> None:
    options = SinkOptions.of({**SERVERS, "kafka.max.block.ms": block_ms})
    assert 0 < options.answer_s <= (1 << 31) / 1000


@pytest.mark.parametrize(
    ("column", "content", "reason"),
    [
        ("partition", -1, "a row has the partition -1"),
        ("headers", [(None, b"x")], "a row has a header without a name"),
        ("headers", [None], "a row has a header without a name"),
        ("topic", "log", "a row has the topic log, which is the walTopic"),
    ],
)
def test_a_row_that_cannot_be_written_is_refused(column: str, content: object, reason: str) -> None:
    """The first ones as by Java's ProducerRecord and RecordHeader, and so by Spark's own sink."""
    convert = _converter(["value", column], None if column == "topic" else "t", "log")
    with pytest.raises(ValueError, match=reason):
        convert(Row(**{"value": "v", column: content}))


def test_the_write_ahead_log_takes_no_longer_than_its_transactions() -> None:
    options = SinkOptions.of({**SERVERS, "kafka.delivery.timeout.ms": "120000"})
    assert options.settings("driver", 10_000)["delivery.timeout.ms"] == 10_000


def test_columns_that_are_not_written_are_ignored_as_by_the_sink_of_spark() -> None:
    more = [StructField("offset", LongType()), StructField("timestamp", StringType())]
    started(StructType([*VALUE.fields, *more]))


def test_the_mode_overwrite_is_refused_with_one_that_works() -> None:
    with pytest.raises(ValueError, match=r'use \.mode\("append"\)'):
        KafkaExactlyOnce(SERVERS).writer(VALUE, overwrite=True)
    KafkaExactlyOnce(SERVERS).streamWriter(VALUE, overwrite=True)  # outputMode("complete")
