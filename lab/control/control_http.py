"""The control by HTTP: a few threads take requests, and the event loop carries them out.

It serves tests on the same machine. Requests with a foreign Host header, from pages of other sites
and with bodies over 1 MB are refused, so that no page in a browser can reach it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from ...broker.log_output import Log
from ..lab import Lab
from .operation import Failure, Operation
from .operations import operation_for

MOST_BODY_BYTES: Final = 1_000_000
CONNECTIONS_AT_MOST: Final = 32
SECONDS_EACH: Final = 30.0
ANSWER_S: Final = 120.0
_LOCAL: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_log = Log("control")


class HttpControl:
    """The HTTP part of a control, from `open` to `close`.

    Args:
        lab: carries out the requests.
        takes_any_host: whether requests may have any Host header.

    Attributes:
        address: HOST:PORT.
    """

    def __init__(self, lab: Lab, *, takes_any_host: bool) -> None:
        self._lab = lab
        self._takes_any_host = takes_any_host
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self.address = ""

    def open(self, listening: socket.socket) -> None:
        """Serve on a socket, which `close` closes; needs a running event loop."""
        self._server = _Server(listening, _Request)
        self._server.lab = self._lab
        self._server.loop = asyncio.get_running_loop()
        self._server.takes_any_host = self._takes_any_host
        host, port, *_ = listening.getsockname()
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        _log.info("the control takes requests", address=self.address)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="control", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Serve no more; blocks until the thread has ended."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    lab: Lab
    loop: asyncio.AbstractEventLoop
    takes_any_host: bool

    def __init__(self, listening: socket.socket, handler: type[BaseHTTPRequestHandler]) -> None:
        host, port, *_ = listening.getsockname()
        super().__init__((host, port), handler, bind_and_activate=False)
        self.socket.close()  # that of the base class
        self.socket = listening
        self.server_name, self.server_port = "", port
        self._places = threading.BoundedSemaphore(CONNECTIONS_AT_MOST)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread, or close it if there are too many."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """As the base class; counts the connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error of the broker."""


def _number(text: str) -> int | float:
    """A number with a point; 3.0 is an integer in JSON."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


class _Request(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "ottla"
    sys_version = ""
    timeout = SECONDS_EACH
    error_content_type = "application/json"
    error_message_format = '{"error": "%(message)s"}\n'
    _JSON: ClassVar = "application/json"

    def __getattr__(self, name: str) -> Any:
        # BaseHTTPRequestHandler calls do_METHOD; every method gets an answer of ours.
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def log_message(self, *args: object) -> None:
        """Requests are not logged: the trace has what they do."""

    def version_string(self) -> str:
        return self.server_version

    def _serve(self) -> None:
        try:
            status, answer = self._answer()
        except Failure as failed:
            status, answer = failed.status, {"error": str(failed)}
            self._send(status, answer, failed.allow)
            return
        except OSError:  # the client has gone
            raise
        except Exception as bug:
            _log.error("the control failed to carry out a request", exc_info=bug, path=self.path)
            status, answer = 500, {"error": "the request failed: see the broker's log"}
        self._send(status, answer)

    def _answer(self) -> tuple[int, object]:
        data = self._body()
        self._check_sender()
        parts = urlsplit(self.path)
        operation, values = operation_for(self.command, unquote(parts.path))
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        body = self._decoded(operation, data)
        running = operation.run(self.server.lab, values, query, body)
        later = asyncio.run_coroutine_threadsafe(running, self.server.loop)
        try:
            return operation.status, later.result(ANSWER_S)
        except TimeoutError:
            later.cancel()
            raise Failure(503, f"no answer within {ANSWER_S:.0f} s") from None

    def _check_sender(self) -> None:
        """Refuse what a page of another site could send. Raises Failure."""
        hosts = self.headers.get_all("Host") or []
        host = hosts[0] if len(hosts) == 1 else ""
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if not self.server.takes_any_host and name.lower() not in _LOCAL:
            raise Failure(403, "the Host header must name this machine: 127.0.0.1 or localhost")
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{host}":
            raise Failure(403, "requests of pages from another site are refused")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise Failure(403, "requests of pages from another site are refused")

    def _body(self) -> bytes:
        """The whole body, so that the next request begins behind it. Raises Failure."""
        self.close_connection, closes = True, self.close_connection
        if "Transfer-Encoding" in self.headers:
            raise Failure(411, "a body needs a Content-Length")
        texts = {each.strip() for each in self.headers.get_all("Content-Length") or ["0"]}
        text = texts.pop()
        if texts or not text.isascii() or not text.isdecimal():
            raise Failure(
                400, "Content-Length must be a number, and the same one if it is repeated"
            )
        digits = text.lstrip("0") or "0"
        if len(digits) > len(str(MOST_BODY_BYTES)) or int(digits) > MOST_BODY_BYTES:
            raise Failure(413, f"a body has at most {MOST_BODY_BYTES} bytes")
        data = self.rfile.read(int(digits))
        self.close_connection = closes
        return data

    def _decoded(self, operation: Operation, data: bytes) -> object:
        """The JSON object of a body; None without one. Raises Failure."""
        if not data:
            if operation.needs_body:
                raise Failure(400, "a body is needed: a JSON object")
            return None
        if not operation.takes_body:
            raise Failure(400, "no body is expected")
        if self.headers.get_content_type() != self._JSON:
            raise Failure(415, "the body must have the type application/json (curl --json)")
        try:
            decoded = json.loads(data, parse_float=_number)
        except (ValueError, RecursionError):
            raise Failure(400, "the body is no JSON") from None
        if not isinstance(decoded, dict):
            raise Failure(400, "the body must be a JSON object")
        return decoded

    def _send(self, status: int, answer: object, allow: str = "") -> None:
        data = json.dumps(answer, default=str).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", self._JSON)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Content-Type-Options", "nosniff")
        if allow:
            self.send_header("Allow", allow)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
