"""The client's side of SCRAM, for tests of the server's side."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from functools import cache

from ottla.metadata.scram import MECHANISMS, ScramCredential, keys_of
from ottla.security.scram import NUMBERS


def salted_password(number: int, password: str, salt: bytes = b"salt") -> bytes:
    """What a client sends to set a credential of 4096 iterations."""
    return hashlib.pbkdf2_hmac(MECHANISMS[number], password.encode(), salt, 4096)


def credential_of(
    mechanism: str, password: str, salt: bytes = b"salt", iterations: int = 4096
) -> ScramCredential:
    """What Kafka stores of a password."""
    number = NUMBERS[mechanism]
    salted = hashlib.pbkdf2_hmac(MECHANISMS[number], password.encode(), salt, iterations)
    return ScramCredential(salt, *keys_of(number, salted), iterations)


@cache
def _salted(hash_name: str, password: str, salt: str, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(hash_name, password.encode(), b64decode(salt), iterations)


class ScramClient:
    """One authentication of a client.

    Attributes:
        signature: what the server must send at the end.
    """

    def __init__(
        self, mechanism: str, name: str, password: str, nonce: str = "abc", extensions: str = ""
    ) -> None:
        self._hash = MECHANISMS[NUMBERS[mechanism]]
        self._password = password
        escaped = name.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={escaped},r={nonce}{extensions}"
        self.signature = b""

    def first(self) -> bytes:
        """The first message."""
        return f"n,,{self._bare}".encode()

    def final(self, challenge: bytes, channel: bytes = b"n,,") -> bytes:
        """The final message, which answers the challenge of the server."""
        fields = dict(each.split("=", 1) for each in challenge.decode().split(","))
        salted = _salted(self._hash, self._password, fields["s"], int(fields["i"]))
        client_key = hmac.digest(salted, b"Client Key", self._hash)
        stored_key = hashlib.new(self._hash, client_key).digest()
        unproved = f"c={b64encode(channel).decode()},r={fields['r']}"
        signed = f"{self._bare},{challenge.decode()},{unproved}".encode()
        signature = hmac.digest(stored_key, signed, self._hash)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        server_key = hmac.digest(salted, b"Server Key", self._hash)
        self.signature = b"v=" + b64encode(hmac.digest(server_key, signed, self._hash))
        return f"{unproved},p={b64encode(proof).decode()}".encode()
