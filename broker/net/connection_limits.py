"""Limits the connections of a node, in total and per address (Kafka's ConnectionQuotas).

Beyond `max.connections` a new connection waits until another one closes, as it would in the queue
of the listening socket. Beyond `max.connections.per.ip` it is closed at once. The settings may
change at any time and apply to later connections.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Mapping
from enum import Enum, auto
from functools import lru_cache

from ..settings.config import BrokerConfig

IN_ALL = "max.connections"


class Admission(Enum):
    """The decision on a new connection."""

    ADMITTED = auto()
    WAITS = auto()
    REFUSED = auto()


class ConnectionLimits:
    """Counts the connections of one node, by listener and address."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._by_host: Counter[str] = Counter()
        self._by_listener: Counter[str] = Counter()

    def admit(self, listener: str, host: str) -> Admission:
        """Decide on a new connection; an admitted one counts until `leave`."""
        if not self.has_room(listener):
            return Admission.WAITS
        if self._by_host[host] >= self._limit_of(host):
            return Admission.REFUSED
        self._by_host[host] += 1
        self._by_listener[listener] += 1
        return Admission.ADMITTED

    def has_room(self, listener: str) -> bool:
        """Whether one more connection of a listener may be served now."""
        config = self._config
        name = f"listener.name.{listener.lower()}.{IN_ALL}"
        if config.is_given(name) and self._by_listener[listener] >= int(config.text(name) or 0):
            return False
        return bool(self._by_listener.total() < config[IN_ALL])

    def leave(self, listener: str, host: str) -> None:
        """Stop counting an admitted connection, which has ended."""
        self._by_listener[listener] -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]

    def _limit_of(self, host: str) -> int:
        overrides = self._config["max.connections.per.ip.overrides"]
        if overrides:
            limit = _by_address(overrides).get(host)
            if limit is not None:
                return limit
        return int(self._config["max.connections.per.ip"])


@lru_cache(maxsize=4)
def _by_address(overrides: str) -> Mapping[str, int]:
    """The limits of `HOST:NUMBER,HOST:NUMBER`, by the addresses of the hosts."""
    limits = {}
    for entry in overrides.split(","):
        host, _, number = entry.strip().rpartition(":")
        try:
            found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
        except OSError:
            continue  # an unknown host cannot connect
        limits.update({str(address[4][0]): int(number) for address in found})
    return limits
