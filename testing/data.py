"""Topics, records, transactions and groups of a test's broker, by Ottla's own client.

Every call opens connections of its own and closes them, so that a broker may be killed and
restarted between two calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, TypeVar

from .arguments import check_mapping, check_number, check_text
from .reasons import BrokerReasons

if TYPE_CHECKING:
    from ..client.admin.offsets import Isolation
    from ..client.admin.transactions import Transaction
    from ..client.cluster_client import Client
    from ..client.record_batch import OutgoingRecord
    from ..client.record_producer import Stored
    from ..client.record_reader import ReadRecord, RecordReader
    from .group_of_test import GroupOfTest
    from .share_groups import ShareGroup
    from .streams_groups import StreamsGroup

_WAIT_MS: Final = 50
PATIENCE_S: Final = 10.0
_SHORTEST_PATIENCE_S: Final = 2.0  # a busy machine answers later than a test may want to wait
_NAMED: Final = 10  # of the topics in an error
_PAIR: Final = 2
_SIMILAR: Final = 0.8  # a misspelt part, as `valu` or `header`

_G = TypeVar("_G", bound="GroupOfTest")
Text = str | bytes | None
# Any: values of JSON.
Json = Mapping[str, Any] | list[Any]
"""Becomes JSON."""
Content = Text | Json
Headers = Mapping[str, Text] | Sequence[tuple[str, Text]]
"""By name, or in pairs as confluent-kafka and kafka-python have them: a name may come twice."""


class RowFields(TypedDict, total=False):
    """A row by the names of its parts."""

    key: Content
    value: Content
    headers: Headers
    partition: int
    timestamp_ms: int


Row = Content | tuple[Content, Content] | RowFields
"""A record to produce: its value, its key and value, or its parts by name."""


class BrokerData(BrokerReasons):
    """The data of a running broker.

    Raises, in every call:
        ottla.client.ErrorAnswer: the broker refuses; its `code` is Kafka's number of the error.
        ottla.client.NoAnswer: the broker does not answer.
        ottla.testing.BrokerFailed: the broker of a test was not started.
    """

    @property
    def bootstrap_servers(self) -> str:
        """ "HOST:PORT" of each node, separated by commas."""
        raise NotImplementedError

    def _client(self, *, timeout_s: float = PATIENCE_S) -> Client:
        """A client for the requests of this class; it waits so long for each answer."""
        from ..client.cluster_client import Client

        return Client.to(self.bootstrap_servers, timeout_s=timeout_s)

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
        __tracebackhide__ = True  # pytest shows the caller
        from ..client.admin.topics import create_topic

        check_text("name", name)
        check_number("partitions", partitions, 31)
        check_number("replication_factor", replication_factor, 15)
        check_mapping("configs", configs)
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
        rows: str | bytes | Mapping[str, Any] | Iterable[Row],  # Any: as in Json
        *,
        transactional_id: str | None = None,
        commit: bool = True,
    ) -> list[Stored]:
        """Produce records, and wait until all in-sync replicas have them.

        Args:
            rows: values, pairs of key and value, or mappings with `key`, `value`, `headers`,
                `partition` and `timestamp_ms`; or a single text or mapping for one record. Text
                becomes UTF-8, other mappings and lists become JSON, None is a tombstone.
            transactional_id: produce them in one transaction of this id.
            commit: whether the transaction is committed or aborted.

        Returns:
            Topic, partition and offset of each record, in the order of `rows`.

        Raises:
            TypeError: a row is none of these; nothing is produced.
            ValueError: without a transaction there is nothing to abort.
        """
        __tracebackhide__ = True  # pytest shows the caller
        from ..client.record_producer import OpenTransaction, produce

        if not commit and transactional_id is None:
            raise ValueError("commit=False needs a transactional_id: nothing else is aborted")
        check_text("topic", topic)
        if transactional_id is not None:
            check_text("transactional_id", transactional_id)
        records = [_record(row) for row in _rows(rows)]
        with self._client() as client:
            _found(client, topic, may_create=True)
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
        timeout_s: float = PATIENCE_S,
    ) -> list[ReadRecord]:
        """Read a topic from its beginning, sorted by partition and offset.

        Args:
            isolation: with read_committed, without the records of aborted and open transactions.
            until: wait for this number of records, or until this function of the records is true;
                None: read what is there now.

        Raises:
            TimeoutError: what `until` asks for did not happen in time. A broker that does not
                answer has two seconds at least.
            ValueError, TypeError: an argument is wrong; the text names it.
        """
        __tracebackhide__ = True  # pytest shows the caller
        from ..client.admin.offsets import Isolation
        from ..client.cluster_client import NoAnswer

        levels = {each.name.lower(): each for each in Isolation}
        if (level := levels.get(isolation)) is None:
            raise ValueError(f"isolation={isolation!r} must be one of {', '.join(levels)}")
        check_text("topic", topic)
        if until is None:
            return self._read_now(topic, level)
        if not callable(until):
            check_number("until", until)
        deadline_s = time.monotonic() + timeout_s
        try:
            return self._read_until(topic, level, until, timeout_s)
        except NoAnswer as silent:
            if time.monotonic() < deadline_s:
                raise
            failed = f"{topic} could not be read within {timeout_s:g} s: {silent}"
            raise TimeoutError(failed) from None

    def _read_now(self, topic: str, isolation: Isolation) -> list[ReadRecord]:
        from ..client.admin.offsets import LATEST, partition_offsets

        with self._client() as client:
            reader, partitions = _reader(client, topic, isolation)
            latest = dict.fromkeys(partitions, LATEST)
            ends = partition_offsets(client, topic, latest, isolation=isolation)
            return sorted(reader.read_to(ends), key=_place)

    def _read_until(
        self,
        topic: str,
        isolation: Isolation,
        until: int | Callable[[Sequence[ReadRecord]], object],
        timeout_s: float,
    ) -> list[ReadRecord]:
        __tracebackhide__ = True  # pytest shows the caller
        patience_s = min(max(timeout_s, _SHORTEST_PATIENCE_S), PATIENCE_S)
        with self._client(timeout_s=patience_s) as client:
            reader, _ = _reader(client, topic, isolation)
            records: list[ReadRecord] = []
            deadline_s = time.monotonic() + timeout_s
            while not _is_enough(records, until):
                if time.monotonic() > deadline_s:
                    wanted = f"{until} records" if isinstance(until, int) else "the wanted records"
                    failed = f"{topic} has {len(records)} records after {timeout_s:g} s, not"
                    raise TimeoutError(f"{failed} {wanted}{self._why_waiting(topic)}")
                records = sorted([*records, *reader.read(max_wait_ms=_WAIT_MS)], key=_place)
            return records

    def transactions(self) -> list[Transaction]:
        """The transactional ids that the broker knows, with the states of their transactions."""
        from ..client.admin.transactions import list_transactions

        with self._client() as client:
            return list_transactions(client)

    def share_group(self, group: str, *, configs: Mapping[str, str] | None = None) -> ShareGroup:
        """A share group (KIP-932): its members, start offsets, lag and records.

        Args:
            configs: are set now, by Kafka's names: a group that is to read what is there already
                has `{"share.auto.offset.reset": "earliest"}`.
        """
        __tracebackhide__ = True  # pytest shows the caller
        from .share_groups import ShareGroup

        return self._group(ShareGroup, group, configs)

    def streams_group(
        self, group: str, *, configs: Mapping[str, str] | None = None
    ) -> StreamsGroup:
        """A Streams group (KIP-1071): its members, tasks, topology and offsets.

        Args:
            configs: are set now, by Kafka's names, such as `streams.num.standby.replicas`.
        """
        __tracebackhide__ = True  # pytest shows the caller
        from .streams_groups import StreamsGroup

        return self._group(StreamsGroup, group, configs)

    def _group(self, kind: type[_G], group: str, configs: Mapping[str, str] | None) -> _G:
        __tracebackhide__ = True
        check_text("group", group)
        check_mapping("configs", configs)
        found = kind(group, self._client)
        if configs:
            found.configure(configs)
        return found

    def offsets(self, group: str) -> dict[tuple[str, int], int]:
        """The committed offsets of a group, by topic and partition; empty for an unknown group."""
        from ..client.admin.groups import next_offsets

        check_text("group", group)
        with self._client() as client:
            return next_offsets(client, group)


def _place(record: ReadRecord) -> tuple[int, int]:
    return record.partition, record.offset


def _is_enough(
    records: Sequence[ReadRecord], until: int | Callable[[Sequence[ReadRecord]], object]
) -> bool:
    return len(records) >= until if isinstance(until, int) else bool(until(records))


def _reader(client: Client, topic: str, isolation: Isolation) -> tuple[RecordReader, list[int]]:
    """What reads a topic from its beginning, and the topic's partitions. Raises ErrorAnswer."""
    from ..client.admin.offsets import EARLIEST, partition_offsets
    from ..client.record_reader import RecordReader

    partitions = [each.partition_index for each in _found(client, topic).partitions]
    starts = partition_offsets(client, topic, dict.fromkeys(partitions, EARLIEST))
    return RecordReader(client, topic, starts, isolation=isolation), partitions


def _found(client: Client, topic: str, *, may_create: bool = False) -> Any:
    """The metadata of a topic. Any: an object of the codec.

    Raises:
        ErrorAnswer: there is no such topic; the text names those that have a similar name.
    """
    __tracebackhide__ = True  # pytest shows the caller
    from difflib import get_close_matches

    from ..client.cluster_client import ErrorAnswer, check
    from ..protocol.errors import Code

    (found,) = client.metadata([topic], may_create=may_create)
    if found.error_code == Code.UNKNOWN_TOPIC_OR_PARTITION:
        names = [each.name for each in client.metadata(None) if not each.is_internal]
        if topic not in names:
            similar = get_close_matches(topic, names) or sorted(names)[:_NAMED]
            known = f"topics: {', '.join(similar)}" if names else "the broker has no topics"
            raise ErrorAnswer(found.error_code, topic, f"no such topic; {known}")
    elif not may_create:
        check(found.error_code, topic)
    return found


def _rows(given: Any) -> Iterable[Any]:  # Any: what a test gives, right or wrong
    """The rows, also of a single record."""
    if isinstance(given, tuple) and len(given) == _PAIR and all(map(_is_text, given)):
        raise TypeError(
            f"{given!r}: a list was expected, of a pair: [(key, value)], or of two values"
        )
    if given is None or isinstance(given, str | bytes | bytearray | Mapping):
        return (given,)
    if isinstance(given, Iterable):
        return given
    raise TypeError(f"{given!r}: a record, or several, was expected")


def _is_text(given: object) -> bool:
    return given is None or isinstance(given, str | bytes)


def _record(row: Any) -> OutgoingRecord:  # Any: as in _rows
    from ..client.record_batch import OutgoingRecord

    if isinstance(row, Mapping) and _has_parts(row):
        check_number("partition", row.get("partition"))
        check_number("timestamp_ms", row.get("timestamp_ms"))
        return OutgoingRecord(
            value=_encoded(row.get("value")),
            key=_encoded(row.get("key")),
            headers=_headers(row.get("headers") or ()),
            partition=row.get("partition"),
            timestamp_ms=row.get("timestamp_ms"),
        )
    if isinstance(row, tuple):
        if len(row) != _PAIR:
            raise TypeError(f"{row!r}: a pair of key and value was expected")
        key, value = row
        return OutgoingRecord(value=_encoded(value), key=_encoded(key))
    return OutgoingRecord(value=_encoded(row))


def _has_parts(row: Mapping[Any, Any]) -> bool:  # Any: as in _rows
    """Whether a mapping names parts of a record; else it is a value. Raises TypeError."""
    from difflib import get_close_matches

    parts = list(RowFields.__annotations__)
    unknown = [str(name) for name in row if name not in parts]
    if len(unknown) == len(row) and not any(
        get_close_matches(name, parts, cutoff=_SIMILAR) for name in unknown
    ):
        return False
    if unknown:
        raise TypeError(
            f"{unknown[0]!r} is no part of a record; parts: {', '.join(parts)}."
            " A value in JSON that has such names: {'value': {...}}"
        )
    return True


def _headers(given: Any) -> tuple[tuple[str, bytes | None], ...]:  # Any: as in _rows
    pairs = list(given.items()) if isinstance(given, Mapping) else given
    if not isinstance(pairs, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == _PAIR and isinstance(pair[0], str)
        for pair in pairs
    ):
        raise TypeError(f"headers: {given!r}: a mapping, or pairs of name and value, was expected")
    return tuple((name, _encoded(content, is_header=True)) for name, content in pairs)


def _encoded(content: Any, *, is_header: bool = False) -> bytes | None:  # Any: as in _rows
    match content:
        case None | bytes():
            return content
        case str():
            return content.encode()
        case bytearray() | memoryview():
            return bytes(content)
        case list() | Mapping() if not is_header:
            import json

            return json.dumps(content).encode()
    raise TypeError(f"{content!r}: text, bytes or None was expected, or a dict or list for JSON")
