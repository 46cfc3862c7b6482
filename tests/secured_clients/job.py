"""The job of a client, as the arguments of its program, and its report."""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from typing import NamedTuple, TypedDict

VALUES = 20  # of a run without re-authentication


class Job(NamedTuple):
    """One run of a client: write numbers, read them, abort a transaction and commit one.

    Attributes:
        bootstrap: HOST:PORT.
        authority: file of the certificate that signed the broker's; empty without TLS.
        key: file with the client's certificate and key; empty without one.
        topic: of one partition, for this run alone.
        seconds: the time for which it writes; 0 for VALUES numbers.
        settings: those that ottla.testing has for the client, used instead of all fields before
            `topic`: properties for Java, JSON for others. Clients in Python take none.
    """

    bootstrap: str
    protocol: str
    mechanism: str
    name: str
    password: str
    authority: str
    key: str
    topic: str
    seconds: float
    settings: str = ""


class Report(TypedDict):
    """What a client did.

    Attributes:
        sent: how many numbers it sent, all acknowledged.
        read: how many numbers it read, in order.
    """

    sent: int
    read: int


def unsecured_token(name: str, lifetime_s: int = 3600) -> tuple[str, float]:
    """An unsecured token and the time of its expiry."""
    ends_s = int(time.time()) + lifetime_s
    begins_s = ends_s - lifetime_s
    claims = f'{{"sub":"{name}","iat":{begins_s},"exp":{ends_s}}}'
    parts = [
        urlsafe_b64encode(text.encode()).decode().rstrip("=") for text in ('{"alg":"none"}', claims)
    ]
    return ".".join((*parts, "")), float(ends_s)
