"""The write-ahead log of the sink: a compacted topic with the last batch of each query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from zlib import crc32

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ...client.admin.offsets import EARLIEST, LATEST
from ...client.cluster_client import Client, ErrorAnswer
from ...client.fates import Fate, Markers
from ...client.log_batches import log_batches
from ...client.retries import patiently
from ...protocol.errors import Code
from .cluster import offset_at
from .crash_steps import CrashStep, reached
from .names import driver_id
from .options import SinkOptions
from .tasks import DecidedBatch, batch_of, records_of

_ANSWER_S: Final = 60.0
_TIMEOUT_MS: Final = 10_000  # a dead driver holds the log back for no longer than this
_PARTITIONS: Final = 8
_NEWEST: Final = 64  # offsets that the first reading takes
_CONFIGS: Final = {
    "cleanup.policy": "compact",
    "segment.ms": "600000",
    "min.cleanable.dirty.ratio": "0.1",
}


class ReplacedDriver(Exception):
    """A later driver of the same query has begun, or this one was away for too long."""


class WriteAheadLog:
    """The log of one query, for one call of commit().

    The constructor fences all earlier drivers of the query and aborts what they were writing.

    Raises:
        KafkaException, ErrorAnswer, NoAnswer: the log cannot be reached.
    """

    def __init__(self, options: SinkOptions, query_id: str, client: Client) -> None:
        self._options = options
        self._query_id = query_id
        self._client = client
        self._topic = options.wal_topic
        is_small = len(self._partitions()) < _PARTITIONS
        self._partition = 0 if is_small else crc32(query_id.encode()) % _PARTITIONS
        own_id = driver_id(options.prefix, query_id)
        self._producer = Producer(options.settings(own_id, _TIMEOUT_MS))
        self._producer.init_transactions(options.answer_s)

    def read(self, *, is_new: bool = False) -> DecidedBatch | None:
        """The last batch of the query, which from then on is written where it was found.

        The topic may have got partitions since that batch: in a topic of less than eight, all
        batches are in partition 0. A number above eight changes nothing.

        Args:
            is_new: nothing has been written under the name, so partition 0 is not read, too.

        Raises:
            ValueError: a part of the batch is missing.
        """
        own = self._partition
        for self._partition in (own,) if is_new or own == 0 else (own, 0):
            found = self._last()
            if found is not None:
                return found
        self._partition = own
        return None

    def _last(self) -> DecidedBatch | None:
        """The last batch of the query in the partition."""
        topic, partition = self._topic, self._partition
        end = offset_at(self._client, topic, partition, LATEST)
        self._wait_for_stable(end)
        low = offset_at(self._client, topic, partition, EARLIEST)
        reach = _NEWEST
        while True:
            start = max(low, end - reach)
            try:
                found = batch_of(self._query_id, self._committed(start, end))
            except ValueError:
                if start == low:
                    raise
                found = None
            if found is not None or start == low:
                return found
            reach *= 8

    def write(self, batch: DecidedBatch) -> None:
        """Write a batch, all or nothing.

        Raises:
            ReplacedDriver: a later driver has begun.
            KafkaException: it is not known whether the batch is written.
        """
        directory = self._options.steps_directory
        try:
            self._producer.begin_transaction()
            for key, value in records_of(batch):
                self._producer.produce(self._topic, value, key, self._partition)
            self._producer.flush(_ANSWER_S)
            if not batch.is_done:
                reached(CrashStep.DECISION_SENT, directory)
            self._producer.commit_transaction(_ANSWER_S)
        except KafkaException as failed:
            if failed.args[0].code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED):
                raise ReplacedDriver(
                    f"query {self._query_id}: a later driver began, or the write-ahead log could"
                    f" not be written for {_TIMEOUT_MS // 1000} s"
                ) from failed
            raise

    def _partitions(self) -> list[int]:
        """The partitions of the topic, which is created if it is missing."""

        def partitions() -> list[int]:
            try:
                return self._client.partitions(self._topic)
            except ErrorAnswer as refused:
                if refused.code != Code.UNKNOWN_TOPIC_OR_PARTITION:
                    raise
            self._create()
            return self._client.partitions(self._topic)

        return patiently(partitions)

    def _create(self) -> None:
        """Create the topic, unless it is there."""
        admin = AdminClient(self._options.settings_of_clients())
        # -1: the broker's default. Replication 1 would be the default of librdkafka.
        new = NewTopic(
            self._topic, num_partitions=_PARTITIONS, replication_factor=-1, config=_CONFIGS
        )
        (created,) = admin.create_topics([new]).values()
        try:
            created.result(timeout=_ANSWER_S)
        except KafkaException as failed:
            if failed.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    def _wait_for_stable(self, end: int) -> None:
        """Wait until no transaction is open below `end`.

        Those of other queries take milliseconds; one of a driver that died times out.
        """
        topic, partition = self._topic, self._partition
        while offset_at(self._client, topic, partition, LATEST, stable=True) < end:
            # Fetch waits for half a second if there is nothing new.
            self._producer.poll(0.01)

    def _committed(self, start: int, end: int) -> Iterator[tuple[bytes, bytes | None]]:
        """Key and value of the committed records between two offsets.

        A transaction that began before `start` is read in part; its marker is behind `start`.
        """
        batches = list(log_batches(self._client, self._topic, self._partition, start, end))
        markers = Markers()
        for batch in batches:
            if batch.commits is not None:
                markers.add(batch.header, commits=batch.commits)
        for batch in batches:
            if markers.fate(batch.header) in (Fate.PLAIN, Fate.COMMITTED):
                for record in batch.records:
                    if record.key is not None and record.offset >= start:
                        yield record.key, record.value
