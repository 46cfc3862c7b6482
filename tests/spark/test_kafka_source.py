"""Spark's Kafka source, with its options, on topics with markers and aborted records.

Each test runs on Ottla, and with `-m kafka` also on Apache Kafka, with the same expectations.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.errors import StreamingQueryException

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

OLD_FETCHING = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
HOUR_MS = 3_600_000
FIRST_MS = 1_700_000_000_000  # the records of transaction N have this time, and N hours more
# The fates of the transactions of `history`, each of three records and a marker.
COMMITS = (True, False, True, False)
COMMITTED = ["0-0", "0-1", "0-2", "2-0", "2-1", "2-2"]
END = 4 * len(COMMITS)


class Broker:
    """Ottla or Apache Kafka, and a Spark session that reads its topics."""

    def __init__(self, bootstrap: str, spark: SparkSession) -> None:
        self.bootstrap, self.spark = bootstrap, spark
        self.tasks: list[int] = []  # of each batch of the streaming queries
        self.admin = AdminClient({"bootstrap.servers": bootstrap})

    def create_topic(self, name: str = "", partitions: int = 1) -> str:
        """Create a topic that keeps records of any time; return its name."""
        name = name or f"source-{secrets.token_hex(4)}"
        new = NewTopic(name, partitions, 1, config={"retention.ms": "-1"})
        self._wait_for(self.admin.create_topics([new]))
        return name

    def delete_topic(self, name: str) -> None:
        """Delete a topic, and wait until the broker has forgotten it."""
        self._wait_for(self.admin.delete_topics([name], operation_timeout=30))
        deadline = time.monotonic() + 30
        while name in self.admin.list_topics(timeout=30).topics:
            assert time.monotonic() < deadline, f"{name} is still there"

    def delete_records(self, name: str, before: int) -> None:
        """Delete the records of partition 0 below an offset."""
        self._wait_for(self.admin.delete_records([TopicPartition(name, 0, before)]))

    def _wait_for(self, futures: dict[Any, Any]) -> None:
        for future in futures.values():
            future.result(30)

    def history(self, topic: str, partition: int = 0) -> None:
        """Write transactions, committed and aborted in turn; the last one is aborted."""
        producer = self.producer(**{"transactional.id": f"{topic}-{partition}"})
        producer.init_transactions(30)
        for number, commits in enumerate(COMMITS):
            producer.begin_transaction()
            for each in range(3):
                moment = FIRST_MS + number * HOUR_MS
                value = f"{number}-{each}"
                producer.produce(topic, value, partition=partition, timestamp=moment)
            producer.flush(30)
            if commits:
                producer.commit_transaction(30)
            else:
                producer.abort_transaction(30)

    def produce(self, topic: str, values: Sequence[str]) -> None:
        """Write records without a transaction."""
        producer = self.producer()
        for value in values:
            producer.produce(topic, value, partition=0)
        assert producer.flush(30) == 0

    def producer(self, **settings: str) -> Any:
        """A producer of librdkafka."""
        return Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 0, **settings})

    def options(self, given: dict[str, str]) -> dict[str, str]:
        """Options of the source: `given`, and those that all tests need."""
        usual = {
            "kafka.bootstrap.servers": self.bootstrap,
            "kafka.isolation.level": "read_committed",
            "startingOffsets": "earliest",
            "failOnDataLoss": "true",
        }
        return usual | given

    def read(self, **given: str) -> DataFrame:
        """A batch read."""
        return self.spark.read.format("kafka").options(**self.options(given)).load()

    def values(self, **given: str) -> list[str]:
        """The values of a batch read, sorted."""
        return values_of(self.read(**given))

    def run(self, directory: Path, **given: str) -> list[str]:
        """The values of a streaming query of its own that stops at the end (AvailableNow)."""
        found: list[str] = []
        query = self.start(directory, found, {"availableNow": True}, given)
        try:
            query.awaitTermination()
        finally:
            query.stop()
        return sorted(found)

    @contextmanager
    def running(self, directory: Path, **given: str) -> Iterator[tuple[StreamingQuery, list[str]]]:
        """A streaming query that goes on, and the list of the values it has read."""
        found: list[str] = []
        query = self.start(directory, found, {"processingTime": "0 seconds"}, given)
        try:
            yield query, found
        finally:
            query.stop()

    def start(
        self, directory: Path, found: list[str], trigger: dict[str, Any], given: dict[str, str]
    ) -> StreamingQuery:
        """Start a query that appends the values of each batch to `found`."""

        def keep(frame: DataFrame, _batch: int) -> None:
            self.tasks.append(frame.rdd.getNumPartitions())
            found.extend(values_of(frame))

        stream = self.spark.readStream.format("kafka").options(**self.options(given)).load()
        writer = stream.writeStream.foreachBatch(keep).trigger(**trigger)
        return writer.option("checkpointLocation", str(directory)).start()


def values_of(frame: DataFrame) -> list[str]:
    return sorted(bytes(row.value).decode() for row in frame.select("value").collect())


@pytest.fixture(params=["ottla", pytest.param("apache_kafka", marks=pytest.mark.kafka)])
def broker(request: pytest.FixtureRequest, spark: SparkSession) -> Broker:
    """Ottla, or Apache Kafka."""
    found = request.getfixturevalue(request.param)
    return Broker(found if isinstance(found, str) else found.bootstrap_servers, spark)


@pytest.fixture(params=["false", "true"], ids=["admin", "consumer"])
def fetching(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """Both ways in which the source asks for offsets: as an admin client, and as a consumer."""
    spark.conf.set(OLD_FETCHING, request.param)
    yield request.param
    spark.conf.unset(OLD_FETCHING)


@pytest.fixture
def topic(broker: Broker) -> str:
    """A topic of one partition with a history."""
    name = broker.create_topic()
    broker.history(name)
    return name


@pytest.mark.usefixtures("fetching")
def test_markers_and_aborted_records_are_no_data_loss(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    """Batches of three offsets begin and end at markers and within aborted transactions."""
    found = broker.run(tmp_path, subscribe=topic, maxOffsetsPerTrigger="3")
    assert found == COMMITTED
    assert broker.run(tmp_path, subscribe=topic) == []


@pytest.mark.parametrize(
    ("first", "end", "expected"),
    [
        (4, 8, []),  # an aborted transaction and its marker
        (5, 9, ["2-0"]),
        (2, 4, ["0-2"]),
        (11, 12, []),  # a marker alone
        (-2, -1, COMMITTED),
        (END, -1, []),
    ],
)
def test_offsets_limit_a_batch_read(
    broker: Broker, topic: str, first: int, end: int, expected: list[str]
) -> None:
    limits = [json.dumps({topic: {"0": offset}}) for offset in (first, end)]
    found = broker.values(subscribe=topic, startingOffsets=limits[0], endingOffsets=limits[1])
    assert found == expected


@pytest.mark.slow
@pytest.mark.usefixtures("fetching")
def test_times_limit_a_batch_read(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2)
    broker.history(topic, 0)
    broker.history(topic, 1)

    def by_partition(*hours: int) -> str:
        times = {str(each): FIRST_MS + hour * HOUR_MS for each, hour in enumerate(hours)}
        return json.dumps({topic: times})

    second, third = str(FIRST_MS + HOUR_MS), str(FIRST_MS + 2 * HOUR_MS)
    assert broker.values(subscribe=topic, startingTimestamp=second) == sorted(COMMITTED[3:] * 2)
    assert broker.values(subscribe=topic, endingTimestamp=third) == sorted(COMMITTED[:3] * 2)
    found = broker.values(subscribe=topic, startingOffsetsByTimestamp=by_partition(0, 1))
    assert found == sorted([*COMMITTED, *COMMITTED[3:]])
    found = broker.values(subscribe=topic, endingOffsetsByTimestamp=by_partition(0, 1))
    assert found == COMMITTED[:3]


def test_a_time_without_records_fails_or_starts_at_the_end(broker: Broker, topic: str) -> None:
    later = str(int(time.time() * 1000) + HOUR_MS)
    given = {"subscribe": topic, "startingTimestamp": later}
    with pytest.raises(Exception, match="No offset matched from request"):
        broker.values(**given)
    assert broker.values(**given, startingOffsetsByTimestampStrategy="latest") == []
    assert broker.values(subscribe=topic, endingTimestamp=later) == COMMITTED


def test_a_partition_is_read_by_several_tasks(broker: Broker, topic: str, tmp_path: Path) -> None:
    """Some of the tasks have markers and aborted records alone."""
    frame = broker.read(subscribe=topic, minPartitions="5")
    assert frame.rdd.getNumPartitions() == 5
    assert values_of(frame) == COMMITTED
    assert broker.run(tmp_path, subscribe=topic, maxRecordsPerPartition="3") == COMMITTED
    assert broker.tasks == [-(-END // 3)]


def test_a_batch_waits_for_its_minimum_of_offsets(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    limits = {"minOffsetsPerTrigger": "8", "maxTriggerDelay": "1h"}
    with broker.running(tmp_path, subscribe=topic, **limits) as (query, found):
        query.processAllAvailable()
        assert found == COMMITTED
        broker.produce(topic, ["a", "b"])
        query.processAllAvailable()
        assert found == COMMITTED
        broker.produce(topic, [*"cdefgh"])
        query.processAllAvailable()
        assert found == [*COMMITTED, *"abcdefgh"]


def test_a_pattern_finds_new_topics(broker: Broker, tmp_path: Path) -> None:
    prefix = f"pattern-{secrets.token_hex(4)}"
    broker.history(broker.create_topic(f"{prefix}-a"))
    with broker.running(tmp_path, subscribePattern=f"{prefix}-.*") as (query, found):
        query.processAllAvailable()
        broker.produce(broker.create_topic(f"{prefix}-b"), ["new"])
        query.processAllAvailable()
        assert found == [*COMMITTED, "new"]


@pytest.mark.usefixtures("fetching")
def test_an_assigned_partition_is_read_alone(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, ["partition 0"])
    broker.history(topic, 1)
    assert broker.values(assign=json.dumps({topic: [1]})) == COMMITTED


def test_headers_are_a_column(broker: Broker) -> None:
    topic = broker.create_topic()
    producer = broker.producer()
    producer.produce(topic, "with", headers=[("trace", b"1"), ("trace", None)])
    producer.produce(topic, "without")
    assert producer.flush(30) == 0
    rows = broker.read(subscribe=topic, includeHeaders="true").orderBy("offset").collect()
    found = [row.headers and [(each.key, each.value) for each in row.headers] for row in rows]
    assert found == [[("trace", b"1"), ("trace", None)], None]


@pytest.mark.parametrize("fetching", ["true"], indirect=True)
@pytest.mark.usefixtures("fetching")
def test_the_group_of_a_query_has_its_prefix(broker: Broker, topic: str, tmp_path: Path) -> None:
    prefix = f"group-{secrets.token_hex(4)}"
    with broker.running(tmp_path, subscribe=topic, groupIdPrefix=prefix) as (query, found):
        query.processAllAvailable()
        groups = broker.admin.list_consumer_groups().result(30).valid
        assert [each for each in groups if each.group_id.startswith(f"{prefix}-")]
        assert found == COMMITTED


@pytest.mark.usefixtures("fetching")
def test_a_topic_that_is_deleted_and_made_anew_is_data_loss(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    assert broker.run(tmp_path, subscribe=topic) == COMMITTED
    broker.delete_topic(topic)
    broker.create_topic(topic)
    broker.produce(topic, ["new"])
    with pytest.raises(StreamingQueryException, match=r"[Ss]ome data may have been lost"):
        broker.run(tmp_path, subscribe=topic)


def test_records_deleted_before_they_are_read_are_data_loss(
    broker: Broker, topic: str, tmp_path: Path
) -> None:
    assert broker.run(tmp_path, subscribe=topic) == COMMITTED
    broker.produce(topic, [*"abcd"])
    broker.delete_records(topic, END + 2)
    with pytest.raises(StreamingQueryException, match=r"[Ss]ome data may have been lost"):
        broker.run(tmp_path, subscribe=topic)
    assert broker.run(tmp_path, subscribe=topic, failOnDataLoss="false") == ["c", "d"]
