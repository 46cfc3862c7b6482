"""One blocking connection of a client: the core with a socket."""

from __future__ import annotations

import socket
from typing import Any, Final, Self

from ..protocol.api_keys import ApiKey
from .core import Call, Conversation, FrameReader, log_in
from .security import ClientSecurity, refused_certificate

_AT_ONCE: Final = 1 << 20


class Connection:
    """A connection to one broker. It is of no use any more when a method has raised an OSError.

    Args:
        connected: to the broker, with a timeout, after TLS.
        client_id: of the requests.
    """

    def __init__(self, connected: socket.socket, client_id: str) -> None:
        self._socket = connected
        self._conversation = Conversation(client_id)

    @classmethod
    def open(
        cls, address: tuple[str, int], *, timeout_s: float, security: ClientSecurity, client_id: str
    ) -> Self:
        """A new connection, after TLS and the login.

        Args:
            address: host and port; the certificate of the broker has this host.
            timeout_s: for connecting, and for each answer.

        Raises:
            Unauthenticated: the login failed, or the certificate of the broker is not trusted.
            OSError: the broker cannot be reached, or is none.
        """
        plain = socket.create_connection(address, timeout=timeout_s)
        opened = cls(security.secured(plain, address[0]), client_id)
        if security.login is not None:
            try:
                opened._log_in(security)
            except OSError:
                opened.close()
                raise
        return opened

    def _log_in(self, security: ClientSecurity) -> None:
        calls = log_in(security)
        call = next(calls)
        while True:
            try:
                call = calls.send(self._exchange(call))
            except StopIteration:
                return

    def ask(self, api_key: ApiKey, body: dict[str, Any], version: int | None = None) -> Any:
        """Send a request; return the body of its answer.

        Raises:
            Unauthenticated: the broker refuses the client's certificate.
            OSError: the connection is closed, the answer is late, or the peer is not a broker.
        """
        return self._exchange(Call(api_key, body, version))

    def send(self, api_key: ApiKey, body: dict[str, Any]) -> None:
        """Send a request that has no answer: Produce with acks=0. Raises OSError."""
        self._socket.sendall(self._conversation.request(Call(api_key, body), is_answered=False))

    def exchange(self, frame: bytes | bytearray) -> bytes:
        """Send a whole request; return the frame of its answer, without its size.

        Raises:
            Unauthenticated, OSError: see `ask`.
        """
        self._socket.sendall(frame)
        frames = FrameReader()
        while (answer := frames.receive(self._read(frames.wanted_bytes))) is None:
            pass
        return answer

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _exchange(self, call: Call) -> Any:  # Any: the body of an answer
        conversation = self._conversation
        self._socket.sendall(conversation.request(call))
        while (answer := conversation.receive(self._read(conversation.wanted_bytes))) is None:
            pass
        return answer

    def _read(self, most_bytes: int) -> bytes:
        try:
            return self._socket.recv(min(most_bytes, _AT_ONCE))
        except OSError as failed:
            alert = getattr(failed, "reason", None)  # that of an `ssl.SSLError`
            if not isinstance(alert, str) or "_ALERT_" not in alert:
                raise
            why = alert.partition("_ALERT_")[2].lower()  # by TLS 1.3 only now, not in the handshake
            raise refused_certificate(
                f"the broker refuses the client's certificate: {why.replace('_', ' ')}",
                "Failed to process post-handshake messages",
                f"Received fatal alert: {why}",
            ) from None
