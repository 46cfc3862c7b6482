"""Reads and writes topics of a test's broker with Spark (the fixture `spark_kafka` of pytest)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from .pairs import near_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SERVERS: Final = "kafka.bootstrap.servers"
_WRITTEN: Final = ("key", "value", "headers", "topic", "partition")
_ISOLATION: Final = "kafka.isolation.level"
Value = str | int | float | bool | None
"""What Spark takes as the value of an option."""


class Broker(Protocol):
    """A broker of `ottla.testing`."""

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT of each node."""

    def client_settings(self, client: str) -> dict[str, Any]:
        """The settings of a client. Any: of the client's types."""


class SparkKafka:
    """A Spark session and a broker.

    Attributes:
        session: the Spark session, with the Kafka connector.
        bootstrap_servers: "HOST:PORT" of the broker's nodes, separated by commas.
    """

    def __init__(
        self,
        session: SparkSession,
        bootstrap_servers: str,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.session = session
        self.bootstrap_servers = bootstrap_servers
        self._options = {_SERVERS: bootstrap_servers, **(options or {})}

    def on(self, broker: Broker) -> SparkKafka:
        """The same session with another broker, such as that of the fixture `ottla_broker`."""
        options = broker.client_settings("spark")
        return SparkKafka(self.session, broker.bootstrap_servers, options)

    @property
    def options(self) -> dict[str, str]:
        """The options of Spark's Kafka source and sink that name the broker, and log in."""
        return dict(self._options)

    def read(self, topic: str = "", **options: Value) -> DataFrame:
        """All committed records of a topic, with the columns of Spark's Kafka source.

        Args:
            topic: may be left out with the option `assign` or `subscribePattern`.
            options: of the source, with their names; they go before the ones of this method, also
                `**{"kafka.isolation.level": "read_uncommitted"}`.
        """
        chosen = self._chosen(topic, options)
        return self.session.read.format("kafka").options(**chosen).load()

    def read_stream(self, topic: str = "", **options: Value) -> DataFrame:
        """A stream of the committed records of a topic, from its beginning; as `read`."""
        chosen = {"startingOffsets": "earliest", **self._chosen(topic, options)}
        return self.session.readStream.format("kafka").options(**chosen).load()

    def _chosen(self, topic: str, options: Mapping[str, Value]) -> dict[str, Value]:
        named = {"subscribe": topic} if topic else {}
        return {**self._options, **named, _ISOLATION: "read_committed", **options}

    def write(self, frame: DataFrame, topic: str, **options: Value) -> None:
        """Append the columns `value`, and `key` if there is one, to a topic.

        Args:
            options: of Spark's Kafka sink, in addition.

        Raises:
            ValueError: a column such as KEY, which Spark's sink would leave out.
        """
        if near := near_name(frame.columns, _WRITTEN):
            raise ValueError(near)
        chosen = {**self._options, "topic": topic, **options}
        frame.write.format("kafka").options(**chosen).save()
