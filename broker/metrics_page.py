"""Serves the metrics page for Prometheus and probes of the broker, on a port of their own.

A few threads serve the connections, each for a limited time.
A peer that connects and sends nothing, or very slowly, occupies a thread for some seconds. Beyond
the limit of connections the oldest one is closed, so that the next scrape is always answered.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app

from .net.listening import listen_on

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

CONNECTIONS_AT_MOST: Final = 16
SECONDS_EACH: Final = 10.0
PATHS: Final = ("/metrics", "/metrics/", "/")
"""The paths of the metrics."""
_POLL_S: Final = 0.5


Probe = Callable[[], list[str]]


class Page:
    """The page of a registry, from `open` to `close`.

    Args:
        now_s: a clock's `monotonic_s`, which threads call.
        probes: by path; each returns the reasons against its answer 200, none if all is well.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        now_s: Callable[[], float],
        probes: Mapping[str, Probe] = MappingProxyType({}),
    ) -> None:
        self._now_s = now_s
        self._app = _with_probes(make_wsgi_app(registry), probes)
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return 0 if self._server is None else len(self._server.since_s)

    def open(self, host: str, port: int) -> int:
        """Serve the page; return the bound port. Raises OSError."""
        return self.serve(listen_on(host, port))

    def serve(self, listening: socket.socket) -> int:
        """Serve the page on a socket, which `close` closes; return its port."""
        self._server = _Server(listening, _Request)
        self._server.set_app(self._app)
        self._server.now_s = self._now_s
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_S,), daemon=True, name="metrics"
        )
        self._thread.start()
        return int(self._server.server_port)

    def close(self) -> None:
        """Stop serving, and close all connections."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._server.server_close()
        self._server.cut(before_s=float("inf"))
        self._thread.join()


def _with_probes(metrics: WSGIApplication, probes: Mapping[str, Probe]) -> WSGIApplication:
    """The page of the metrics, and a page of JSON for each probe."""

    def serve(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        probe = probes.get(path)
        if probe is None:
            if path in PATHS:
                return metrics(environ, start_response)
            known = ", ".join([PATHS[0], *probes])
            body = f"there is no such page; there are {known}\n".encode()
            start_response(
                "404 Not Found",
                [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))],
            )
            return [body]
        reasons = probe()
        status = "503 Service Unavailable" if reasons else "200 OK"
        body = json.dumps({"status": "failing" if reasons else "ok", "reasons": reasons}).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response(status, headers)
        return [body]

    return serve


class _Request(WSGIRequestHandler):
    timeout = SECONDS_EACH  # of one read

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing for a scrape."""


class _Server(WSGIServer):
    """A thread for each connection, a bounded number of them, for a bounded time."""

    now_s: Callable[[], float]

    def __init__(self, listening: socket.socket, handler_class: type[WSGIRequestHandler]) -> None:
        host, port, *_ = listening.getsockname()
        super().__init__((host, port), handler_class, bind_and_activate=False)
        self.socket.close()  # that of the base class
        self.socket = listening
        self.server_name, self.server_port = str(host), int(port)
        self.setup_environ()
        self.since_s: dict[socket.socket, float] = {}
        self._lock = threading.Lock()

    def process_request(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        assert isinstance(request, socket.socket), "the server is not for UDP"
        with self._lock:
            if len(self.since_s) >= CONNECTIONS_AT_MOST:
                oldest = next(iter(self.since_s))
                del self.since_s[oldest]
                _cut(oldest)
            self.since_s[request] = self.now_s()
        threading.Thread(
            target=self._served, args=(request, client_address), daemon=True, name="metrics-peer"
        ).start()

    def _served(self, request: socket.socket, client_address: object) -> None:
        try:
            with suppress(OSError):  # the peer has left, or was cut off
                self.finish_request(request, client_address)
        finally:
            with self._lock:
                self.since_s.pop(request, None)
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """Close connections that take too long; called about twice a second."""
        self.cut(before_s=self.now_s() - SECONDS_EACH)

    def cut(self, *, before_s: float) -> None:
        """Close all connections that began before a time."""
        with self._lock:
            for request, since_s in self.since_s.items():
                if since_s < before_s:
                    _cut(request)


def _cut(request: socket.socket) -> None:
    """Wake the reading thread, which finds the end and closes the connection."""
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)
