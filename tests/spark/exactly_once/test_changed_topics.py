"""Topics that change between two runs, and rows that do not fit: nothing is lost in silence."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from ottla.client.admin.topics import add_partitions, delete_topic
from ottla.spark.exactly_once.cluster import ClusterTransactions, sink_client
from ottla.spark.exactly_once.data_source import KafkaExactlyOnce
from ottla.spark.exactly_once.driver import SinkFailed
from ottla.spark.exactly_once.task_writer import NotWritten, OutgoingRow
from ottla.spark.exactly_once.tasks import sum_of
from ottla.testing import Ottla

from .batches import Batches

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def make_log(broker: Ottla, policy: str = "compact", partitions: int = 1) -> str:
    """A topic for the write-ahead log, made by hand."""
    name = f"log-{secrets.token_hex(4)}"
    broker.create_topic(name, partitions=partitions, configs={"cleanup.policy": policy})
    return name


def grow(broker: Ottla, topic: str, partitions: int) -> None:
    with sink_client(broker.bootstrap_servers) as client:
        add_partitions(client, topic, partitions)


def remake(broker: Ottla, topic: str) -> None:
    with sink_client(broker.bootstrap_servers) as client:
        delete_topic(client, topic)
    broker.create_topic(topic, partitions=2)


def start(broker: Ottla, *columns: str, **options: str) -> None:
    """Start a batch write with these columns, all of text."""
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers, **options}
    schema = StructType([StructField(name, StringType()) for name in columns])
    KafkaExactlyOnce(given).writer(schema, overwrite=False)


@pytest.mark.parametrize("counts", [(1, 7, 8), (1, 8, 11), (8, 9, 16), (3, 11, 12)])
def test_partitions_added_to_the_write_ahead_log_do_not_double_a_batch(
    ottla: Ottla, counts: tuple[int, int, int]
) -> None:
    log = make_log(ottla, partitions=counts[0])
    batches = [
        Batches(ottla, walTopic=log) for _ in range(4)
    ]  # of several partitions by their hash
    for number, each in enumerate(batches):
        each.query_id = f"query-{number}"
        each.driver("a", 0, each.task("a", 0, 1)).commit()
    grow(ottla, log, counts[1])
    for each in batches:
        each.driver("b", 0, each.task("b", 0, 1)).commit()
        each.driver("b", 1, each.task("b", 0, 2)).commit()
    grow(ottla, log, counts[2])
    for each in batches:
        each.driver("c", 1, each.task("c", 0, 2)).commit()
    assert [each.values() for each in batches] == [[1, 2]] * len(batches)


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_write_ahead_log_that_forgets_batches_is_refused(ottla: Ottla, policy: str) -> None:
    log = make_log(ottla, policy)
    with pytest.raises(ValueError, match=rf"walTopic={log} has cleanup.policy={policy}"):
        start(ottla, "value", topic=Batches(ottla).topic, walTopic=log)


def test_a_write_ahead_log_that_is_compacted_is_taken(ottla: Ottla) -> None:
    start(ottla, "value", topic=Batches(ottla).topic, walTopic=make_log(ottla))


def test_a_write_that_is_done_is_an_error_when_its_topic_was_made_again(ottla: Ottla) -> None:
    """Else the job would succeed, and its topic be empty."""
    batches = Batches(ottla)
    batches.driver("a", 0, batches.task("a", 0, 1)).commit()
    remake(ottla, batches.topic)
    with pytest.raises(SinkFailed, match=rf"topic {batches.topic} was deleted and made again"):
        batches.driver("b", 0, batches.task("b", 0, 1)).commit()
    assert batches.open_ids() == []


def test_the_next_batch_is_written_into_a_topic_that_was_made_again(ottla: Ottla) -> None:
    batches = Batches(ottla)
    batches.driver("a", 0, batches.task("a", 0, 1)).commit()
    remake(ottla, batches.topic)
    batches.driver("a", 1, batches.task("a", 0, 2)).commit()
    assert batches.values() == [2]


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        (("Key", "value"), "column Key would not be written: its name is key"),
        (("value", "HEADERS"), "column HEADERS would not be written: its name is headers"),
        (("Value",), "column Value would not be written: its name is value"),
        (("value", "value"), "there are 2 columns value"),
        (("key", "value", "key"), "there are 2 columns key"),
    ],
)
def test_a_column_whose_name_is_nearly_right_is_an_error(
    ottla: Ottla, columns: tuple[str, ...], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        start(ottla, *columns, topic=Batches(ottla).topic)


def test_a_column_beside_one_of_the_right_name_is_ignored(ottla: Ottla) -> None:
    start(ottla, "key", "Key", "value", "offset", "offset", topic=Batches(ottla).topic)


def test_a_query_may_have_a_name(ottla: Ottla, tmp_path: Path) -> None:
    """Spark passes `queryName` on as an option of the sink."""
    options = {"queryName": "orders", "checkpointLocation": str(tmp_path)}
    given = {"kafka.bootstrap.servers": ottla.bootstrap_servers, "topic": Batches(ottla).topic}
    schema = StructType([StructField("value", StringType())])
    KafkaExactlyOnce({**given, **options}).streamWriter(schema, overwrite=False)


def test_a_query_without_the_option_of_its_checkpoint_warns_of_open_transactions(
    ottla: Ottla, caplog: pytest.LogCaptureFixture
) -> None:
    """Spark takes the checkpoint from its session, and the sink then does not know the query."""
    given = {"kafka.bootstrap.servers": ottla.bootstrap_servers, "topic": Batches(ottla).topic}
    schema = StructType([StructField("value", StringType())])
    KafkaExactlyOnce(given).streamWriter(schema, overwrite=False).abort([None, None], 3)
    assert "batch 3: transactions may stay open" in caplog.text
    assert "without the option checkpointLocation" in caplog.text


def test_a_partition_that_the_topic_does_not_have_is_named(ottla: Ottla) -> None:
    batches = Batches(ottla)
    with pytest.raises(NotWritten, match=rf"{batches.topic} .*partition 99 \(column partition\)"):
        batches.write(OutgoingRow(batches.topic, None, b"", partition=99))
    assert batches.open_ids() == []


@pytest.mark.parametrize("name", ["a name", "..", "x" * 300], ids=["space", "dots", "long"])
def test_a_name_that_no_topic_has_is_no_matter_of_time(ottla: Ottla, name: str) -> None:
    with pytest.raises(NotWritten, match=rf"topic {name} at 127\S+: Broker: Invalid topic$"):
        Batches(ottla).write(OutgoingRow(name, None, b""))


def test_a_name_of_a_write_that_is_too_long_is_an_error_at_once(ottla: Ottla) -> None:
    for name in ("x" * 32_000, "/" * 10_500):  # each of these is three characters
        with pytest.raises(ValueError, match=rf"writeId has {len(name)} characters"):
            start(ottla, "value", topic=Batches(ottla).topic, writeId=name)
    batches = Batches(ottla)
    batches.query_id = "/" * 9_900
    batches.driver("a" * 32, 0, batches.task("a" * 32, 0, 1)).commit()
    assert batches.values() == [1]


@pytest.mark.parametrize(("size", "count"), [(50_000, 1), (100, 20_000)], ids=["one", "many"])
def test_rows_too_large_for_the_topic_are_an_error_that_names_the_limits(
    ottla: Ottla, size: int, count: int
) -> None:
    """librdkafka sends up to a megabyte of rows at once, and divides no batch that is refused."""
    batches = Batches(ottla)
    batches.topic = f"small-{secrets.token_hex(4)}"
    ottla.create_topic(batches.topic, configs={"max.message.bytes": "20000"})
    with pytest.raises(NotWritten, match=r"max\.message\.bytes.*kafka\.batch\.size"):
        batches.write(*[OutgoingRow(batches.topic, None, b"x" * size)] * count)
    assert batches.open_ids() == []


def test_smaller_batches_fit_into_a_topic_with_a_low_limit(ottla: Ottla) -> None:
    batches = Batches(ottla, **{"kafka.batch.size": "16384"})
    batches.topic = f"small-{secrets.token_hex(4)}"
    ottla.create_topic(batches.topic, configs={"max.message.bytes": "20000"})
    written = batches.write(*[OutgoingRow(batches.topic, None, b"x" * 100)] * 10_000)
    assert written is not None
    batches.driver("a", 0, written).commit()
    assert len(ottla.read(batches.topic)) == 10_000


def test_a_null_and_an_empty_text_stay_two_things(ottla: Ottla) -> None:
    batches = Batches(ottla)
    texts = (None, b"", b"x")
    headers = ((), [("h", None)], [("h", b""), ("h", b"x")], [("", b"")])
    rows = [
        OutgoingRow(batches.topic, key, value, several)
        for key in texts
        for value in texts
        for several in headers
    ]
    written = batches.write(*rows)
    assert written is not None
    with sink_client(ottla.bootstrap_servers) as client:
        found = list(ClusterTransactions(client).rows(written))
    assert len(found) == len(rows)
    assert sum_of(each.digest() for each in found) == written.digest
