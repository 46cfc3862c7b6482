"""A client that says what a scenario wants, by plain TCP or by TLS, and notes all it sees.

What it sees is data for JSON: the fields of answers, alerts of TLS, and whether and when the broker
closes the connection.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from tests.security.answered import decoded, framed, seen
from tests.security.conversations import CLOSED, Ask, Raw, Talk
from tests.wire.client import LENGTH, Answer

from .listeners import DELAY_MS

_ANSWER_S = 10.0
_QUICK_MS = DELAY_MS * 0.75
_ROUNDED_MS = 3  # clocks of a broker count milliseconds
_OPEN_S = DELAY_MS / 1000 + 0.8


class Pause(NamedTuple):
    """Say nothing for a time."""

    ms: int


class Bytes(NamedTuple):
    """Bytes without a size in front; what comes back is noted as it is."""

    data: bytes


class Stray(NamedTuple):
    """A request out of place; of its answer only the error is noted."""

    ask: Raw


class Ahead(NamedTuple):
    """A request that is sent together with the next one.

    Attributes:
        is_answered: whether its answer comes before that of the next one.
    """

    ask: Ask | Raw
    is_answered: bool = True


class Tls(NamedTuple):
    """How a client begins TLS.

    Attributes:
        context: makes its settings.
        host: the name that it asks for, and looks for in the broker's certificate.
    """

    context: Callable[[], ssl.SSLContext]
    host: str = "localhost"


class Closed(Exception):
    """The connection has ended; the text is what the client saw of it."""


class Peer:
    """One connection.

    Args:
        tls: None for plain TCP.

    Attributes:
        events: what it has seen.
    """

    def __init__(self, address: tuple[str, int], tls: Tls | None) -> None:
        self.events: list[object] = []
        self._socket = socket.create_connection(address, _ANSWER_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._asked_s = time.monotonic()
        self._tls = tls
        self._ahead: list[Ahead] = []

    def _begin_tls(self, tls: Tls) -> None:
        context = tls.context()
        wrapped = context.wrap_socket(
            self._socket, server_hostname=tls.host or None, do_handshake_on_connect=False,
            suppress_ragged_eofs=False,
        )  # fmt: skip
        self._socket = wrapped
        try:
            wrapped.do_handshake()
        except OSError as failed:
            raise Closed(self._ended(failed)) from None

    def run(self, talk: Callable[[], Talk]) -> None:
        """Say all of a talk; then see whether the broker closes the connection."""
        conversation = talk()
        try:
            if self._tls is not None:
                self._begin_tls(self._tls)
            step = next(conversation)
            while True:
                step = conversation.send(self._step(step))
        except StopIteration:
            self._see_end()
        except Closed as closed:
            self.events.append(str(closed))
        except TimeoutError:
            self.events.append("no answer")

    def close(self) -> None:
        self._socket.close()

    def _step(self, step: object) -> Answer | bytes | str | None:
        match step:
            case Pause(ms):
                time.sleep(ms / 1000)
            case Bytes(data):
                self._send(data)
                found = self._some()
                self.events.append(found)
            case Ahead():
                self._ahead.append(step)
            case Stray(ask):
                self._send(framed(ask))
                return self._answer(ask, only=("error_code", "error_message"))
            case Ask() | Raw():
                self._send(b"".join(framed(each.ask) for each in self._ahead) + framed(step))
                waiting, self._ahead = self._ahead, []
                for each in waiting:
                    if each.is_answered:
                        self._answer(each.ask)
                return self._answer(step)
        return None

    def _answer(self, ask: Ask | Raw, only: tuple[str, ...] = ()) -> Answer | bytes | str:
        (size_bytes,) = LENGTH.unpack(self._read(LENGTH.size))
        frame = self._read(size_bytes)
        try:
            answer = decoded(ask, frame)
        except (ValueError, struct.error):
            answer = frame
        shown = seen(answer, ask)
        if only and isinstance(answer, dict):
            shown = {name: answer[name] for name in only if name in answer}
        moment = self._moment()
        if moment:
            shown = {"answer" + moment: shown}
        self.events.append(shown)
        return answer

    def _send(self, data: bytes) -> None:
        self._asked_s = time.monotonic()
        with suppress(OSError):  # the reason of a closed connection may still be read
            self._socket.sendall(data)

    def _read(self, size_bytes: int) -> bytes:
        found = bytearray()
        while len(found) < size_bytes:
            found += self._received(size_bytes - len(found))
        return bytes(found)

    def _received(self, size_bytes: int) -> bytes:
        try:
            data = self._socket.recv(size_bytes)
        except TimeoutError:
            raise
        except OSError as failed:
            raise Closed(self._ended(failed)) from None
        if not data:
            raise Closed(self._ended(None))
        return data

    def _some(self) -> str:
        """What comes next, in hexadecimal digits; an alert of TLS by its number."""
        data = self._received(1 << 16)
        if len(data) == 7 and data[0] == 21:
            return f"alert {data[6]} in plain bytes"
        return data.hex()

    def _see_end(self) -> None:
        self._socket.settimeout(_OPEN_S)
        try:
            extra = self._received(1 << 16)
        except TimeoutError:
            self.events.append("open")
        except Closed as closed:
            self.events.append(str(closed))
        else:
            self.events.append(f"more: {extra.hex()}")

    def _moment(self) -> str:
        """When something came, after what was sent last."""
        elapsed_ms = (time.monotonic() - self._asked_s) * 1000
        if elapsed_ms < _QUICK_MS:
            return ""
        if elapsed_ms >= DELAY_MS - _ROUNDED_MS:
            return " after the delay"
        return f" too early, after {elapsed_ms:.0f} ms"

    def _ended(self, failed: OSError | None) -> str:
        """The end of a connection, in words: an alert, or that it was closed."""
        if isinstance(failed, TimeoutError):
            raise failed
        text = CLOSED
        if isinstance(failed, ssl.SSLCertVerificationError):
            text = f"the client refuses the broker: {failed.verify_message.split(',')[0]}"
        elif isinstance(failed, ssl.SSLError) and "_ALERT_" in (failed.reason or ""):
            text = f"alert {failed.reason.partition('_ALERT_')[2].replace('_', ' ').lower()}"
        elif isinstance(failed, ssl.SSLError) and not isinstance(
            failed, ssl.SSLEOFError | ssl.SSLZeroReturnError
        ):
            text = f"the client ends it: {failed.reason}"
        return text + self._moment()


def events_of(address: tuple[str, int], tls: Tls | None, talk: Callable[[], Talk]) -> list[object]:
    """What a client sees of one connection."""
    peer = Peer(address, tls)
    try:
        peer.run(talk)
    finally:
        peer.close()
    return peer.events
