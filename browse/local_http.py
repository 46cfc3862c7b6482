"""An HTTP server for programs and pages of this machine: a few threads, JSON, no foreign pages.

Requests with a foreign Host header, from pages of other sites and with bodies over 1 MB are
refused, so that no page of another site can reach it, not even by a name that leads here. A page
that changes something sends the header X-Ottla-Page, which no page of another site may send.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

MOST_BODY_BYTES: Final = 1_000_000
CONNECTIONS_AT_MOST: Final = 32
SECONDS_EACH: Final = 30.0
PAGE_HEADER: Final = "X-Ottla-Page"
JSON: Final = "application/json"
_LOCAL: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_READS: Final = frozenset({"GET", "HEAD"})


class Failure(Exception):
    """A request that gets an error.

    Args:
        status: of HTTP.
        why: one sentence.
        allow: the methods of the path, if the method is wrong.
    """

    def __init__(self, status: int, why: str, allow: str = "") -> None:
        super().__init__(why)
        self.status = status
        self.allow = allow


class Asked(NamedTuple):
    """A request that may be answered.

    Attributes:
        path: decoded, without the query.
        data: the body.
        content_type: of the body.
    """

    method: str
    path: str
    query: Mapping[str, str]
    data: bytes
    content_type: str

    def decoded(self, *, takes_body: bool, needs_body: bool) -> dict[str, Any] | None:
        """The JSON object of the body; None without one. Raises Failure."""
        if not self.data:
            if needs_body:
                raise Failure(400, "a body is needed: a JSON object")
            return None
        if not takes_body:
            raise Failure(400, "no body is expected")
        if self.content_type != JSON:
            raise Failure(415, "the body must have the type application/json (curl --json)")
        try:
            decoded = json.loads(self.data, parse_float=_number)
        except (ValueError, RecursionError):
            raise Failure(400, "the body is no JSON") from None
        if not isinstance(decoded, dict):
            raise Failure(400, "the body must be a JSON object")
        return decoded


class Answered(NamedTuple):
    """An answer."""

    status: int
    data: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = {}

    @classmethod
    def of(cls, status: int, value: object, headers: Mapping[str, str] | None = None) -> Answered:
        """A value as JSON."""
        return cls(status, json.dumps(value, default=str).encode() + b"\n", headers=headers or {})


Answers: TypeAlias = Callable[[Asked], Answered]
OnBug: TypeAlias = Callable[[str, Exception], None]


class LocalServer:
    """A server, from `open` to `close`.

    Args:
        answers: answers a request, in a thread of the server; may raise Failure.
        on_bug: gets the path and the error of a request whose answer failed.
        takes_any_host: whether requests may have any Host header.
        name: of its thread.

    Attributes:
        address: HOST:PORT.
    """

    def __init__(self, answers: Answers, on_bug: OnBug, *, takes_any_host: bool, name: str) -> None:
        self._answers = answers
        self._on_bug = on_bug
        self._takes_any_host = takes_any_host
        self._name = name
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self.address = ""

    def open(self, listening: socket.socket) -> None:
        """Serve on a socket, which `close` closes."""
        self._server = _Server(listening, _Request)
        self._server.answers, self._server.on_bug = self._answers, self._on_bug
        self._server.takes_any_host = self._takes_any_host
        host, port, *_ = listening.getsockname()
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name=self._name, daemon=True
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
    answers: Answers
    on_bug: OnBug
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
        """A client that goes away is no error of the server."""


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
    error_content_type = JSON
    error_message_format = '{"error": "%(message)s"}\n'

    def __getattr__(self, name: str) -> Any:
        # BaseHTTPRequestHandler calls do_METHOD; every method gets an answer of ours.
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def log_message(self, *args: object) -> None:
        """Requests are not logged."""

    def version_string(self) -> str:
        return self.server_version

    def _serve(self) -> None:
        try:
            answered = self.server.answers(self._asked())
        except Failure as failed:
            allow = {"Allow": failed.allow} if failed.allow else {}
            answered = Answered.of(failed.status, {"error": str(failed)}, allow)
        except OSError:  # the client has gone
            raise
        except Exception as bug:
            self.server.on_bug(self.path, bug)
            answered = Answered.of(500, {"error": "the request failed: see the log"})
        self._send(answered)

    def _asked(self) -> Asked:
        data = self._body()
        self._check_sender()
        try:
            parts = urlsplit(self.path)
        except ValueError:
            raise Failure(400, "the target of the request is no URL") from None
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        content_type = self.headers.get_content_type()
        return Asked(self.command, unquote(parts.path), query, data, content_type)

    def _check_sender(self) -> None:
        """Refuse what a page of another site could send. Raises Failure."""
        hosts = self.headers.get_all("Host") or []
        host = hosts[0] if len(hosts) == 1 else ""
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if not self.server.takes_any_host and name.lower() not in _LOCAL:
            raise Failure(403, "the Host header must name this machine: 127.0.0.1 or localhost")
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site")
        if origin is not None and origin != f"http://{host}":
            raise Failure(403, "requests of pages from another site are refused")
        if site not in (None, "none", "same-origin"):
            raise Failure(403, "requests of pages from another site are refused")
        is_of_page = origin is not None or site is not None
        if is_of_page and self.command not in _READS and PAGE_HEADER not in self.headers:
            raise Failure(403, f"a page that changes something sends {PAGE_HEADER}")

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

    def _send(self, answered: Answered) -> None:
        self.send_response(answered.status)
        self.send_header("Content-Type", answered.content_type)
        self.send_header("Content-Length", str(len(answered.data)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        for name, value in answered.headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answered.data)
