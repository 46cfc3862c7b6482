"""One blocking connection of a client: TLS and login, then one request at a time.

The socket is opened by the caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..protocol.api_keys import ApiKey
from ..protocol.errors import Code
from .security import ClientSecurity, Unauthenticated, refused_certificate

if TYPE_CHECKING:
    import socket

NO_KAFKA: Final = "the peer is not a Kafka broker"
_TLS_ALERT: Final = b"\x15\x03"
_MOST_BYTES: Final = 1 << 30  # of an answer
_AT_ONCE: Final = 1 << 20


def secured(
    connection: socket.socket, host: str, security: ClientSecurity, client_id: str
) -> socket.socket:
    """The connection after TLS and login.

    Args:
        connection: to the broker, with a timeout; closed if an error is raised.
        host: of the broker, as its certificate has it.

    Raises:
        Unauthenticated: the login failed, or the certificate of the broker is not trusted.
        OSError: the broker cannot be reached, or is none.
    """
    connection = security.secured(connection, host)
    if security.login is not None:
        try:
            _log_in(connection, security, client_id)
        except OSError:
            connection.close()
            raise
    return connection


def _log_in(connection: socket.socket, security: ClientSecurity, client_id: str) -> None:
    from ..protocol.requests import read_answer, request_frame

    def ask(api_key: ApiKey, version: int, body: dict[str, Any]) -> Any:
        connection.sendall(request_frame(api_key, version, 0, client_id, body))
        answer = read_answer(api_key, version, 0, received(connection))
        if answer.error_code != Code.NONE:
            raise _refused(answer, security.mechanism)
        return answer

    def exchange(message: bytes) -> bytes:
        return bytes(ask(ApiKey.SASL_AUTHENTICATE, 2, {"auth_bytes": message}).auth_bytes)

    ask(ApiKey.SASL_HANDSHAKE, 1, {"mechanism": security.mechanism})
    security.authenticate(exchange)


def _refused(answer: Any, mechanism: str) -> Unauthenticated:
    """The failure that Kafka's SaslClientAuthenticator makes of an answer with an error."""
    known = {each.value: each.name for each in Code}
    why = getattr(answer, "error_message", None)
    why = why or known.get(answer.error_code, f"error {answer.error_code}")
    error = "SaslAuthenticationException"
    if hasattr(answer, "mechanisms"):  # of SaslHandshake
        enabled = f"enabled mechanisms are [{', '.join(answer.mechanisms)}]"
        if answer.error_code == Code.UNSUPPORTED_SASL_MECHANISM:
            error = "UnsupportedSaslMechanismException"
            why = f"Client SASL mechanism '{mechanism}' not enabled in the server, {enabled}"
        elif answer.error_code == Code.ILLEGAL_SASL_STATE:
            error = "IllegalSaslStateException"
            why = f"Unexpected handshake request with client mechanism {mechanism}, {enabled}"
    return Unauthenticated(f"the login failed: {why}", why, error)


def received(connection: socket.socket) -> bytes:
    """The next answer, without its size.

    Raises:
        Unauthenticated: the broker refuses the client's certificate.
        OSError: the connection is closed, the answer is late, or the peer is not a broker.
    """
    head = _read(connection, 4)
    if head[:2] == _TLS_ALERT:
        raise OSError("the port speaks TLS, and the client does not")
    if head == b"HTTP":
        raise OSError(f"its answer cannot be read: it is an HTTP server, {NO_KAFKA}")
    size = int.from_bytes(head, "big")
    if size > _MOST_BYTES:
        raise OSError(f"its answer cannot be read: {NO_KAFKA}")
    return _read(connection, size)


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        try:
            some = connection.recv(min(size - len(data), _AT_ONCE))
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
        if not some:
            raise OSError("it closed the connection")
        data += some
    return bytes(data)
