"""The results of an authentication: the errors of a mechanism, and a completed login.

The texts of AuthenticationFailed reach an unauthenticated client. Those of InvalidCredentials are
for the broker's log: they may say whether a user exists. Neither may contain a secret.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class AuthenticationFailed(Exception):
    """The client gets this text (Kafka's SaslAuthenticationException)."""


class InvalidCredentials(Exception):
    """The client gets a general text that names its mechanism (Java's SaslException)."""


class UnusableResponse(Exception):
    """The connection is closed at once and without an answer, as after a fault inside Kafka."""


class Login(NamedTuple):
    """A user whose authentication is complete.

    Attributes:
        name: of the user, without the type of the principal.
        expires_at_ms: the wall time until which the credential is valid; None for no limit.
        is_token: whether the user logged in with a delegation token.
    """

    name: str
    expires_at_ms: int | None = None
    is_token: bool = False


class SaslServer(Protocol):
    """One authentication by one mechanism (javax.security.sasl.SaslServer).

    Attributes:
        login: the user, once the authentication is complete.
    """

    login: Login | None

    def evaluate(self, response: bytes, now_ms: int) -> bytes:
        """The challenge that answers a response of the client; may be empty.

        Args:
            now_ms: the wall time.

        Raises:
            AuthenticationFailed, InvalidCredentials, UnusableResponse: the authentication failed.
        """
