"""How the small client secures its connections: by TLS, and by a login."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import socket
    from ssl import SSLContext


class ClientSecurity(NamedTuple):
    """The security of a client's connections.

    Attributes:
        tls: None for a listener without TLS.
        login: name and password for PLAIN; None for a listener without logins.
    """

    tls: SSLContext | None = None
    login: tuple[str, str] | None = None

    def __repr__(self) -> str:  # without the password
        return f"{type(self).__name__}(tls={self.tls!r})"

    def secured(self, connection: socket.socket, host: str) -> socket.socket:
        """The connection after the handshake of TLS. Raises OSError, and closes it then."""
        if self.tls is None:
            return connection
        try:
            return self.tls.wrap_socket(connection, server_hostname=host)
        except OSError:
            connection.close()
            raise


UNSECURED: Final = ClientSecurity()
