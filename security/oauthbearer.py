"""OAUTHBEARER (RFC 7628), the server's side, as Kafka's OAuthBearerSaslServer.

The client sends a token. A refused token is answered by a JSON text, and the client's next message
ends the authentication. Extensions of the client are accepted and have no effect, as in Kafka.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from .outcomes import AuthenticationFailed, InvalidCredentials, Login, UnusableResponse

NAME: Final = "OAUTHBEARER"
_SEPARATOR: Final = "\x01"
_SASL_NAME: Final = r"(?:[^=,\x00\x80-\U0010ffff]|=2C|=3D)+"
_PAIRS: Final = r"(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*"
_INITIAL: Final = rf"n,(?:a=(?P<authorization_id>{_SASL_NAME}))?,\x01(?P<pairs>{_PAIRS})\x01"
_AUTH: Final = r"(?P<scheme>[a-zA-Z_0-9]+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)"


class Token(NamedTuple):
    """A valid token; its text is not kept.

    Attributes:
        principal_name: the name of the user.
        expires_at_ms: the wall time until which it is valid.
    """

    principal_name: str
    expires_at_ms: int


class TokenRefused(Exception):
    """A token that is not valid.

    Args:
        reason: for the broker's log.
        scope: the required scope, if the token lacks it.
    """

    def __init__(self, reason: str, scope: str | None = None) -> None:
        super().__init__(reason)
        self.scope = scope


Validator: TypeAlias = Callable[[str, int], Token]
"""Checks the text of a token at a wall time in ms; raises TokenRefused or UnusableResponse."""


class OAuthServer:
    """One authentication.

    Args:
        validate: checks a token.
    """

    def __init__(self, validate: Validator) -> None:
        self._validate = validate
        self._refusal: str | None = None
        self.login: Login | None = None

    def evaluate(self, response: bytes, now_ms: int) -> bytes:
        """Check the token of a response; raises as SaslServer.evaluate."""
        refusal, self._refusal = self._refusal, None
        if refusal is not None and response == _SEPARATOR.encode():
            raise AuthenticationFailed(refusal)
        text, authorization_id = _token_of(response.decode(errors="replace"))
        try:
            token = self._validate(text, now_ms)
        except TokenRefused as refused:
            self._refusal = _error_of(refused)
            return self._refusal.encode()
        if authorization_id not in (None, token.principal_name):
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id "
                f"({authorization_id}) that is different from the token's principal name "
                f"({token.principal_name})"
            )
        self.login = Login(token.principal_name, token.expires_at_ms)
        return b""


def _token_of(message: str) -> tuple[str, str | None]:
    """The token and the authorization id of the first message of a client."""
    match = re.fullmatch(_INITIAL, message)
    if match is None:
        raise InvalidCredentials("Invalid OAUTHBEARER client first message")
    pairs = dict(pair.split("=", 1) for pair in match["pairs"].split(_SEPARATOR) if pair)
    auth = pairs.get("auth")
    if auth is None:
        why = "Invalid OAUTHBEARER client first message: 'auth' not specified"
        raise InvalidCredentials(why)
    found = re.fullmatch(_AUTH, auth)
    if found is None:
        why = "Invalid OAUTHBEARER client first message: invalid 'auth' format"
        raise InvalidCredentials(why)
    if found["scheme"].lower() != "bearer":  # Kafka fails while it writes the error's text
        raise UnusableResponse("Invalid scheme in OAUTHBEARER client first message")
    return found["token"], match["authorization_id"]


def _error_of(refused: TokenRefused) -> str:
    """The JSON text for a refused token (OAuthBearerSaslServer.jsonErrorResponse)."""
    if refused.scope is None:
        return '{"status":"invalid_token"}'
    return f'{{"status":"insufficient_scope", "scope":"{refused.scope}"}}'
