"""Unsecured tokens of clients that log in by OAUTHBEARER: for tests, as anyone can make them."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Final

LIFETIME_S: Final = 3600


def unsecured_token(name: str, now_s: float) -> tuple[str, int]:
    """A token of a user, and the time when it ends, in seconds.

    As Kafka 4.1 reads it, its base64 has the alphabet of MIME, not the one of URLs.

    Args:
        name: of the user.
        now_s: the time of the clock.
    """
    ends_s = int(now_s) + LIFETIME_S
    parts = (json.dumps({"alg": "none"}), json.dumps({"sub": name, "exp": ends_s}), "")
    return ".".join(b64encode(part.encode()).decode().rstrip("=") for part in parts), ends_s


def first_message(token: str) -> bytes:
    """The client's first message of OAUTHBEARER (RFC 7628)."""
    return f"n,,\x01auth=Bearer {token}\x01\x01".encode()
