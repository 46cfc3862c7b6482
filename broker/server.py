"""The process: listen, tell who waits for it, and stop well.

On SIGTERM or SIGINT: no new connections and no new requests; what is in hand is answered, long
polls at once; then the logs are flushed and the clean-shutdown mark is written.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from ..protocol.codec import import_alone
from ..protocol.errors import Malformed, Refused
from .clock import SystemClock
from .config import BrokerConfig
from .connection import Connection
from .dispatch import Dispatch
from .listeners import Listener
from .logs import Log
from .node import Node

_DRAIN_S: Final = 5.0
_BACKLOG: Final = 1024

_log = Log("server")


def serve(config: BrokerConfig, *, data_dir: Path | None, ready_file: Path | None) -> int:
    """Run a broker until SIGTERM or SIGINT; return the exit status.

    Args:
        config: its settings; the port of a listener may be 0 for a free one.
        data_dir: where the logs are; None: `log.dirs` when that is set, or else a temporary
            directory that is deleted at exit.
        ready_file: gets one line, HOST:PORT, when the broker answers.
    """
    import uvloop

    import_alone()
    _raise_descriptor_limit()
    directory, is_temporary = _directory(config, data_dir)
    try:
        return uvloop.run(_Server(config, directory, is_temporary, ready_file).run())
    except (OSError, RuntimeError, Refused, Malformed) as trouble:  # names what is damaged
        sys.stderr.write(f"ottla: {trouble}\n")
        return 1
    finally:
        if is_temporary:
            shutil.rmtree(directory, ignore_errors=True)


def _raise_descriptor_limit() -> None:
    """To the hard limit: there is one for each connection, and for each partition in use."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _directory(config: BrokerConfig, data_dir: Path | None) -> tuple[Path, bool]:
    if data_dir is not None:
        return data_dir, False
    if config.is_given("log.dirs") or config.is_given("log.dir"):
        return Path(config.log_dirs[0]), False
    return Path(tempfile.mkdtemp(prefix="ottla-")), True


class _Server:
    """One node and its sockets."""

    def __init__(
        self, config: BrokerConfig, directory: Path, is_temporary: bool, ready_file: Path | None
    ) -> None:
        self._config = config
        self._directory = directory
        self._is_temporary = is_temporary
        self._ready_file = ready_file
        self._connections: set[Connection] = set()
        self._accepted = 0
        self._all_gone = asyncio.Event()
        self._dispatch: Dispatch

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopped.set)
        sockets = [_bound(listener) for listener in self._config.listeners]
        node = Node(self._config, self._directory, SystemClock())
        ports = {
            listener.name: bound.getsockname()[1]
            for listener, bound in zip(self._config.listeners, sockets, strict=True)
        }
        advertised = self._config.advertised(ports)
        self._dispatch = Dispatch(node)
        node.start(advertised)
        servers = [
            await loop.create_server(partial(self._connection, told), sock=bound, backlog=_BACKLOG)
            for told, bound in zip(advertised, sockets, strict=True)
        ]
        self._tell(sockets[0].getsockname())
        await stopped.wait()
        for server in servers:
            server.close()
        await self._drain(node)
        node.close(clean=not self._is_temporary)  # of what is deleted nothing is to be synced
        return 0

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

    async def _drain(self, node: Node) -> None:
        """Let every connection answer what it has in hand; cut those that take too long."""
        if not self._connections:
            return
        self._all_gone.clear()
        for connection in list(self._connections):
            connection.drain()
        node.stop_coordinating()
        try:
            await asyncio.wait_for(self._all_gone.wait(), _DRAIN_S)
        except TimeoutError:
            _log.warning("connections cut while stopping", count=len(self._connections))

    def _tell(self, address: tuple[str, int]) -> None:
        """The one line on stdout, and the ready file."""
        where = f"{address[0]}:{address[1]}"
        kept = (
            f"in {self._directory}, deleted at exit"
            if self._is_temporary
            else f"in {self._directory}"
        )
        sys.stdout.write(f"ottla is listening on {where}, data {kept}\n")
        sys.stdout.flush()
        if self._ready_file is not None:
            # Whoever waits for the file must never see half of it.
            unfinished = self._ready_file.with_name(self._ready_file.name + ".tmp")
            unfinished.write_text(where + "\n")
            os.replace(unfinished, self._ready_file)


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
