"""The client of a cluster: one request at a time, to any of its brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

from ..protocol.addresses import Address, read_addresses
from ..protocol.api_keys import ApiKey
from ..protocol.errors import Code, code_name
from .connection import Connection
from .security import UNSECURED, ClientSecurity, Unauthenticated

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
        super().__init__(f"{what}: {code_name(code)}{f': {message}' if message else ''}")
        self.code = code
        self.message = message


def check(code: int, what: str, message: str | None = None) -> None:
    """Raise ErrorAnswer unless there is no error; `message` is the broker's explanation."""
    if code != Code.NONE:
        raise ErrorAnswer(code, what, message)


class Client:
    """Connections to the brokers of a cluster, opened at the first request to each.

    Args:
        host, port: of any broker of the cluster.
        timeout_s: for connecting, and for each answer.
        security: of its connections.
        client_id: of its requests.
        others: addresses of further brokers, for requests to any broker while the first is away;
            those that a broker names come behind them.
        connects: ask a broker for the nodes of the cluster at once, and raise NoAnswer if none
            answers. Without it the first request opens the first connection.

    Attributes:
        brokers: host and port by node id.
        highest_versions: of the APIs of older brokers, where it is below that of `core.VERSIONS`.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        timeout_s: float = 10.0,
        security: ClientSecurity = UNSECURED,
        client_id: str = _CLIENT_ID,
        others: Sequence[Address] = (),
        connects: bool = True,
    ) -> None:
        self._security = security
        self._client_id = client_id
        self._given = ((host, port), *others)
        self._bootstrap = [*self._given]  # and the brokers of the cluster; the present one first
        self._timeout_s = timeout_s
        self._connections: dict[Address, Connection] = {}
        self._leaders: dict[tuple[str, int], int] = {}
        self._leader_epochs: dict[tuple[str, int], int] = {}
        self.brokers: dict[int, Address] = {}
        self.highest_versions: Mapping[ApiKey, int] = {}
        if not connects:
            return
        try:
            self.connect()
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
        connects: bool = True,
    ) -> Self:
        """A client of a cluster.

        Args:
            bootstrap: addresses of brokers, with commas between them.
            security: of its connections.
            client_id: of its requests.
            connects: ask a broker for the nodes of the cluster at once.

        Raises:
            ValueError: an address has another form than HOST:PORT.
            LoginFailed: no broker answers, and the last one refuses the login.
            NoAnswer: no broker answers; the text has the reason of each.
        """
        (host, port), *others = read_addresses(bootstrap)
        return cls(
            host,
            port,
            timeout_s=timeout_s,
            security=security,
            client_id=client_id,
            others=others,
            connects=connects,
        )

    def connect(self) -> None:
        """Ask the first broker that answers for the nodes of the cluster.

        Raises:
            NoAnswer: none answers; see `to`.
        """
        troubles: list[NoAnswer] = []
        for _ in self._bootstrap:
            try:
                self.metadata([])
                return
            except NoAnswer as trouble:
                troubles.append(trouble)
        if len(troubles) == 1 or isinstance(troubles[-1], LoginFailed):
            raise troubles[-1]
        raise NoAnswer("; ".join(map(str, troubles)))

    def close(self) -> None:
        """Close all connections; the next request opens one again."""
        for each in self._connections.values():
            each.close()
        self._connections.clear()

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
            node_id: the broker to ask; None for any.
            version: of the request; None for the one that every broker has.

        Raises:
            NoAnswer: the broker cannot be reached or closes the connection, or the cluster names
                no node of this id.
        """
        if version is None:
            version = self.highest_versions.get(api_key)
        address, connection = self._connected(node_id)
        try:
            return connection.ask(api_key, body, version)
        except OSError as trouble:
            raise self._lost(address, trouble) from None

    def send(self, api_key: ApiKey, body: dict[str, Any], *, node_id: int) -> None:
        """Send a request that has no answer: Produce with acks=0. Raises NoAnswer."""
        address, connection = self._connected(node_id)
        try:
            connection.send(api_key, body)
        except OSError as trouble:
            raise self._lost(address, trouble) from None

    def _connected(self, node_id: int | None) -> tuple[Address, Connection]:
        """A connection to a node, or to any. Raises NoAnswer."""
        address = self._bootstrap[0] if node_id is None else self.brokers.get(node_id)
        if address is None:
            raise NoAnswer(f"node {node_id}: the cluster names no such node now")
        try:
            if address not in self._connections:
                self._connections[address] = Connection.open(
                    address,
                    timeout_s=self._timeout_s,
                    security=self._security,
                    client_id=self._client_id,
                )
        except OSError as trouble:
            raise self._lost(address, trouble) from None
        return address, self._connections[address]

    def _lost(self, address: Address, trouble: OSError) -> NoAnswer:
        """Close a connection that failed; the error of its request.

        The next request to any broker is for the next address.
        """
        if (broken := self._connections.pop(address, None)) is not None:
            broken.close()
        if address == self._bootstrap[0]:
            self._bootstrap.append(self._bootstrap.pop(0))
        where = f"{address[0]}:{address[1]}"
        if isinstance(trouble, Unauthenticated):
            return LoginFailed(where, trouble)
        # In words, without a number of the system.
        return NoAnswer(f"{where}: {trouble.strerror or str(trouble) or type(trouble).__name__}")

    def metadata(self, topics: list[str] | None, *, may_create: bool = False) -> list[Any]:
        """The topics, or all topics for None; also updates `brokers`.

        Args:
            may_create: the broker creates missing topics, if its settings allow it.
        """
        named = None if topics is None else [{"topic_id": None, "name": name} for name in topics]
        asked = {"topics": named, "allow_auto_topic_creation": may_create}
        answer = self.ask(ApiKey.METADATA, asked)
        self.brokers = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        self._note_addresses()
        for topic in answer.topics:
            for each in topic.partitions:
                self._leaders[topic.name, each.partition_index] = each.leader_id
                self._leader_epochs[topic.name, each.partition_index] = each.leader_epoch
        return list(answer.topics)

    def _note_addresses(self) -> None:
        """Let requests to any broker go to those of the cluster when the present one is gone."""
        present, *before = self._bootstrap
        wanted = dict.fromkeys([*self._given, *self.brokers.values()])
        kept = [each for each in before if each in wanted]
        new = [each for each in wanted if each != present and each not in kept]
        self._bootstrap = [present, *kept, *new]

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

    def partitions(self, topic: str, *, may_create: bool = False) -> list[int]:
        """The partitions of a topic, sorted. Raises ErrorAnswer if it does not exist.

        Args:
            may_create: the broker creates a missing topic, if its settings allow it.
        """
        (found,) = self.metadata([topic], may_create=may_create)
        check(found.error_code, topic)
        return sorted(each.partition_index for each in found.partitions)

    def transaction_coordinator(self, transactional_id: str) -> int:
        """The node that coordinates a transactional id. Raises ErrorAnswer."""
        (node_id,) = self.transaction_coordinators([transactional_id])
        return node_id

    def transaction_coordinators(self, transactional_ids: Sequence[str]) -> dict[int, list[str]]:
        """The transactional ids by the node that coordinates them. Raises ErrorAnswer."""
        body = {"key_type": _TRANSACTION, "coordinator_keys": list(transactional_ids)}
        found: dict[int, list[str]] = {}
        for each in self.ask(ApiKey.FIND_COORDINATOR, body).coordinators:
            check(each.error_code, f"the coordinator of {each.key}")
            self.brokers[each.node_id] = (each.host, each.port)
            found.setdefault(each.node_id, []).append(each.key)
        return found
