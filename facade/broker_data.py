"""Topics, records, transactions and groups of a test's broker, without a client library.

Every call opens connections of its own and closes them, so that a broker may be killed and
restarted between two calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypedDict

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.record_batch import OutgoingRecord
    from ottla.record_producer import Stored
    from ottla.record_reader import ReadRecord
    from ottla.transactions_command import Transaction

_WAIT_MS: Final = 50
_PATIENCE_S: Final = 10.0

Text = str | bytes | None


class RowFields(TypedDict, total=False):
    """A row by the names of its parts."""

    key: Text
    value: Text
    headers: Mapping[str, Text]
    partition: int
    timestamp_ms: int


Row = Text | tuple[Text, Text] | RowFields
"""A record to produce: its value, its key and value, or its parts by name."""


class BrokerData:
    """The data of a running broker.

    Raises, in every call:
        ottla.client.ErrorAnswer: the broker refuses; its `code` is Kafka's number of the error.
        ottla.client.NoAnswer: the broker does not answer.
    """

    @property
    def bootstrap_servers(self) -> str:
        """ "HOST:PORT" of each node, separated by commas."""
        raise NotImplementedError

    def _client(self) -> Client:
        """A client for the requests of this class."""
        from ottla.client import Client

        return Client.to(self.bootstrap_servers)

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic.

        Args:
            replication_factor: -1 for the broker's default.
            configs: the topic's configs by Kafka's names.
        """
        from ottla.admin_topics import create_topic

        with self._client() as client:
            create_topic(
                client,
                name,
                partitions=partitions,
                replication_factor=replication_factor,
                settings=configs,
            )

    def produce(
        self,
        topic: str,
        rows: Iterable[Row],
        *,
        transactional_id: str | None = None,
        commit: bool = True,
    ) -> list[Stored]:
        """Produce records, and wait until all in-sync replicas have them.

        Args:
            rows: values, pairs of key and value, or mappings with `key`, `value`, `headers`,
                `partition` and `timestamp_ms`; text becomes UTF-8, None as a value is a tombstone.
            transactional_id: produce them in one transaction of this id.
            commit: whether the transaction is committed or aborted.

        Returns:
            Topic, partition and offset of each record, in the order of `rows`.
        """
        from ottla.record_producer import OpenTransaction, produce

        records = [_record(row) for row in rows]
        with self._client() as client:
            if transactional_id is None:
                return produce(client, topic, records)
            transaction = OpenTransaction.begin(client, transactional_id)
            stored = transaction.produce(topic, records)
            transaction.end(commit=commit)
            return stored

    def read(
        self,
        topic: str,
        *,
        isolation: Literal["read_committed", "read_uncommitted"] = "read_committed",
        until: int | Callable[[Sequence[ReadRecord]], object] | None = None,
        timeout_s: float = _PATIENCE_S,
    ) -> list[ReadRecord]:
        """Read a topic from its beginning, sorted by partition and offset.

        Args:
            isolation: with read_committed, without the records of aborted and open transactions.
            until: wait for this number of records, or until this function of the records is true;
                None: read what is there now.

        Raises:
            TimeoutError: what `until` asks for did not happen in time.
        """
        from ottla.admin_offsets import EARLIEST, LATEST, Isolation, partition_offsets
        from ottla.client import check
        from ottla.record_reader import RecordReader

        level = Isolation[isolation.upper()]
        with self._client() as client:
            (found,) = client.metadata([topic])
            check(found.error_code, topic)
            partitions = [each.partition_index for each in found.partitions]
            starts = partition_offsets(client, topic, dict.fromkeys(partitions, EARLIEST))
            reader = RecordReader(client, topic, starts, isolation=level)
            if until is None:
                latest = dict.fromkeys(partitions, LATEST)
                ends = partition_offsets(client, topic, latest, isolation=level)
                return sorted(reader.read_to(ends), key=_place)
            records: list[ReadRecord] = []
            deadline_s = time.monotonic() + timeout_s
            while not _is_enough(records, until):
                if time.monotonic() > deadline_s:
                    wanted = f"{until} records" if isinstance(until, int) else "the wanted records"
                    raise TimeoutError(
                        f"{topic} has {len(records)} records after {timeout_s:g} s, not {wanted}"
                    )
                records = sorted([*records, *reader.read(max_wait_ms=_WAIT_MS)], key=_place)
            return records

    def transactions(self) -> list[Transaction]:
        """The transactional ids that the broker knows, with the states of their transactions."""
        from ottla.transactions_command import found

        with self._client() as client:
            return found(client)

    def offsets(self, group: str) -> dict[tuple[str, int], int]:
        """The committed offsets of a group, by topic and partition; empty for an unknown group."""
        from ottla.admin_groups import committed_offsets

        with self._client() as client:
            return {place: found[0] for place, found in committed_offsets(client, group).items()}


def _place(record: ReadRecord) -> tuple[int, int]:
    return record.partition, record.offset


def _is_enough(
    records: Sequence[ReadRecord], until: int | Callable[[Sequence[ReadRecord]], object]
) -> bool:
    return len(records) >= until if isinstance(until, int) else bool(until(records))


def _record(row: Row) -> OutgoingRecord:
    from ottla.record_batch import OutgoingRecord

    if isinstance(row, Mapping):
        unknown = set(row) - set(RowFields.__annotations__)
        if unknown:
            known = ", ".join(RowFields.__annotations__)
            raise TypeError(f"{unknown.pop()!r} is no part of a record; parts: {known}")
        headers = row.get("headers", {}).items()
        return OutgoingRecord(
            value=_encoded(row.get("value")),
            key=_encoded(row.get("key")),
            headers=tuple((name, _encoded(content)) for name, content in headers),
            partition=row.get("partition"),
            timestamp_ms=row.get("timestamp_ms"),
        )
    if isinstance(row, tuple):
        key, value = row
        return OutgoingRecord(value=_encoded(value), key=_encoded(key))
    return OutgoingRecord(value=_encoded(row))


def _encoded(text: Text) -> bytes | None:
    if text is not None and not isinstance(text, str | bytes):
        raise TypeError(f"{text!r}: text, bytes or None was expected")
    return text.encode() if isinstance(text, str) else text
