"""A small blocking client of a cluster, for the driver: one request at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple, Self, TypeVar

from ...client.connection import Connection
from ...client.security import UNSECURED, ClientSecurity, Unauthenticated
from ...protocol.api_keys import ApiKey
from ...protocol.batch import BatchHeader, headers_in
from ...protocol.control import read_marker
from ...protocol.errors import Code
from ...protocol.records import Record, records_in

PATIENCE_S: Final = 60.0
"""A request is repeated for this time while brokers restart and coordinators move."""
_ANSWER_S: Final = 15.0
_PAUSE_S: Final = 0.02
_FETCH_BYTES: Final = 1 << 20
_CLIENT_ID: Final = "ottla-sink"
_TRANSACTION: Final = 1  # the key type in FindCoordinator
LATEST: Final = -1
EARLIEST: Final = -2
_VERSIONS: Final = {
    ApiKey.API_VERSIONS: 4,
    ApiKey.DESCRIBE_TRANSACTIONS: 0,
    ApiKey.FETCH: 12,
    ApiKey.FIND_COORDINATOR: 4,
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.LIST_OFFSETS: 7,
    ApiKey.LIST_TRANSACTIONS: 0,
    ApiKey.METADATA: 12,
}
_RETRIED: Final = frozenset(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS,
        Code.COORDINATOR_NOT_AVAILABLE,
        Code.NOT_COORDINATOR,
        Code.CONCURRENT_TRANSACTIONS,
        Code.LEADER_NOT_AVAILABLE,
        Code.NOT_LEADER_OR_FOLLOWER,
        Code.UNKNOWN_TOPIC_OR_PARTITION,  # a restarted broker may not know it yet
        Code.FENCED_LEADER_EPOCH,
        Code.UNKNOWN_LEADER_EPOCH,
        Code.OFFSET_NOT_AVAILABLE,
    }
)
_T = TypeVar("_T")


class Refusal(Exception):
    """A broker answered with an error code."""

    def __init__(self, code: int, subject: str) -> None:
        known = {each.value: each.name for each in Code}
        super().__init__(f"{subject}: {known.get(code, f'error {code}')}")
        self.code = code


def check(code: int, subject: str) -> None:
    """Raise Refusal unless there is no error."""
    if code != Code.NONE:
        raise Refusal(code, subject)


def patiently(function: Callable[[], _T], patience_s: float = PATIENCE_S) -> _T:
    """Call a function again while brokers are away or coordinators move.

    Raises:
        Refusal, OSError: the last error, after `patience_s`; other refusals and Unauthenticated
            at once.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return function()
        except Refusal as refused:
            if refused.code not in _RETRIED or time.monotonic() > deadline:
                raise
        except Unauthenticated:
            raise
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_S)


class LogBatch(NamedTuple):
    """One record batch of a partition.

    Attributes:
        commits: for a marker: True for commit, False for abort; else None.
    """

    header: BatchHeader
    commits: bool | None
    records: tuple[Record, ...]


class Wire:
    """Connections to the brokers of a cluster, opened when needed and opened again after errors.

    Args:
        bootstrap_servers: HOST:PORT, with commas between them.
        security: of the connections.
    """

    def __init__(self, bootstrap_servers: str, security: ClientSecurity = UNSECURED) -> None:
        self._security = security
        self._bootstrap = [_address(text) for text in bootstrap_servers.split(",")]
        self._sockets: dict[tuple[str, int], Connection] = {}
        self._brokers: dict[int, tuple[str, int]] = {}

    def close(self) -> None:
        """Close all connections."""
        for each in self._sockets.values():
            each.close()
        self._sockets.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(
        self,
        api_key: ApiKey,
        body: dict[str, Any],
        *,
        node_id: int | None = None,
        version: int | None = None,
    ) -> Any:
        """Send a request; return the body of the answer. Raises OSError.

        Args:
            node_id: the broker to ask; None: any.
            version: of the request; None: the one that Kafka has since 4.0.
        """
        chosen = _VERSIONS[api_key] if version is None else version
        addresses = self._bootstrap if node_id is None else [self._brokers[node_id]]
        for number, address in enumerate(addresses, 1):
            try:
                return self._exchanged(address, api_key, chosen, body)
            except OSError:
                broken = self._sockets.pop(address, None)
                if broken is not None:
                    broken.close()
                if number == len(addresses):
                    raise
        raise AssertionError("no address")

    def _exchanged(
        self, address: tuple[str, int], api_key: ApiKey, version: int, body: dict[str, Any]
    ) -> Any:
        connection = self._sockets.get(address)
        if connection is None:
            connection = Connection.open(
                address, timeout_s=_ANSWER_S, security=self._security, client_id=_CLIENT_ID
            )
            self._sockets[address] = connection
        return connection.ask(api_key, body, version)

    def node_ids(self) -> list[int]:
        """The brokers of the cluster."""
        self._metadata([])
        return sorted(self._brokers)

    def partitions(self, topic: str, *, creates: bool = False) -> list[int]:
        """The partitions of a topic. Raises Refusal if it does not exist.

        Args:
            creates: a broker whose topics create themselves makes it.
        """
        (found,) = self._metadata([topic], creates=creates)
        return sorted(each.partition_index for each in found.partitions)

    def leader(self, topic: str, partition: int) -> int:
        """The node that leads a partition."""
        for each in self._metadata([topic])[0].partitions:
            if each.partition_index == partition:
                check(each.error_code, f"{topic}-{partition}")
                return int(each.leader_id)
        raise Refusal(Code.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{partition}")

    def _metadata(self, topics: list[str], *, creates: bool = False) -> list[Any]:
        named = [{"topic_id": None, "name": name} for name in topics]
        body = {"topics": named, "allow_auto_topic_creation": creates}
        answer = self.ask(ApiKey.METADATA, body)
        self._learn(answer.brokers)
        for each in answer.topics:
            check(each.error_code, each.name)
        return list(answer.topics)

    def coordinators(self, transactional_ids: list[str]) -> dict[int, list[str]]:
        """The transactional ids, by the node that coordinates them."""
        body = {"key_type": _TRANSACTION, "coordinator_keys": transactional_ids}
        found: dict[int, list[str]] = {}
        for each in self.ask(ApiKey.FIND_COORDINATOR, body).coordinators:
            check(each.error_code, each.key)
            self._brokers[each.node_id] = (each.host, each.port)
            found.setdefault(each.node_id, []).append(each.key)
        return found

    def _learn(self, brokers: list[Any]) -> None:
        self._brokers.update({each.node_id: (each.host, each.port) for each in brokers})

    def offset(self, topic: str, partition: int, time_ms: int, *, stable: bool = False) -> int:
        """The offset at a time, LATEST or EARLIEST.

        Args:
            stable: LATEST is the last stable offset.
        """
        asked = {"partition_index": partition, "current_leader_epoch": -1, "timestamp": time_ms}
        body = {
            "replica_id": -1,
            "isolation_level": int(stable),
            "topics": [{"name": topic, "partitions": [asked]}],
        }
        node_id = self.leader(topic, partition)
        answer = self.ask(ApiKey.LIST_OFFSETS, body, node_id=node_id)
        (found,) = answer.topics[0].partitions
        check(found.error_code, f"{topic}-{partition}")
        return int(found.offset)

    def batches(self, topic: str, partition: int, start: int, end: int) -> Iterator[LogBatch]:
        """The batches between two offsets, open and aborted transactions included.

        The records of the first and the last batch may lie outside of the offsets.
        """
        while start < end:
            answer = patiently(partial(self._fetched, topic, partition, start))
            data = bytes(answer.records or b"")
            for at, header in headers_in(data):
                if header.next_offset <= start or header.base_offset >= end:
                    continue
                if header.is_control:
                    marker = read_marker(data, at, header)
                    yield LogBatch(header, None if marker is None else marker.commit, ())
                else:
                    yield LogBatch(header, None, tuple(records_in(data, at, header)))
                start = header.next_offset

    def _fetched(self, topic: str, partition: int, offset: int) -> Any:
        asked = {
            "partition": partition,
            "fetch_offset": offset,
            "partition_max_bytes": _FETCH_BYTES,
        }
        body = {
            "max_wait_ms": 500,
            "min_bytes": 1,
            "max_bytes": _FETCH_BYTES,
            "isolation_level": 0,
            "topics": [{"topic": topic, "partitions": [asked]}],
            "forgotten_topics_data": [],
        }
        answer = self.ask(ApiKey.FETCH, body, node_id=self.leader(topic, partition))
        check(answer.error_code, topic)
        found = answer.responses[0].partitions[0]
        check(found.error_code, f"{topic}-{partition}")
        if not found.records:  # the high watermark of a restarted broker lags
            raise Refusal(Code.OFFSET_NOT_AVAILABLE, f"{topic}-{partition}")
        return found


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.strip().rpartition(":")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)
