"""The texts of `kafka-storage format --add-scram` (ScramParser).

SCRAM-SHA-512=[name=alice,password=secret,iterations=8192]
SCRAM-SHA-512=[name=alice,saltedpassword=BASE64,salt=BASE64]

Errors are those of Kafka's tool. None contains a password.
"""

from __future__ import annotations

import binascii
import hashlib
import secrets
from base64 import b64decode
from typing import Final

from ..metadata.records import UserScramCredentialRecord
from ..metadata.scram import MAX_ITERATIONS, MECHANISMS, MIN_ITERATIONS, keys_of
from .java_numbers import java_int

_NUMBERS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
_SALT_BYTES: Final = 32


class BadCredential(ValueError):
    """A text that describes no credential."""


def credential(text: str) -> UserScramCredentialRecord:
    """The record of one text. Raises BadCredential."""
    mechanism, equals, config = text.strip().partition("=")
    if not equals:
        raise BadCredential(f"Failed to find equals sign in SCRAM argument '{mechanism}'")
    if mechanism not in _NUMBERS:
        raise BadCredential(f"The add-scram mechanism {mechanism} is not supported.")
    if not config.startswith("["):
        raise BadCredential("Expected configuration string to start with [")
    if not config.endswith("]"):
        raise BadCredential("Expected configuration string to end with ]")
    return _record(mechanism, dict(map(_component, config[1:-1].split(","))))


def _component(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadCredential(f"No equals sign found in SCRAM component: {text}")
    is_quoted = len(value) > 1 and value[0] == value[-1] == '"'
    return name, value[1:-1] if is_quoted else value


def _record(mechanism: str, given: dict[str, str]) -> UserScramCredentialRecord:
    name = given.pop("name", None)
    if name is None:
        raise BadCredential("You must supply 'name' to add-scram")
    salt = _bytes("salt", given.pop("salt", None))
    iterations = _iterations(mechanism, given.pop("iterations", None))
    password, salted = given.pop("password", None), given.pop("saltedpassword", None)
    if password is None and salted is None:
        raise BadCredential("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if password is None and salt is None:
        raise BadCredential("You must supply 'salt' with 'saltedpassword' to add-scram")
    if given:
        raise BadCredential(f"Unknown SCRAM configurations: {', '.join(sorted(given))}")
    if password == "":
        raise BadCredential("Empty key")
    number = _NUMBERS[mechanism]
    if salt is None:
        salt = secrets.token_bytes(_SALT_BYTES)
    salted_bytes = _bytes("saltedpassword", salted) or b""
    if password is not None:
        key = password.encode()
        salted_bytes = hashlib.pbkdf2_hmac(MECHANISMS[number], key, salt, iterations)
    stored_key, server_key = keys_of(number, salted_bytes)
    return UserScramCredentialRecord(name, number, salt, stored_key, server_key, iterations)


def _iterations(mechanism: str, text: str | None) -> int:
    try:
        found = MIN_ITERATIONS if text is None else java_int(text)
    except ValueError:
        raise BadCredential(f"Failed to parse iterations count: {text}") from None
    using = f"for add-scram using {mechanism.replace('-', '_')}"
    if found < MIN_ITERATIONS:
        raise BadCredential(f"The 'iterations' value must be >= {MIN_ITERATIONS} {using}")
    if found > MAX_ITERATIONS:
        raise BadCredential(f"The 'iterations' value must be <= {MAX_ITERATIONS} {using}")
    return found


def _bytes(what: str, text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        shown = f": {text}" if what == "salt" else ""
        raise BadCredential(f"Failed to decode given {what}{shown}") from None
