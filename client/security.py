"""How the small client secures its connections: by TLS, and by a login."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import socket
    from collections.abc import Generator
    from ssl import SSLContext

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""The mechanisms of passwords."""
UNSECURED_TOKENS: Final = "OAUTHBEARER"
"""The mechanism of tokens, which are unsecured."""


class Unauthenticated(OSError):
    """A login failed, or one side refuses the certificate of the other: another try is in vain.

    Args:
        text: for people.
        message: as Kafka's clients word it.
        error: the class of their exception, without its package.

    Attributes:
        cause: what they print as its cause; empty if it has none.
    """

    def __init__(
        self, text: str, message: str, error: str = "SaslAuthenticationException", cause: str = ""
    ) -> None:
        super().__init__(text)
        self.message = message
        self.error = error
        self.cause = cause


def refused_certificate(text: str, message: str, cause: str) -> Unauthenticated:
    """The failure of TLS, by the name that it has in Kafka's clients."""
    why = f"Caused by: javax.net.ssl.SSLHandshakeException: {cause}"
    return Unauthenticated(text, message, "SslAuthenticationException", why)


class ClientSecurity(NamedTuple):
    """The security of a client's connections.

    Attributes:
        tls: None for a listener without TLS.
        login: name and password, or token; None for a listener without logins.
        mechanism: of the login, one of MECHANISMS, or UNSECURED_TOKENS.
    """

    tls: SSLContext | None = None
    login: tuple[str, str] | None = None
    mechanism: str = "PLAIN"

    def __repr__(self) -> str:  # without the password
        return f"{type(self).__name__}(tls={self.tls!r}, mechanism={self.mechanism!r})"

    def secured(self, connection: socket.socket, host: str) -> socket.socket:
        """The connection after the handshake of TLS. Raises OSError, and closes it then."""
        if self.tls is None:
            return connection
        import ssl

        try:
            return self.tls.wrap_socket(connection, server_hostname=host)
        except ssl.SSLCertVerificationError as wrong:
            connection.close()
            why = wrong.verify_message
            raise refused_certificate(
                f"its certificate is wrong: {why}", "SSL handshake failed", why
            ) from None
        except OSError:
            connection.close()
            raise

    def login_messages(self) -> Generator[bytes, bytes, None]:
        """The messages of the login; each yields to the bytes of the server's answer.

        Raises:
            Unauthenticated: the server's messages are wrong.
        """
        assert self.login is not None
        name, password = self.login
        if self.mechanism == "PLAIN":
            yield f"\0{name}\0{password}".encode()
            return
        if self.mechanism == UNSECURED_TOKENS:
            from ..security.unsecured_login import first_message

            yield first_message(password)
            return
        import secrets

        from ..security.scram_client import ScramClient, ScramRefused

        client = ScramClient(self.mechanism, self.login, secrets.token_urlsafe(24))
        try:
            answer = yield client.first()
            client.check((yield client.final(answer)))
        except ScramRefused as wrong:
            raise Unauthenticated(f"the login failed: {wrong}", str(wrong)) from None


UNSECURED: Final = ClientSecurity()
