"""Limits the connections of a node, in total and per address (Kafka's ConnectionQuotas).

Beyond `max.connections` a new connection waits until another one closes, as it would in the queue
of the listening socket. Beyond `max.connections.per.ip` it is closed at once. The settings may
change at any time and apply to later connections.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import Generic, TypeVar

from ..settings.config import BrokerConfig

IN_ALL = "max.connections"
One = TypeVar("One")


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


class WaitingConnections(Generic[One]):
    """The connections that wait for room, in order of arrival.

    To find the next one takes a look at each listener, not at each connection: thousands may wait
    while many others close.

    Args:
        has_room: whether one more connection of a listener may be served now.
    """

    def __init__(self, has_room: Callable[[str], bool]) -> None:
        self._has_room = has_room
        self._by_listener: dict[str, dict[One, int]] = {}  # with their numbers
        self._last = 0

    def add(self, listener: str, one: One) -> None:
        """Let a connection wait behind the others."""
        self._last += 1
        self._by_listener.setdefault(listener, {})[one] = self._last

    def drop(self, listener: str, one: One) -> None:
        """Forget a connection, which may not be one of these."""
        waiting = self._by_listener.get(listener)
        if waiting is not None:
            waiting.pop(one, None)
            if not waiting:
                del self._by_listener[listener]

    def take(self) -> tuple[str, One] | None:
        """Remove the first connection whose listener has room; return both."""
        found: tuple[int, str, One] | None = None
        for listener, waiting in self._by_listener.items():
            one, number = next(iter(waiting.items()))
            if (found is None or number < found[0]) and self._has_room(listener):
                found = number, listener, one
        if found is None:
            return None
        self.drop(found[1], found[2])
        return found[1:]


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
