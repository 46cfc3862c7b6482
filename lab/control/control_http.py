"""The control by HTTP: a local server takes requests, and the event loop carries them out.

It serves tests on the same machine, and the page at `/`; see browse/local_http.py for what is
refused.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

from ...broker.log_output import Log
from ...browse.local_http import Answered, Asked, Failure, LocalServer
from ..lab import Lab
from .operations import operation_for

if TYPE_CHECKING:
    from ...browse.browser import Browser

ANSWER_S: Final = 120.0
_log = Log("control")


class HttpControl:
    """The HTTP part of a control, from `open` to `close`.

    Args:
        lab: carries out the requests.
        takes_any_host: whether requests may have any Host header.
    """

    def __init__(self, lab: Lab, *, takes_any_host: bool) -> None:
        self._lab = lab
        self._loop: asyncio.AbstractEventLoop
        self._asking: Browser | None = None
        self._making = threading.Lock()
        self._server = LocalServer(
            self._answer, _log_bug, takes_any_host=takes_any_host, name="control"
        )

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return self._server.address

    def open(self, listening: socket.socket) -> None:
        """Serve on a socket, which `close` closes; needs a running event loop."""
        self._loop = asyncio.get_running_loop()
        self._server.open(listening)
        _log.info("the control takes requests", address=self.address)

    def close(self) -> None:
        """Serve no more; blocks until the thread has ended."""
        self._server.close()

    def _answer(self, asked: Asked) -> Answered:
        """Carry out a request, from a thread. Raises Failure."""
        if asked.path == "/":
            from ...browse.page import page

            return page(asked)
        operation, values = operation_for(asked.method, asked.path)
        body = asked.decoded(takes_body=operation.takes_body, needs_body=operation.needs_body)
        if operation.question is not None:
            from ...browse.questions import ask

            answer = ask(self._browser(), operation.question, asked.query, body)
            return Answered.of(operation.status, answer)
        running = operation.run(self._lab, values, asked.query, body)
        return Answered.of(operation.status, self._run(running))

    def _read(self, path: str) -> object:
        """What GET of a path answers, for a thread. Raises Failure."""
        parts = urlsplit(path)
        operation, values = operation_for("GET", parts.path)
        return self._run(operation.run(self._lab, values, dict(parse_qsl(parts.query)), None))

    def _run(self, running: Coroutine[Any, Any, object]) -> object:  # Any: what asyncio sends it
        """The result of an operation, from a thread. Raises Failure."""
        later = asyncio.run_coroutine_threadsafe(running, self._loop)
        try:
            return later.result(ANSWER_S)
        except TimeoutError:
            later.cancel()
            raise Failure(503, f"no answer within {ANSWER_S:.0f} s") from None

    def _browser(self) -> Browser:
        """What asks for the page; it is made at the first question."""
        with self._making:
            if self._asking is None:
                from .browsing import browser_of

                self._asking = browser_of(self._lab, self._loop, self._read)
            return self._asking


def _log_bug(path: str, bug: Exception) -> None:
    _log.error("the control failed to carry out a request", exc_info=bug, path=path)
