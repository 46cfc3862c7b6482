"""A relay between clients and a broker that keeps what both send, as a capture would."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, NamedTuple, Self

import dpkt

from .packing import LOOPBACK, Connection

_CHUNK: Final = 60_000
_PATIENCE_S: Final = 30.0


class _Sent(NamedTuple):
    at_s: float
    connection: int
    step: str  # open, ask, answer, close
    data: bytes


class Relay:
    """Listens on a free port; `target` is set once the broker runs.

    Attributes:
        port: where clients connect.
        target: the port of the broker.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sent: list[_Sent] = []
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self.target = 0

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in list(self._sockets):
            _shut(each)
        for thread in list(self._threads):
            thread.join(_PATIENCE_S)
        for each in self._sockets:
            each.close()

    def capture(self) -> bytes:
        """What was sent so far, in a pcap file."""
        file = io.BytesIO()
        writer = dpkt.pcap.Writer(file, linktype=LOOPBACK)
        with self._lock:
            sent = list(self._sent)
        connections: dict[int, Connection] = {}
        for each in sent:
            made = connections.get(each.connection)
            if made is None:
                client = ("127.0.0.1", 40_000 + each.connection)
                made = connections[each.connection] = Connection(
                    client, ("127.0.0.1", self.port), LOOPBACK
                )
            before = len(made.packets)
            if each.step in ("open", "close"):
                getattr(made, each.step)()
            else:
                getattr(made, each.step)(each.data, _CHUNK)
            for packet in made.packets[before:]:
                writer.writepkt(packet, ts=each.at_s)
        return file.getvalue()

    def _start(self, function: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        number = 0
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(("127.0.0.1", self.target), _PATIENCE_S)
            except OSError:
                client.close()
                continue
            broker.settimeout(None)
            for each in (client, broker):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets += (client, broker)
            number += 1
            self._keep(number, "open", b"")
            left = [2]
            self._start(self._pump, client, broker, number, "ask", left)
            self._start(self._pump, broker, client, number, "answer", left)

    def _pump(
        self, source: socket.socket, target: socket.socket, number: int, step: str, left: list[int]
    ) -> None:
        try:
            while data := source.recv(65_536):
                self._keep(number, step, data)
                target.sendall(data)
        except OSError:
            pass
        _shut(target)
        with self._lock:
            left[0] -= 1
            if left[0] == 0:
                self._sent.append(_Sent(time.time(), number, "close", b""))

    def _keep(self, number: int, step: str, data: bytes) -> None:
        with self._lock:
            self._sent.append(_Sent(time.time(), number, step, data))


def _shut(each: socket.socket) -> None:
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
