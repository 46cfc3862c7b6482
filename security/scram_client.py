"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), the client's side, as in Kafka.

Follows ScramSaslClient. There is no channel binding.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode, b64encode
from hmac import compare_digest
from hmac import digest as hmac_digest
from typing import Final

from ..metadata.scram import MECHANISMS, MIN_ITERATIONS
from .scram import NUMBERS

_CHALLENGE: Final = r"r=(?P<nonce>[^,]+),s=(?P<salt>[^,]+),i=(?P<iterations>[0-9]{1,9})(?:,.*)?"
_MOST_ITERATIONS: Final = 1 << 20


class ScramRefused(ValueError):
    """The server's message is wrong, or proves another password; the text has no secret."""


class ScramClient:
    """One authentication.

    Args:
        mechanism: its name, one of NUMBERS.
        login: name and password.
        nonce: random printable characters without a comma.
    """

    def __init__(self, mechanism: str, login: tuple[str, str], nonce: str) -> None:
        self._hash = MECHANISMS[NUMBERS[mechanism]]
        self._nonce = nonce
        self._password = login[1].encode()
        name = login[0].replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={nonce}"
        self._expected = b""

    def first(self) -> bytes:
        """The first message."""
        return f"n,,{self._bare}".encode()

    def final(self, challenge: bytes) -> bytes:
        """The second message, with the proof of the password.

        Args:
            challenge: the server's answer to the first.

        Raises:
            ScramRefused: it is malformed, or not an answer to this client.
        """
        text = challenge.decode(errors="replace")
        match = re.fullmatch(_CHALLENGE, text)
        if match is None or not match["nonce"].startswith(self._nonce):
            raise ScramRefused("the server's first SCRAM message is wrong")
        iterations = int(match["iterations"])
        if not MIN_ITERATIONS <= iterations <= _MOST_ITERATIONS:
            raise ScramRefused(f"the server asks for {iterations} iterations")
        try:
            salt = b64decode(match["salt"], validate=True)
        except ValueError:
            raise ScramRefused("the server's salt is wrong") from None
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, iterations)
        without_proof = f"c=biws,r={match['nonce']}"
        signed = f"{self._bare},{text},{without_proof}".encode()
        client_key = hmac_digest(salted, b"Client Key", self._hash)
        stored_key = hashlib.new(self._hash, client_key).digest()
        signature = hmac_digest(stored_key, signed, self._hash)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        server_key = hmac_digest(salted, b"Server Key", self._hash)
        self._expected = hmac_digest(server_key, signed, self._hash)
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def check(self, answer: bytes) -> None:
        """Check the server's last message: it proves that the server knows the credential.

        Raises:
            ScramRefused: it does not.
        """
        if not compare_digest(answer.split(b",")[0], b"v=" + b64encode(self._expected)):
            raise ScramRefused("the server's SCRAM signature is wrong")
