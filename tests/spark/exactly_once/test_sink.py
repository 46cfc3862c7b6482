"""The sink on a broker, through kills at its steps."""

from __future__ import annotations

import gc
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaException, Producer
from pyspark.sql.types import StringType, StructField, StructType

from ottla.client.record_batch import partition_of
from ottla.spark.exactly_once.cluster import ClusterTransactions, sink_client
from ottla.spark.exactly_once.crash_steps import CrashStep
from ottla.spark.exactly_once.data_source import KafkaExactlyOnce
from ottla.spark.exactly_once.driver import Driver, Origin, SinkFailed
from ottla.spark.exactly_once.options import SinkOptions
from ottla.spark.exactly_once.task_writer import NotWritten, OutgoingRow, TaskWriter
from ottla.spark.exactly_once.tasks import DecidedBatch
from ottla.spark.exactly_once.write_ahead_log import ReplacedDriver, WriteAheadLog
from ottla.spark.testing import assert_exactly_once, kill_in_batch, produce, topic
from ottla.testing import Ottla

from .batches import Batches, Topics
from .copying import Copy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def committed(frame: DataFrame) -> DataFrame:
    return frame.where("fate = 'committed'").select("value")


def open_count(frame: DataFrame) -> int:
    return frame.where("fate = 'open'").count()


@pytest.mark.slow
def test_kills_at_the_steps_of_tasks_and_driver_lose_and_double_nothing(
    spark: SparkSession, ottla: Ottla, tmp_path: Path
) -> None:
    topics = Topics(ottla)
    rows = [f"{number}" for number in range(300)]
    produce(ottla.bootstrap_servers, topics.source, [(row, row) for row in rows])
    copy = Copy(ottla.bootstrap_servers, topics.source, topics.target, str(tmp_path))
    copy.steps.mkdir()
    steps = (CrashStep.ROWS_SENT, CrashStep.TASK_COMMITTED)
    for step in steps:
        (copy.steps / step).write_text("self")
    assert copy.run_to_the_end(spark) == len(steps)
    written = topic(spark, ottla.bootstrap_servers, topics.target)
    assert_exactly_once([row.encode() for row in rows], committed(written))
    assert written.where("fate = 'aborted'").count() > 0
    assert open_count(written) == 0


@pytest.mark.skipif("OTTLA_SINK_CAMPAIGN" not in os.environ, reason="takes minutes")
def test_a_kill_of_the_broker_in_a_batch_write_loses_and_doubles_nothing(
    spark: SparkSession, ottla_broker: Ottla
) -> None:
    ottla_broker.create_topic("out", partitions=2)
    rows = spark.range(100).selectExpr("string(id) key", "string(id) value").repartition(2)
    killing = kill_in_batch(rows, ottla_broker.pid, row=20)
    write = (
        killing.write.format("kafka-exactly-once")
        .option("kafka.bootstrap.servers", ottla_broker.bootstrap_servers)
        .option("topic", "out")
        .option("writeId", "one")
        .option("kafka.delivery.timeout.ms", "3000")
        .mode("append")
    )
    with pytest.raises(Exception, match=r"(?s)writ|Kafka|kafka"):
        write.save()  # the broker is gone
    ottla_broker.kill()
    ottla_broker.start()
    write.save()
    write.save()  # the same writeId: nothing is written
    written = topic(spark, ottla_broker.bootstrap_servers, "out")
    assert_exactly_once([b"%d" % row for row in range(100)], committed(written))


@pytest.mark.parametrize(
    "replay", [((1, 2), (3, 4)), ((1, 3), (2, 4)), ((1, 2, 3, 4),)], ids=["same", "other", "one"]
)
def test_a_decided_batch_that_is_lost_in_part_is_completed_by_its_replay(
    ottla: Ottla, replay: tuple[tuple[int, ...], ...]
) -> None:
    batches = Batches(ottla)
    first, second = batches.task("a", 0, 1, 2), batches.task("a", 1, 3, 4)
    batches.decide(0, first, second)
    batches.commit(first)
    batches.lose(second)
    with pytest.raises(SinkFailed, match="replay writes them again"):
        batches.driver("a", 0, first, second).commit()
    again = [batches.task("b", number, *values) for number, values in enumerate(replay)]
    batches.driver("b", 0, *again).commit()
    assert batches.values() == [1, 2, 3, 4]
    assert batches.open_ids() == []


def test_a_kill_of_the_broker_fails_the_task_and_the_replay_writes_all(
    ottla_broker: Ottla,
) -> None:
    batches = Batches(ottla_broker, **{"kafka.delivery.timeout.ms": "1500"})

    def rows() -> Iterator[OutgoingRow]:
        for value in range(10):
            if value == 5:
                ottla_broker.kill()
            yield OutgoingRow(batches.topic, None, b"%d" % value)

    done = batches.task("a", 1, 10)
    with pytest.raises(
        NotWritten, match=rf"topic {batches.topic} at {ottla_broker.bootstrap_servers}"
    ):
        TaskWriter(batches.options, f"spark-sink-{batches.query_id}-a-0-0").write(rows(), task=0)
    ottla_broker.start()
    batches.driver("b", 0, batches.task("b", 0, *range(10)), batches.task("b", 1, 10)).commit()
    assert batches.values() == [*range(11)]
    assert batches.open_ids() == [], f"of {done}"


def test_another_result_of_a_replay_is_refused(ottla: Ottla) -> None:
    batches = Batches(ottla)
    first, second = batches.task("a", 0, 1, 2), batches.task("a", 1, 3, 4)
    batches.decide(0, first, second)
    batches.commit(first)
    batches.lose(second)
    with pytest.raises(SinkFailed, match="other rows"):
        batches.driver("b", 0, batches.task("b", 0, 1, 2, 3, 5)).commit()
    assert batches.values() == [1, 2]


def test_a_commit_is_idempotent_and_aborts_the_transactions_of_its_replay(ottla: Ottla) -> None:
    batches = Batches(ottla)
    task = batches.task("a", 0, 1, 2)
    batches.driver("a", 0, task).commit()
    batches.driver("a", 0, task).commit()
    dead = batches.task("b", 5, 9)
    batches.driver("b", 0, batches.task("b", 0, 1, 2)).commit()
    assert batches.values() == [1, 2]
    assert batches.open_ids() == [], f"of {dead}"


def test_a_transaction_that_another_attempt_ended_is_not_decided(ottla: Ottla) -> None:
    batches = Batches(ottla)
    first, second = batches.task("a", 0, 1), batches.task("a", 1, 2)
    batches.lose(second)
    with pytest.raises(SinkFailed, match="ended before the decision"):
        batches.driver("a", 0, first, second).commit()
    assert batches.values() == []
    assert batches.open_ids() == []


def test_a_transaction_that_times_out_soon_is_not_decided(ottla: Ottla) -> None:
    batches = Batches(ottla, **{"kafka.transaction.timeout.ms": "5000", "commitMargin": "5000"})
    with pytest.raises(SinkFailed, match="times out in"):
        batches.driver("a", 0, batches.task("a", 0, 1)).commit()
    assert batches.values() == []


def test_a_write_is_not_taken_for_another_with_a_name_that_begins_with_its_name(
    ottla: Ottla,
) -> None:
    name = secrets.token_hex(4)
    others = [f"{name}/2026", f"{name}-eu", f"{name}-eu/0", f"{name}-", name]
    batches = Batches(ottla)
    for value, other in enumerate(others):
        batches.query_id = other
        batches.driver("a", 0, batches.task("a", 0, value)).commit()
    assert batches.values() == [*range(len(others))]


def test_a_write_leaves_the_open_transactions_of_other_writes(ottla: Ottla) -> None:
    orders, european = Batches(ottla), Batches(ottla)
    european.query_id = f"{orders.query_id}-eu"
    waiting = european.task("a", 0, 1)
    orders.driver("a", 0, orders.task("a", 0, 2)).commit()
    european.driver("a", 0, waiting).commit()
    assert european.values() == [1]


def test_the_same_name_for_other_rows_is_an_error(ottla: Ottla) -> None:
    first, second = Batches(ottla), Batches(ottla)
    second.query_id = first.query_id
    first.driver("a", 0, first.task("a", 0, 1)).commit()
    with pytest.raises(SinkFailed, match=f"(?s){first.topic}.*{second.topic}"):
        second.driver("b", 0, second.task("b", 0, 1)).commit()
    assert second.values() == []
    assert second.open_ids() == []


def test_a_failed_task_aborts_its_transaction_at_once(ottla: Ottla) -> None:
    batches = Batches(ottla)

    def rows() -> Iterator[OutgoingRow]:
        yield OutgoingRow(batches.topic, None, b"1")
        raise InterruptedError("Spark kills the task")

    name = Origin(batches.query_id, "a").transactional_id(batches.options, 0, 0)
    with pytest.raises(InterruptedError):
        TaskWriter(batches.options, name).write(rows(), task=0)
    assert batches.open_ids() == []


def test_a_producer_ends_with_its_task_and_leaves_its_transaction_open(ottla: Ottla) -> None:
    def producers() -> int:
        return sum(isinstance(each, Producer) for each in gc.get_objects())

    batches = Batches(ottla)
    before = producers()
    gc.disable()  # threads and connections do not wait for it
    try:
        written = batches.task("a", 0, 1)
        assert producers() == before
    finally:
        gc.enable()
    assert batches.open_ids() == [written.transaction.transactional_id]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_batch_write_appends_and_the_refusal_of_another_mode_says_so(
    ottla: Ottla, mode: str
) -> None:
    schema = StructType([StructField("value", StringType())])
    options = {"kafka.bootstrap.servers": ottla.bootstrap_servers, "topic": Topics(ottla).target}
    if mode == "append":
        KafkaExactlyOnce(options).writer(schema, overwrite=False)
        return
    with pytest.raises(
        ValueError, match=r'appends, and overwrites no topic: use .mode\("append"\)'
    ):
        KafkaExactlyOnce(options).writer(schema, overwrite=True)


def test_an_abort_ends_the_transactions_of_its_run_that_did_not_report(ottla: Ottla) -> None:
    batches = Batches(ottla)
    other, done = batches.task("b", 0, 3), batches.task("a", 0, 1)
    batches.task("a", 1, 2)
    batches.driver("a", 0, done).abort()
    assert batches.open_ids() == [other.transaction.transactional_id]


def test_an_abort_fences_a_task_that_has_not_begun(ottla: Ottla) -> None:
    """A task outlives its query for a moment: Spark ends its process later."""
    batches = Batches(ottla)
    done = batches.task("a", 0, 1)
    name = Origin(batches.query_id, "a").transactional_id(batches.options, 1, 0)
    late = Producer(batches.options.settings(name))
    late.init_transactions(60)
    batches.driver("a", 0, done).abort()
    late.begin_transaction()
    late.produce(batches.topic, b"2")
    with pytest.raises(KafkaException):
        late.commit_transaction(60)
    assert batches.open_ids() == []
    assert batches.values() == []


def test_an_abort_ends_the_transaction_of_a_task_that_begins_meanwhile(ottla: Ottla) -> None:
    """Spark ends the processes of tasks while the driver aborts."""
    batches = Batches(ottla)
    done = batches.task("a", 0, 1)
    driver = batches.driver("a", 0, done)
    listing = {"api": "ListTransactions", "nth": 1}
    with ottla.faults.expect("hold", point="after", match=listing) as fault:
        aborting = Thread(target=driver.abort)
        aborting.start()
        fault.wait_fired()
        late = batches.task("a", 1, 2)
        assert late.transaction.transactional_id in batches.open_ids()
        fault.release()
        aborting.join(60)
    assert batches.open_ids() == []


def test_an_abort_after_the_decision_commits_the_decided_batch(ottla: Ottla) -> None:
    batches = Batches(ottla)
    first, second = batches.task("a", 0, 1), batches.task("a", 1, 2)
    batches.decide(0, first, second)
    batches.commit(first)
    batches.driver("a", 0, first, second).abort()
    assert batches.open_ids() == []
    assert batches.values() == [1, 2]


def test_the_delivery_timeout_of_java_is_no_reason_to_fail(ottla: Ottla) -> None:
    batches = Batches(ottla, **{"kafka.delivery.timeout.ms": "120000"})
    batches.driver("a", 0, batches.task("a", 0, 1)).commit()
    assert batches.values() == [1]


def test_a_key_goes_to_the_partition_that_java_chooses(ottla: Ottla) -> None:
    batches = Batches(ottla)
    keys = [b"%d" % number for number in range(40)]
    name = Origin(batches.query_id, "a").transactional_id(batches.options, 0, 0)
    rows = [OutgoingRow(batches.topic, key, b"") for key in keys]
    written = TaskWriter(batches.options, name).write(rows, task=0)
    assert written is not None
    batches.driver("a", 0, written).commit()
    found = {each.key: each.partition for each in ottla.read(batches.topic)}
    assert found == {key: partition_of(key, 2) for key in keys}


def test_an_error_names_the_topic_that_is_not_there() -> None:
    with Ottla(settings={"auto.create.topics.enable": "false"}) as broker:
        batches = Batches(broker, **{"kafka.delivery.timeout.ms": "1000"})
        batches.topic = "absent"
        with pytest.raises(NotWritten, match=rf"absent at {broker.bootstrap_servers}.*[Uu]nknown"):
            batches.task("a", 0, 1)


def test_an_error_names_the_address_where_no_broker_is(ottla: Ottla) -> None:
    options = {"kafka.bootstrap.servers": "127.0.0.1:9", "topic": "t", "kafka.max.block.ms": "500"}
    writer = TaskWriter(SinkOptions.of(options), "spark-sink-absent-a-0-0")
    with pytest.raises(NotWritten, match=r"127\.0\.0\.1:9 \(kafka.bootstrap.servers\)"):
        writer.write([OutgoingRow("t", None, b"")], task=0)


def test_an_error_of_the_driver_names_address_topic_and_option(ottla: Ottla) -> None:
    batches = Batches(ottla, walTopic="no topic")
    with pytest.raises(SinkFailed) as raised:
        batches.driver("a", 0, batches.task("a", 0, 1)).commit()
    text = str(raised.value)
    assert f"topic {batches.topic} at {ottla.bootstrap_servers} (kafka.bootstrap.servers)" in text
    assert "topic no topic (walTopic)" in text
    assert "INVALID_TOPIC_EXCEPTION" in text


def test_a_login_of_the_driver_that_fails_is_named_with_its_address() -> None:
    with Ottla(security="SASL_PLAINTEXT", users={"alice": "secret"}) as broker:
        given = {name: str(value) for name, value in broker.client_settings("spark").items()}
        jaas = "kafka.sasl.jaas.config"
        options = SinkOptions.of({**given, "topic": "t", jaas: given[jaas].replace("secret", "x")})
        with pytest.raises(SinkFailed, match=rf"topic t at {broker.bootstrap_servers} .*password"):
            Driver(options, Origin("q", "a"), 0, ()).commit()


@pytest.mark.parametrize("creates", ["true", "false"])
def test_a_topic_that_is_not_there_is_an_error_before_a_task_runs(creates: str) -> None:
    """Unless the broker makes it, as it does for the producers of Spark's own sink."""
    schema = StructType([StructField("value", StringType())])
    with Ottla(settings={"auto.create.topics.enable": creates}) as broker:
        options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": "absent"}
        source = KafkaExactlyOnce(options)
        if creates == "true":
            source.streamWriter(schema, overwrite=False)
            source.writer(schema, overwrite=False)
            return
        for start in (source.streamWriter, source.writer):
            with pytest.raises(ValueError, match=r"topic=absent .*UNKNOWN_TOPIC") as raised:
                start(schema, overwrite=False)
            assert f"{broker.bootstrap_servers} (kafka.bootstrap.servers)" in str(raised.value)


def test_a_producer_of_a_task_connects_at_once_and_is_asked_for_little(ottla: Ottla) -> None:
    """librdkafka waits 50 or 500 ms before it asks for its coordinator if it has no connection."""
    settings = Batches(ottla).options.settings("id")
    assert settings["enable.sparse.connections"] == "false"
    chosen = {"kafka.enable.sparse.connections": "true"}
    assert Batches(ottla, **chosen).options.settings("id")["enable.sparse.connections"] == "true"


def test_a_replaced_driver_cannot_decide(ottla: Ottla) -> None:
    batches = Batches(ottla)
    task = batches.task("a", 0, 1)
    with sink_client(ottla.bootstrap_servers) as client:
        earlier = WriteAheadLog(batches.options, batches.query_id, client)
        batches.driver("b", 0, batches.task("b", 0, 1)).commit()
        with pytest.raises(ReplacedDriver):
            earlier.write(DecidedBatch(batches.query_id, 0, (task,)))
    assert batches.values() == [1]


def test_a_query_reads_and_writes_by_tls_and_scram(spark: SparkSession, tmp_path: Path) -> None:
    rows = [f"{number}" for number in range(50)]
    users = {"alice": "secret"}
    with Ottla(security="SASL_SSL", mechanism="SCRAM-SHA-512", users=users) as broker:
        topics = Topics(broker)
        native = broker.client_settings("confluent")
        produce(native, topics.source, [(row, row) for row in rows])
        options = broker.client_settings("spark")
        read = (
            spark.readStream.format("kafka").options(**options).option("subscribe", topics.source)
        )
        read = read.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 20)
        write = read.load().select("key", "value").writeStream.format("kafka-exactly-once")
        write = write.options(**options).option("topic", topics.target)
        write = write.option("checkpointLocation", str(tmp_path / "checkpoint"))
        write.trigger(availableNow=True).start().awaitTermination()
        written = topic(spark, native, topics.target)
        assert_exactly_once([row.encode() for row in rows], committed(written))
        assert open_count(written) == 0


def test_a_login_that_fails_stops_the_query_at_its_start() -> None:
    schema = StructType([StructField("value", StringType())])
    with Ottla(security="SASL_PLAINTEXT", users={"alice": "secret"}) as broker:
        options = {**broker.client_settings("spark"), "topic": "out"}
        options["kafka.sasl.jaas.config"] = str(options["kafka.sasl.jaas.config"]).replace(
            "secret", "wrong"
        )
        source = KafkaExactlyOnce({name: str(value) for name, value in options.items()})
        with pytest.raises(ValueError, match=r"the login failed: .*Invalid username or password"):
            source.streamWriter(schema, overwrite=False)


def test_a_query_that_stops_in_a_batch_leaves_no_transaction_open(
    spark: SparkSession, ottla_broker: Ottla, tmp_path: Path
) -> None:
    servers, topics = ottla_broker.bootstrap_servers, Topics(ottla_broker)
    produce(servers, topics.source, [f"{number}" for number in range(40)])
    read = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    rows = read.option("subscribe", topics.source).option("startingOffsets", "earliest").load()
    write = rows.writeStream.format("kafka-exactly-once").option("topic", topics.target)
    write = write.option("kafka.bootstrap.servers", servers)
    answers = {"api": "Produce", "topic": topics.target}
    with ottla_broker.faults.expect("hold", point="after", match=answers) as fault:
        query = write.option("checkpointLocation", str(tmp_path)).start()
        fault.wait_fired(timeout_s=60)
        with sink_client(servers) as client:
            cluster = ClusterTransactions(client)
            assert query.id in " ".join(cluster.open_ids())
            query.stop()
            assert cluster.open_ids() == []
