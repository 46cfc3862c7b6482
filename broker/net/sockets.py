"""The listening sockets of a node and the connections of its clients.

They open when the node starts and close when it stops. A node of a cluster may stop and start more
than once; it keeps a port that it chose at its first start.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from ...protocol.frames import ReceiveBuffers
from ...storage.disk.open_files import OPEN_FILES, RESERVED, OpenFiles
from ..clock import Clock, Timer, within_ms
from ..complaints import Complaints
from ..event_stream import Events
from ..log_names import LEVELS, REQUESTS
from ..log_output import Log, level_of, on_levels_changed
from ..node import Node
from ..principals import NODE
from ..requests.dispatch import Dispatch, Layer
from ..scheduling.freed_memory import give_back_freed_memory
from ..scheduling.turns import Turns
from ..settings.config import BrokerConfig
from ..settings.listeners import Listener, ServedListener, advertised
from .connection import Connection, Shared
from .connection_limits import Admission, ConnectionLimits, WaitingConnections
from .connection_rates import CreationRates
from .fair_turns import FairTurns
from .held_memory import UNLIMITED_REQUESTS_BYTES, AnswerMemory, RequestMemory
from .listening import bind_to

if TYPE_CHECKING:
    import ssl

    from .handshakes import Handshakes
    from .logins import Logins
    from .tls_context import ListenerTls

_DRAIN_S: Final = 5.0
_BACKLOG: Final = 1024
_BUFFERS: Final = {
    "socket.receive.buffer.bytes": socket.SO_RCVBUF,
    "socket.send.buffer.bytes": socket.SO_SNDBUF,
}
_IDLE_CHECK_S: Final = (1.0, 60.0)  # the minimum and maximum interval of the check
_IDLE_ENDS: Final = 32  # idle connections closed in one turn: each close is a slow system call

_log = Log("server")


class NodeSockets:
    """The sockets, bound by the constructor.

    Args:
        passed_on: the ports of the listeners, by name, if another process has them and passes
            connections on (broker/quorum); the sockets here are for the other nodes then.

    Attributes:
        listeners: the listeners for clients, with their bound ports.
        advertised: the advertised listeners, in the order of their setting.
        between_nodes: host and port for the other nodes of this process: those of the
            inter-broker listener.
        address: host and port of the first listener.

    Raises:
        OSError: a port is taken; the text has the address.
        BadSetting: a listener cannot serve TLS with its settings.
    """

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        open_files: OpenFiles = OPEN_FILES,
        *,
        passed_on: Mapping[str, int] | None = None,
    ) -> None:
        self._config = config
        self._open_files = open_files
        self._clock = clock
        self._tls = _tls_of(config)
        self._handshakes: Handshakes | None = None
        self._received = bytearray()  # TLS records of all connections
        listeners = config.listeners
        if passed_on is not None:
            listeners = [each._replace(host="127.0.0.1", port=0) for each in listeners]
        self._bound = [self._sized(bind_to(each.host, each.port)) for each in listeners]
        self.listeners: list[Listener] = [
            listener._replace(port=bound.getsockname()[1])
            for listener, bound in zip(listeners, self._bound, strict=True)
        ]
        self.address: tuple[str, int] = self._bound[0].getsockname()[:2]
        ports = {each.name: each.port for each in self.listeners}
        self.advertised = config.advertised(ports if passed_on is None else passed_on)
        self.between_nodes = self._between_nodes()
        self._servers: list[asyncio.Server] = []
        self._connections: set[Connection] = set()
        requests = RequestMemory(_request_memory_bytes(config), clock.live, give_back_freed_memory)
        turns = FairTurns(clock.live.monotonic_s)
        self._buffers = ReceiveBuffers()
        self._shared = Shared(
            turns, self._buffers, requests, AnswerMemory(), Complaints(clock), clock
        )
        self._limits = ConnectionLimits(config)
        self._rates = CreationRates(config, clock.live, self._admit)
        self._waiting = WaitingConnections[Connection](self._limits.has_room)
        self._served: dict[Connection, str] = {}  # counted in the limits, with listeners
        self._idle_check: Timer | asyncio.Handle | None = None
        clock.after_advances(self._look_for_idle)
        self._accepted = 0
        self._all_gone = asyncio.Event()
        self._dispatch: Dispatch
        self._layers: Sequence[Layer] = ()
        self._are_requests_logged = False
        self._unobserve: Callable[[], None] = lambda: None
        self._events: Events
        self._node_id: int
        self._nodes: set[str] = set()
        self._logins: dict[str, Logins] = {}

    def _between_nodes(self) -> tuple[str, int]:
        name = self._config.inter_broker_listener
        each = next(listener for listener in self.listeners if listener.name == name)
        host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(each.host, each.host)
        return host, each.port

    @property
    def is_open(self) -> bool:
        """Whether it accepts connections."""
        return bool(self._servers)

    @property
    def connection_count(self) -> int:
        """The number of open connections."""
        return len(self._connections)

    @property
    def accepted_count(self) -> int:
        """The number of connections since the start."""
        return self._accepted

    def bind(self) -> None:
        """Bind the ports again after `refuse`, unless they are bound.

        Raises:
            OSError: another process has one of them.
        """
        if self._bound:
            return
        self._bound = [self._sized(bind_to(each.host, each.port)) for each in self.listeners]

    def _sized(self, bound: socket.socket) -> socket.socket:
        """Set the buffer sizes of its connections, if configured: the system's are better."""
        for name, option in _BUFFERS.items():
            if self._config.is_given(name) and self._config[name] >= 0:
                bound.setsockopt(socket.SOL_SOCKET, option, self._config[name])
        return bound

    def _backlog(self) -> int:
        name = "socket.listen.backlog.size"
        return int(self._config[name]) if self._config.is_given(name) else _BACKLOG

    async def open(self, node: Node) -> None:
        """Accept connections for a node."""
        self._dispatch = self._new_dispatch(node)
        self._unobserve = on_levels_changed(partial(self._log_requests, node))
        self._nodes = node.cluster.peers
        node.between_nodes = self.between_nodes
        node.between_nodes_tls = self._between_nodes_tls
        self._events, self._node_id = node.events, node.node_id
        self._logins = self._logins_of(node)
        for logins in self._logins.values():
            await logins.prepare()
        loop = asyncio.get_running_loop()
        bound, self._bound = self._bound, []
        self._servers = [
            await loop.create_server(self._factory(listener), sock=each, backlog=self._backlog())
            for listener, each in zip(self._advertised_of_each(), bound, strict=True)
        ]
        self._close_idle()

    def new_connection(self, name: str) -> asyncio.BaseProtocol:
        """What serves a connection that was not accepted here.

        Args:
            name: of the listener.

        Raises:
            KeyError: there is no such listener.
        """
        listeners = {each.name: each for each in self._advertised_of_each()}
        return self._factory(listeners[name])()

    def _logins_of(self, node: Node) -> dict[str, Logins]:
        """The logins of the SASL listeners, by name."""
        listeners = [each for each in self._advertised_of_each() if each.protocol.has_login]
        if not listeners:
            return {}
        from .logins import Logins

        return {each.name: Logins(node, each) for each in listeners}

    def _log_requests(self, node: Node) -> None:
        """Log requests from now on, or no longer, after the levels of loggers have changed."""
        if _logs_requests() != self._are_requests_logged:
            self._change_dispatch(node)

    def surround_requests(self, node: Node, layers: Sequence[Layer]) -> None:
        """Put other layers around all requests, outside those of the metrics and the log."""
        self._layers = layers
        self._change_dispatch(node)

    def _change_dispatch(self, node: Node) -> None:
        if self.is_open:
            self._dispatch = self._new_dispatch(node)
            for connection in self._connections:
                connection.serve_by(self._dispatch)

    def _new_dispatch(self, node: Node) -> Dispatch:
        """A dispatch with all that stands around requests now, each imported if it is used."""
        layers: list[Layer] = []
        if node.release is not None:
            from ..requests.older_versions import serve_older_versions

            layers.append(serve_older_versions)
        if node.cluster.holds is not None:
            from ..requests.measured_dispatch import measure_requests

            layers.append(partial(measure_requests, node.cluster.holds))
        self._are_requests_logged = _logs_requests()
        if self._are_requests_logged:
            from ..requests.request_log import log_requests

            layers.append(log_requests)
        return Dispatch(node, [*layers, *self._layers])

    def _advertised_of_each(self) -> list[ServedListener]:
        """What clients of each listener get: a listener that is not advertised has its own address.

        The two settings may have different orders.
        """
        found = {each.name: each for each in advertised(self.listeners, None, {})}
        found |= {each.name: each for each in self.advertised}
        protocols = self._config.protocols
        return [
            ServedListener(name, protocols[name], found[name].host, found[name].port)
            for name, _, _ in self.listeners
        ]

    def refuse(self) -> None:
        """Accept no more connections."""
        self._unobserve()
        if self._idle_check is not None:
            self._idle_check.cancel()
            self._idle_check = None
        for bound in self._bound:  # of a start that fails
            bound.close()
        self._bound.clear()
        for server in self._servers:
            server.close()
        self._servers.clear()
        self._rates.stop()
        for logins in self._logins.values():
            logins.close()

    def begin_drain(self) -> None:
        """Let every connection answer its current request and no further one."""
        self._all_gone.clear()
        for connection in list(self._connections):
            connection.drain()

    async def drained(self) -> None:
        """Wait for the last answers; cut the connections that take too long."""
        self._shared.complaints.log_rest()
        if not self._connections:
            return
        try:
            async with within_ms(self._clock.live, _DRAIN_S * 1000):
                await self._all_gone.wait()
        except TimeoutError:
            _log.warning(
                "connections closed before their requests were answered",
                count=len(self._connections),
            )
            self.cut()

    def cut(self) -> None:
        """Close all connections at once, without answers to their current requests."""
        for connection in list(self._connections):
            connection.cut()

    def _connection(self, listener: ServedListener) -> Connection:
        self._accepted += 1
        connection = Connection(
            self._dispatch,
            self._shared,
            size_limit_bytes=self._config["socket.request.max.bytes"],
            number=self._accepted,
            listener=listener,
            on_opened=partial(self._opened, listener.name),
            on_closed=self._closed,
            nodes=self._nodes,
            logins=self._logins.get(listener.name),
        )
        self._connections.add(connection)
        return connection

    def _factory(self, listener: ServedListener) -> Callable[[], asyncio.BaseProtocol]:
        """What makes the protocol of a new connection of a listener."""
        tls = self._tls.get(listener.name)
        if tls is None:
            return partial(self._connection, listener)
        from .handshakes import Handshakes
        from .tls_transport import RECEIVED_BYTES, TlsTransport

        if self._handshakes is None:
            self._handshakes = Handshakes(self._clock.live)
            self._received = bytearray(RECEIVED_BYTES)
        handshakes, received, complaints = self._handshakes, self._received, self._shared.complaints
        return lambda: TlsTransport(
            self._connection(listener), tls, handshakes, received, complaints
        )

    def _between_nodes_tls(self) -> ssl.SSLContext | None:
        """The context for connections of other nodes of this process; None without TLS."""
        tls = self._tls.get(self._config.inter_broker_listener)
        return None if tls is None else tls.client_context()

    def _opened(self, listener: str, connection: Connection) -> None:
        """Apply the limits, except to connections of other nodes of this process."""
        if self._events.tell is not None:
            from ..events import ConnectionOpened

            self._events.tell(ConnectionOpened(self._node_id, connection.info.id, listener))
        if connection.info.principal is NODE:
            return
        descriptors = self._open_files.descriptors
        if connection.descriptor >= descriptors - RESERVED:
            self._refuse(connection, f"no descriptors left of {descriptors} (ulimit -n)")
            return
        if connection.is_ending or not self._rates.holds(listener, connection):
            self._admit(listener, connection)

    def _admit(self, listener: str, connection: Connection) -> None:
        host = connection.info.host
        match self._limits.admit(listener, host):
            case Admission.ADMITTED:
                self._served[connection] = listener
            case Admission.WAITS:
                self._waiting.add(listener, connection)
                connection.hold()
            case Admission.REFUSED:
                self._refuse(connection, "too many")

    def _refuse(self, connection: Connection, why: str) -> None:
        if self._shared.complaints.may_log(connection.info.host, "refused connections"):
            _log.warning("connection refused", connection=connection.info.id, reason=why)
        connection.end()

    def _admit_waiting(self) -> None:
        while (next_one := self._waiting.take()) is not None:
            listener, connection = next_one
            connection.release()
            self._admit(listener, connection)

    def _look_for_idle(self) -> None:
        """`_close_idle`, before the next check."""
        if self._idle_check is not None:
            self._idle_check.cancel()
            self._close_idle()

    def _close_idle(self) -> None:
        """Close the connections that were idle for `connections.max.idle.ms`."""
        limit_s = self._config["connections.max.idle.ms"] / 1000
        self._end_idle(iter(list(self._served) if limit_s >= 0 else []), limit_s)
        self._buffers.free_unused()

    def _end_idle(self, left: Iterator[Connection], limit_s: float) -> None:
        """End the idle ones, some in each turn: those of an attack may all be idle at once."""
        turns, ended = Turns(), 0
        pause_s = min(max(limit_s / 10, _IDLE_CHECK_S[0]), _IDLE_CHECK_S[1])
        # First: a fault of one of them, which the event loop logs, does not end the checks.
        self._idle_check = self._clock.call_after_ms(pause_s * 1000, self._close_idle)
        for connection in left:
            if connection in self._served and (
                connection.is_idle_since(limit_s) or connection.is_login_overdue(limit_s)
            ):
                connection.end()
                ended += 1
            if ended == _IDLE_ENDS or turns.is_over():
                self._idle_check.cancel()
                loop = asyncio.get_running_loop()
                self._idle_check = loop.call_soon(self._end_idle, left, limit_s)
                return

    def _closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if connection.is_opened:
            if self._events.tell is not None:
                from ..events import ConnectionClosed

                self._events.tell(ConnectionClosed(self._node_id, connection.info.id))
            self._waiting.drop(connection.info.listener.name, connection)
        self._rates.gone(connection)
        listener = self._served.pop(connection, None)
        if listener is not None:
            self._limits.leave(listener, connection.info.host)
            self._admit_waiting()
        if not self._connections:
            self._all_gone.set()


def _tls_of(config: BrokerConfig) -> dict[str, ListenerTls]:
    """The TLS of each listener that has it."""
    protocols = config.protocols
    with_tls = [each.name for each in config.listeners if protocols[each.name].has_tls]
    if not with_tls:
        return {}
    from .tls_context import ListenerTls

    return {name: ListenerTls(config, name, protocols[name]) for name in with_tls}


def _request_memory_bytes(config: BrokerConfig) -> int:
    """queued.max.request.bytes, or a sane limit if that setting is -1."""
    given = int(config["queued.max.request.bytes"])
    largest = int(config["socket.request.max.bytes"])
    return given if given > 0 else max(UNLIMITED_REQUESTS_BYTES, 2 * largest)


def _logs_requests() -> bool:
    return LEVELS[level_of(REQUESTS)] <= LEVELS["DEBUG"]
