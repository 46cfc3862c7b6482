"""The context of a request: its header, its connection, and the control of long or waiting work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from ...protocol.api_keys import ApiKey
from ..principals import ANONYMOUS, KafkaPrincipal
from ..scheduling.turns import RequestTurns

if TYPE_CHECKING:
    from ...protocol.fetch_answer import Pieces
    from ..complaints import Complaints
    from ..settings.listeners import ServedListener


PAUSE_EVERY: Final = 64
"""The number of elements with little work between two pauses.

A request with fewer needs no slice. Beginning one makes the event loop do a further turn, which
takes longer than an element.
"""


class Disconnect(Exception):
    """Close the connection instead of an answer, as Kafka does after an error with acks=0."""


class DelayedClose(Disconnect):
    """Close the connection after a delay, with a last answer.

    Args:
        why: the reason, for the log.
        frame: the answer with its size; None for none.
        delay_ms: the time until the answer is sent and the connection closed.
    """

    def __init__(self, why: str, frame: bytearray | None, delay_ms: int) -> None:
        super().__init__(why)
        self.frame = frame
        self.delay_ms = delay_ms


class WholeAnswer(Disconnect):
    """Send these bytes as the answer, in place of one that the handler returns.

    Args:
        data: the answer, with its size.
        body: what a client reads from it; None if it cannot read the answer.
    """

    def __init__(self, data: bytearray, body: Mapping[str, object] | None = None) -> None:
        super().__init__("a fault has made the answer")
        self.data = data
        self.body = body


class ConnectionInfo:
    """A client's connection, as handlers see it.

    Attributes:
        id: LOCAL_HOST:PORT-REMOTE_HOST:PORT-NUMBER, as in Kafka.
        peer: REMOTE_HOST:PORT.
        host: REMOTE_HOST.
        listener: the listener that the client connected to.
        client_software: name and version, from ApiVersions 3 and later.
        principal: the principal of the client; anonymous without a login.
        is_authenticated: whether requests of every API are served: from the beginning on where the
            listener asks for no login.
        complaints: limits the log lines about the client; None for no limit.
        on_lost: called with the id when the connection is closed, by either side; None for nothing.
    """

    __slots__ = (
        "client_software", "complaints", "host", "id", "is_authenticated", "listener", "on_lost",
        "peer", "principal",
    )  # fmt: skip

    def __init__(self, connection_id: str, peer: str, host: str, listener: ServedListener) -> None:
        self.id = connection_id
        self.peer = peer
        self.host = host
        self.listener = listener
        self.client_software = ("unknown", "unknown")
        self.principal: KafkaPrincipal = ANONYMOUS
        self.is_authenticated = not listener.protocol.has_login
        self.complaints: Complaints | None = None
        self.on_lost: Callable[[str], None] | None = None

    def may_complain(self, kind: str) -> bool:
        """Whether a line about the client may be logged now; if not, it is counted.

        Args:
            kind: the subject of the line, one of a few.
        """
        return self.complaints is None or self.complaints.may_log(self.host, kind)


class Context:
    """The context of one request.

    Attributes:
        hasten: answers a waiting request at once; set by a handler that may answer early (a Fetch
            below min_bytes), else None.
        size_bytes: the size of the request, without its length field; set if there are quotas.
        started_s: the monotonic time at which the request was taken up; -1 if there are no quotas.
        throttle_time_ms: the time for which the connection must not be read.
        is_large: set by a handler: a Produce or Fetch with very many partitions.
        on_release: lets the next large request begin.
        on_answer: takes the answer of a request that waited, before its future is done; None if the
            future is awaited.
        on_end: called when the client has closed its sending side (False) or the node stops
            (True), while the request waits; set by a fault that holds it.
        frame: the request as it was received; set only while faults are possible.
    """

    # Only the lab sets these two, so no request pays for their defaults.
    on_end: Callable[[bool], None] | None
    frame: memoryview | None

    __slots__ = (
        "_turns", "api_key", "client_id", "connection", "correlation_id", "frame", "hasten",
        "is_large", "on_answer", "on_end", "on_release", "size_bytes", "started_s",
        "throttle_time_ms", "version",
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
        self.hasten: Callable[[], None] | None = None
        self.size_bytes = 0
        self.started_s = -1.0
        self.throttle_time_ms = 0
        self.is_large = False
        self._turns: RequestTurns | None = None
        self.on_release: Callable[[], None] | None = None
        self.on_answer: Callable[[bytearray | Pieces | None], None] | None = None

    @property
    def turns(self) -> RequestTurns:
        """The slices of a request with very many elements."""
        if self._turns is None:
            self._turns = RequestTurns()
        return self._turns

    def release(self) -> None:
        """Let other requests go on: this one is answered, or waits for something else."""
        if self._turns is not None:
            self._turns.leave()
        if self.on_release is not None:
            self.on_release()
            self.on_release = None

    @property
    def principal(self) -> KafkaPrincipal:
        """The principal of the client."""
        return self.connection.principal

    def log_fields(self) -> dict[str, object]:
        """The fields of every log line about this request."""
        return {
            "client_id": self.client_id,
            "connection": self.connection.id,
            "api": self.api_key.name,
            "version": self.version,
        }
