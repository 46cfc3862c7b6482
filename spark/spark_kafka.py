"""Reads and writes topics of a test's broker with Spark (the fixture `spark_kafka` of pytest)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkKafka:
    """A Spark session and a broker.

    Attributes:
        session: the Spark session, with the Kafka connector.
        bootstrap_servers: "HOST:PORT" of the broker's nodes, separated by commas.
    """

    def __init__(self, session: SparkSession, bootstrap_servers: str) -> None:
        self.session = session
        self.bootstrap_servers = bootstrap_servers

    @property
    def options(self) -> dict[str, str]:
        """The options of Spark's Kafka source and sink that name the broker."""
        return {"kafka.bootstrap.servers": self.bootstrap_servers}

    def read(self, topic: str, **options: str) -> DataFrame:
        """All committed records of a topic, with the columns of Spark's Kafka source.

        Args:
            options: of the source, with their names, in addition.
        """
        given = {**self.options, "subscribe": topic, "kafka.isolation.level": "read_committed"}
        return self.session.read.format("kafka").options(**given, **options).load()

    def read_stream(self, topic: str, **options: str) -> DataFrame:
        """A stream of the committed records of a topic, from its beginning; as `read`."""
        given = {
            **self.options,
            "subscribe": topic,
            "kafka.isolation.level": "read_committed",
            "startingOffsets": "earliest",
        }
        return self.session.readStream.format("kafka").options(**(given | options)).load()

    def write(self, frame: DataFrame, topic: str) -> None:
        """Append the columns `value`, and `key` if there is one, to a topic."""
        frame.write.format("kafka").options(**self.options, topic=topic).save()
