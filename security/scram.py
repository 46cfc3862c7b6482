"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), the server's side, as in Kafka.

Follows ScramSaslServer. The client proves that it knows the password, and the server that it knows
the stored keys; neither sends them. With the extension `tokenauth=true` the name is the id of a
delegation token, and its HMAC the password (KIP-48). There is no channel binding, and other
extensions are ignored.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from hmac import compare_digest
from hmac import digest as hmac_digest
from typing import Final, NamedTuple

from ..metadata.scram import MECHANISMS, MIN_ITERATIONS, ScramCredential
from .outcomes import AuthenticationFailed, InvalidCredentials, Login, UnusableResponse

NUMBERS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
"""The number of each mechanism in the protocol."""

_SASL_NAME: Final = r"(?:[^=,\x00\x80-\U0010ffff]|=2C|=3D)+"
_VALUE: Final = r"[^,\x00\x80-\U0010ffff]+"
_NONCE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS: Final = rf"(?:,[A-Za-z]+={_VALUE})*"
_CLIENT_FIRST: Final = (
    rf"n,(?:a=(?P<authorization_id>{_SASL_NAME}))?,(?:m={_VALUE},)?"
    rf"n=(?P<name>{_SASL_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>{_EXTENSIONS})"
)
_CLIENT_FINAL: Final = (
    rf"c=(?P<channel>{_BASE64}),r=(?P<nonce>{_NONCE}){_EXTENSIONS},p=(?P<proof>{_BASE64})"
)
_NONCE_BITS: Final = 130


class TokenCredential(NamedTuple):
    """A delegation token that is valid as a credential.

    Attributes:
        owner: the name of its owner.
        credential: made from its HMAC.
        expires_at_ms: the wall time at which it expires.
    """

    owner: str
    credential: ScramCredential
    expires_at_ms: int


class Credentials(NamedTuple):
    """Where a server finds credentials: both by name and number of the mechanism.

    Attributes:
        of_user: by the name of a user.
        of_token: by the id of a delegation token.
    """

    of_user: Callable[[str, int], ScramCredential | None]
    of_token: Callable[[str, int], TokenCredential | None]


class _Exchange(NamedTuple):
    """What the second message is checked with."""

    login: Login
    credential: ScramCredential
    nonce: str
    messages: str  # those before the second one of the client, as they are signed


def nonce_of(random_bits: Callable[[int], int]) -> str:
    """The server's part of a nonce: 130 random bits in base 36, as in Kafka.

    Args:
        random_bits: an integer of so many random bits.
    """
    bits, digits = random_bits(_NONCE_BITS), ""
    while bits:
        bits, digit = divmod(bits, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


class ScramServer:
    """One authentication.

    Args:
        mechanism: its name, one of NUMBERS.
        credentials: of users and tokens.
        nonce: the server's part of the nonce, random (`nonce_of`).
    """

    def __init__(self, mechanism: str, credentials: Credentials, nonce: str) -> None:
        self._mechanism = mechanism
        self._number = NUMBERS[mechanism]
        self._hash = MECHANISMS[self._number]
        self._credentials = credentials
        self._nonce = nonce
        self._exchange: _Exchange | None = None
        self.login: Login | None = None

    def evaluate(self, response: bytes, now_ms: int) -> bytes:
        """Answer the first or the second message; raises as SaslServer.evaluate."""
        text = response.decode(errors="replace")
        if self._exchange is None:
            self._exchange, challenge = self._begun(text)
            return challenge
        exchange, self._exchange = self._exchange, None
        signature = self._verified(text, exchange)
        self.login = exchange.login
        return b"v=" + b64encode(signature)

    def _begun(self, text: str) -> tuple[_Exchange, bytes]:
        """Find the credential of the first message; return the server's first message."""
        match = re.fullmatch(_CLIENT_FIRST, text)
        if match is None:
            raise InvalidCredentials("the first message of the client is malformed")
        sasl_name, extensions = match["name"], match["extensions"]
        name = _name_of(sasl_name)
        login, credential = self._found(name, extensions)
        if match["authorization_id"] not in (None, name):
            raise AuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        if credential.iterations < MIN_ITERATIONS:
            raise InvalidCredentials(f"a credential has less than {MIN_ITERATIONS} iterations")
        nonce = match["nonce"] + self._nonce
        salt = b64encode(credential.salt).decode()
        first = f"r={nonce},s={salt},i={credential.iterations}"
        messages = f"n={sasl_name},r={match['nonce']}{extensions},{first}"
        return _Exchange(login, credential, nonce, messages), first.encode()

    def _found(self, name: str, extensions: str) -> tuple[Login, ScramCredential]:
        if _is_token(extensions):
            token = self._credentials.of_token(name, self._number)
            if token is None:
                raise InvalidCredentials("there is no such delegation token")
            login = Login(token.owner, token.expires_at_ms, is_token=True)
            return login, token.credential
        credential = self._credentials.of_user(name, self._number)
        if credential is None:
            raise InvalidCredentials(f"the user has no credential of {self._mechanism}")
        return Login(name), credential

    def _verified(self, text: str, exchange: _Exchange) -> bytes:
        """Check the proof of the client; return the signature of the server."""
        match = re.fullmatch(_CLIENT_FINAL, text)
        if match is None:
            raise InvalidCredentials("the final message of the client is malformed")
        if not match["nonce"].endswith(exchange.nonce):
            raise InvalidCredentials("the final message of the client has another nonce")
        channel = b64encode(b64decode(match["channel"])).decode()
        signed = f"{exchange.messages},c={channel},r={match['nonce']}".encode()
        credential = exchange.credential
        signature = hmac_digest(credential.stored_key, signed, self._hash)
        proof = b64decode(match["proof"])
        if len(proof) != len(signature):
            raise UnusableResponse("the proof of the client has a wrong length")
        client_key = bytes(a ^ b for a, b in zip(signature, proof, strict=True))
        if not compare_digest(hashlib.new(self._hash, client_key).digest(), credential.stored_key):
            raise InvalidCredentials("the proof of the client is wrong")
        return hmac_digest(credential.server_key, signed, self._hash)


def _name_of(sasl_name: str) -> str:
    """The name that is written with =2C and =3D; the pattern lets no other = pass."""
    return sasl_name.replace("=2C", ",").replace("=3D", "=")


def _is_token(extensions: str) -> bool:
    """Whether the extensions have tokenauth=true; the last of several counts."""
    given = dict(each.split("=", 1) for each in extensions.split(",") if each)
    return given.get("tokenauth", "").lower() == "true"
