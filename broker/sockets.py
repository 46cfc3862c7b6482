"""The sockets of one node: where it listens, and the connections of its clients.

They are opened when the node begins and closed when it stops, which in a cluster of several nodes
may happen more than once; a port that was free at the first time is kept.
"""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from typing import Final

from .config import BrokerConfig
from .connection import Connection
from .dispatch import Dispatch
from .listeners import Listener
from .logs import Log
from .node import Node

_DRAIN_S: Final = 5.0
_BACKLOG: Final = 1024

_log = Log("server")


class NodeSockets:
    """Binds at once. Raises OSError: a port is taken, with the address in its text.

    Attributes:
        advertised: the listeners as clients are told of them, their ports as bound.
        address: host and port of the first listener.
    """

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._bound = [_bound(listener) for listener in config.listeners]
        self._listeners = [
            listener._replace(port=bound.getsockname()[1])
            for listener, bound in zip(config.listeners, self._bound, strict=True)
        ]
        self.address: tuple[str, int] = self._bound[0].getsockname()[:2]
        self.advertised = config.advertised({each.name: each.port for each in self._listeners})
        self._servers: list[asyncio.Server] = []
        self._connections: set[Connection] = set()
        self._accepted = 0
        self._all_gone = asyncio.Event()
        self._dispatch: Dispatch

    def bind(self) -> None:
        """Take the ports again after `refuse`. Raises OSError: somebody else has one meanwhile."""
        self._bound = [_bound(listener) for listener in self._listeners]

    async def open(self, node: Node) -> None:
        """Accept connections for a node."""
        self._dispatch = Dispatch(node)
        loop = asyncio.get_running_loop()
        bound, self._bound = self._bound, []
        self._servers = [
            await loop.create_server(partial(self._connection, told), sock=each, backlog=_BACKLOG)
            for told, each in zip(self.advertised, bound, strict=True)
        ]

    def refuse(self) -> None:
        """Accept no more connections."""
        for server in self._servers:
            server.close()
        self._servers.clear()

    def begin_drain(self) -> None:
        """Let every connection answer what it has in hand, and nothing more."""
        self._all_gone.clear()
        for connection in list(self._connections):
            connection.drain()

    async def drained(self) -> None:
        """Wait for the last answers; connections that take too long are cut."""
        if not self._connections:
            return
        try:
            await asyncio.wait_for(self._all_gone.wait(), _DRAIN_S)
        except TimeoutError:
            _log.warning("connections cut while stopping", count=len(self._connections))
            self.cut()

    def cut(self) -> None:
        """End all connections at once, whatever they have in hand."""
        for connection in list(self._connections):
            connection.cut()

    def _connection(self, told: Listener) -> Connection:
        self._accepted += 1
        connection = Connection(
            self._dispatch,
            size_limit_bytes=self._config["socket.request.max.bytes"],
            number=self._accepted,
            advertised=(told.host, told.port),
            on_closed=self._closed,
        )
        self._connections.add(connection)
        return connection

    def _closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._all_gone.set()


def _bound(listener: Listener) -> socket.socket:
    """A bound socket. Raises OSError with the address in its text."""
    host = listener.host or "0.0.0.0"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, listener.port))
    except OSError as trouble:
        bound.close()
        raise OSError(f"cannot listen on {host}:{listener.port}: {trouble.strerror}") from None
    return bound
