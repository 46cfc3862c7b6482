"""PLAIN (RFC 4616): name and password in one message, as in Kafka's PlainSaslServer.

The users are options of the JAAS line: `user_NAME="PASSWORD"` (PlainServerCallbackHandler).
"""

from __future__ import annotations

from collections.abc import Mapping
from hmac import compare_digest
from typing import Final

from .outcomes import AuthenticationFailed, Login

NAME: Final = "PLAIN"
USER_PREFIX: Final = "user_"
_MOST_TOKENS: Final = 4  # Kafka stops to count here


class PlainServer:
    """One authentication.

    Args:
        options: of the JAAS line.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self.login: Login | None = None

    def evaluate(self, response: bytes, now_ms: int) -> bytes:
        """Check name and password; raises AuthenticationFailed."""
        tokens = response.decode(errors="replace").split("\0", _MOST_TOKENS)[:_MOST_TOKENS]
        if len(tokens) != 3:
            raise AuthenticationFailed(
                f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(tokens)}"
            )
        authorization_id, name, password = tokens
        if not name:
            raise AuthenticationFailed("Authentication failed: username not specified")
        if not password:
            raise AuthenticationFailed("Authentication failed: password not specified")
        expected = self._options.get(USER_PREFIX + name)
        # An unknown user takes as long as a wrong password of the same length.
        is_right = compare_digest(password.encode(), (expected or password).encode())
        if expected is None or not is_right:
            raise AuthenticationFailed("Authentication failed: Invalid username or password")
        if authorization_id not in ("", name):
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        self.login = Login(name)
        return b""
