"""What a handler knows of the request besides its body, and how it may end otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...protocol.api_keys import ApiKey
from ..principals import ANONYMOUS
from ..scheduling.turns import RequestTurns

if TYPE_CHECKING:
    from .complaints import Complaints


class Disconnect(Exception):
    """The connection is closed instead of an answer: what Kafka does when acks=0 meets an error."""


class ConnectionInfo:
    """Who is at the other end.

    Attributes:
        id: as Kafka writes it: LOCAL_HOST:PORT-REMOTE_HOST:PORT-NUMBER.
        peer: REMOTE_HOST:PORT.
        host: REMOTE_HOST.
        advertised: host and port by which clients of this connection's listener reach the node.
        client_software: name and version, told by ApiVersions 3 and later.
        principal: TYPE:NAME; who has not logged in is anonymous.
        complaints: limits the log lines that it causes; None: nothing does.
    """

    __slots__ = (
        "advertised", "client_software", "complaints", "host", "id", "peer", "principal",
    )  # fmt: skip

    def __init__(
        self, connection_id: str, peer: str, host: str, advertised: tuple[str, int]
    ) -> None:
        self.id = connection_id
        self.peer = peer
        self.host = host
        self.advertised = advertised
        self.client_software = ("unknown", "unknown")
        self.principal = ANONYMOUS
        self.complaints: Complaints | None = None


class Context:
    """One request: its header, its connection, and a way to hasten it while it waits."""

    __slots__ = (
        "_turns", "api_key", "client_id", "connection", "correlation_id", "hasten", "is_large",
        "on_rest", "size_bytes", "started_s", "throttle_time_ms", "version",
    )  # fmt: skip

    def __init__(
        self,
        api_key: ApiKey,
        version: int,
        correlation_id: int,
        client_id: str | None,
        connection: ConnectionInfo,
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.connection = connection
        # Set by a handler that waits only because it may (a Fetch below min_bytes): answer now.
        self.hasten: Callable[[], None] | None = None
        # Where somebody has a quota: of the request without its length, and when it was looked at.
        self.size_bytes = 0
        self.started_s = 0.0
        self.throttle_time_ms = 0  # how long nothing more is to be read from the connection
        self.is_large = False  # set by a handler: a Produce or Fetch of very many partitions
        self._turns: RequestTurns | None = None
        self.on_rest: Callable[[], None] | None = None  # lets the next large request begin

    @property
    def turns(self) -> RequestTurns:
        """How the request goes in slices, where it has very many elements."""
        if self._turns is None:
            self._turns = RequestTurns()
        return self._turns

    def rests(self) -> None:
        """Let other requests go on: this one is answered, or waits for something else."""
        if self._turns is not None:
            self._turns.leave()
        if self.on_rest is not None:
            self.on_rest()
            self.on_rest = None

    @property
    def principal(self) -> str:
        """Who asks, as TYPE:NAME."""
        return self.connection.principal

    def log_fields(self) -> dict[str, Any]:
        """What every log line about this request carries."""
        return {
            "client_id": self.client_id,
            "connection": self.connection.id,
            "api": self.api_key.name,
            "version": self.version,
        }
