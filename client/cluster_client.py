"""The client of commands, tests and the audit: one request at a time, to any broker of a cluster.

The versions below exist in Apache Kafka since 4.0 and in every Ottla, so the commands work with
both.
"""

from __future__ import annotations

import socket
from typing import Any, Final, Self

from ..protocol.api_keys import ApiKey
from ..protocol.errors import Code, Malformed
from .connection import NO_KAFKA, received, secured
from .security import UNSECURED, ClientSecurity, Unauthenticated

_VERSIONS: Final = {
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.API_VERSIONS: 4,
    ApiKey.END_TXN: 4,
    ApiKey.FETCH: 12,
    ApiKey.PRODUCE: 11,
    ApiKey.UPDATE_FEATURES: 1,
    ApiKey.METADATA: 12,
    ApiKey.FIND_COORDINATOR: 4,
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.LIST_OFFSETS: 9,
    ApiKey.WRITE_TXN_MARKERS: 1,
    ApiKey.DESCRIBE_PRODUCERS: 0,
    ApiKey.DESCRIBE_TRANSACTIONS: 0,
    ApiKey.LIST_TRANSACTIONS: 0,
    ApiKey.ALTER_CLIENT_QUOTAS: 1,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.CONSUMER_GROUP_DESCRIBE: 1,
    ApiKey.CREATE_ACLS: 3,
    ApiKey.CREATE_PARTITIONS: 3,
    ApiKey.CREATE_TOPICS: 7,
    ApiKey.DELETE_ACLS: 3,
    ApiKey.DELETE_GROUPS: 2,
    ApiKey.DELETE_RECORDS: 2,
    ApiKey.DELETE_TOPICS: 6,
    ApiKey.DESCRIBE_ACLS: 3,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: 1,
    ApiKey.DESCRIBE_CLUSTER: 2,
    ApiKey.DESCRIBE_CONFIGS: 4,
    ApiKey.DESCRIBE_GROUPS: 6,
    ApiKey.DESCRIBE_LOG_DIRS: 4,
    ApiKey.DESCRIBE_QUORUM: 2,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: 0,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.ELECT_LEADERS: 2,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 1,
    ApiKey.LIST_CONFIG_RESOURCES: 1,
    ApiKey.LIST_GROUPS: 5,
    ApiKey.OFFSET_COMMIT: 9,
    ApiKey.OFFSET_DELETE: 0,
    ApiKey.OFFSET_FETCH: 9,
}
_CLIENT_ID: Final = "ottla"
_TRANSACTION: Final = 1  # the key type in FindCoordinator


class NoAnswer(Exception):
    """A broker cannot be reached, or the peer is not a Kafka broker."""


class LoginFailed(NoAnswer):
    """A login failed, or one side refuses the certificate of the other.

    Args:
        where: HOST:PORT of the broker.
        failed: what happened.
    """

    def __init__(self, where: str, failed: Unauthenticated) -> None:
        super().__init__(f"{where}: {failed}")
        self.failed = failed


class ErrorAnswer(Exception):
    """A broker answered with the error `code`.

    Args:
        what: the subject of the request, for the message.
        message: the broker's own explanation, if it gave one.
    """

    def __init__(self, code: int, what: str, message: str | None = None) -> None:
        super().__init__(f"{what}: {_name(code)}{f': {message}' if message else ''}")
        self.code = code
        self.message = message


def check(code: int, what: str, message: str | None = None) -> None:
    """Raise ErrorAnswer unless there is no error; `message` is the broker's explanation."""
    if code != Code.NONE:
        raise ErrorAnswer(code, what, message)


def addresses(bootstrap: str) -> list[tuple[str, int]]:
    """Host and port of each address in `HOST:PORT,HOST:PORT`.

    Raises:
        ValueError: one has another form; the text names it.
    """
    found = []
    for text in bootstrap.split(","):
        host, _, port = text.strip().rpartition(":")
        if not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 1 << 16:
            raise ValueError(f"{text}: HOST:PORT was expected")
        found.append((host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)))
    return found


def _name(code: int) -> str:
    try:
        return Code(code).name
    except ValueError:
        return f"error {code}"


class Client:
    """Connections to the brokers of a cluster, opened at the first request to each.

    Args:
        host, port: of any broker of the cluster.
        timeout_s: for connecting, and for each answer.
        security: of its connections.
        client_id: of its requests.

    Attributes:
        brokers: host and port by node id.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        timeout_s: float = 10.0,
        security: ClientSecurity = UNSECURED,
        client_id: str = _CLIENT_ID,
    ) -> None:
        self._security = security
        self._client_id = client_id
        self._first = (host, port)
        self._timeout_s = timeout_s
        self._sockets: dict[tuple[str, int], socket.socket] = {}
        self._sent = 0
        self._leaders: dict[tuple[str, int], int] = {}
        self._leader_epochs: dict[tuple[str, int], int] = {}
        self.brokers: dict[int, tuple[str, int]] = {}
        try:
            self.metadata([])
        except NoAnswer:
            self.close()
            raise

    @classmethod
    def to(
        cls,
        bootstrap: str,
        *,
        timeout_s: float = 10.0,
        security: ClientSecurity = UNSECURED,
        client_id: str = _CLIENT_ID,
    ) -> Self:
        """A client of the first broker that answers.

        Args:
            bootstrap: addresses with commas between them.
            security: of its connections.
            client_id: of its requests.

        Raises:
            ValueError: an address has another form than HOST:PORT.
            NoAnswer: no broker answers; the text has the reason of each.
        """
        troubles = []
        for host, port in addresses(bootstrap):
            try:
                return cls(host, port, timeout_s=timeout_s, security=security, client_id=client_id)
            except NoAnswer as trouble:
                troubles.append(str(trouble))
        raise NoAnswer("; ".join(troubles))

    def close(self) -> None:
        """Close all connections."""
        for each in self._sockets.values():
            each.close()

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
        """Send one request and return the body of the answer.

        Args:
            node_id: the broker to ask; None for the first one.
            version: of the request; None for the one that every broker has.

        Raises:
            NoAnswer: the broker cannot be reached or closes the connection.
        """
        from ..protocol.requests import read_answer

        version = _VERSIONS[api_key] if version is None else version
        address, connection = self._sent_to(api_key, version, body, node_id)
        where = f"{address[0]}:{address[1]}"
        try:
            answer = received(connection)
        except Unauthenticated as wrong:
            self._sockets.pop(address).close()
            raise LoginFailed(where, wrong) from None
        except OSError as trouble:
            self._sockets.pop(address).close()
            raise NoAnswer(f"{where}: {_reason(trouble)}") from None
        try:
            return read_answer(api_key, version, self._sent, answer)
        except Malformed as broken:  # the peer is not a Kafka broker
            raise NoAnswer(f"{where}: its answer cannot be read: {NO_KAFKA}") from broken

    def send(self, api_key: ApiKey, body: dict[str, Any], *, node_id: int) -> None:
        """Send a request that has no answer: Produce with acks=0. Raises NoAnswer."""
        self._sent_to(api_key, _VERSIONS[api_key], body, node_id)

    def _sent_to(
        self, api_key: ApiKey, version: int, body: dict[str, Any], node_id: int | None
    ) -> tuple[tuple[str, int], socket.socket]:
        from ..protocol.requests import request_frame

        address = self._first if node_id is None else self.brokers[node_id]
        self._sent += 1
        frame = request_frame(api_key, version, self._sent, self._client_id, body)
        try:
            connection = self._sockets.get(address)
            if connection is None:
                connection = self._connected(address)
                self._sockets[address] = connection
            connection.sendall(frame)
        except Unauthenticated as wrong:
            raise LoginFailed(f"{address[0]}:{address[1]}", wrong) from None
        except OSError as trouble:
            if (broken := self._sockets.pop(address, None)) is not None:
                broken.close()
            raise NoAnswer(f"{address[0]}:{address[1]}: {_reason(trouble)}") from None
        return address, connection

    def _connected(self, address: tuple[str, int]) -> socket.socket:
        """A new connection after TLS and login. Raises OSError."""
        connection = socket.create_connection(address, timeout=self._timeout_s)
        return secured(connection, address[0], self._security, self._client_id)

    def metadata(self, topics: list[str] | None, *, may_create: bool = False) -> list[Any]:
        """The topics, or all topics for None; also updates `brokers`.

        Args:
            may_create: the broker creates missing topics, if its settings allow it.
        """
        named = None if topics is None else [{"topic_id": None, "name": name} for name in topics]
        asked = {"topics": named, "allow_auto_topic_creation": may_create}
        answer = self.ask(ApiKey.METADATA, asked)
        self.brokers = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        for topic in answer.topics:
            for each in topic.partitions:
                self._leaders[topic.name, each.partition_index] = each.leader_id
                self._leader_epochs[topic.name, each.partition_index] = each.leader_epoch
        return list(answer.topics)

    def known_leader(self, topic: str, partition: int) -> int:
        """The leader by the last metadata; asks only if there is none. Raises ErrorAnswer."""
        known = self._leaders.get((topic, partition), -1)
        return known if known in self.brokers else self.leader(topic, partition)

    def known_leader_epoch(self, topic: str, partition: int) -> int:
        """The leader's epoch by the last metadata; -1 if there is none."""
        return self._leader_epochs.get((topic, partition), -1)

    def leader(self, topic: str, partition: int) -> int:
        """The node that leads a partition. Raises ErrorAnswer."""
        (found,) = self.metadata([topic])
        check(found.error_code, topic)
        for each in found.partitions:
            if each.partition_index == partition:
                check(each.error_code, f"{topic}-{partition}")
                return int(each.leader_id)
        raise ErrorAnswer(Code.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{partition}")

    def transaction_coordinator(self, transactional_id: str) -> int:
        """The node that coordinates a transactional id. Raises ErrorAnswer."""
        body = {"key_type": _TRANSACTION, "coordinator_keys": [transactional_id]}
        (found,) = self.ask(ApiKey.FIND_COORDINATOR, body).coordinators
        check(found.error_code, f"the coordinator of {transactional_id}")
        self.brokers[found.node_id] = (found.host, found.port)
        return int(found.node_id)


def _reason(trouble: OSError) -> str:
    """The reason in words, without a number of the system."""
    return trouble.strerror or str(trouble) or type(trouble).__name__
