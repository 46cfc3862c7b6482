"""Ports of 127.0.0.1 for tests: those of a broker that is down, and those without a broker."""

from __future__ import annotations

import random
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["NO_BROKER", "HeldPorts", "closed_port", "silent_port"]

NO_BROKER: Final = "127.0.0.1:1,127.0.0.1:2"
"""Two fixed addresses where no broker listens: connections are refused."""

_HOST: Final = "127.0.0.1"
# Below the ephemeral ports, which a node's own clients may get for their connections.
PORTS: Final = range(10_000, 32_768)
# Only here may a bound socket and a listening one share a port.
_CAN_SHARE: Final = sys.platform == "linux"


class HeldPorts:
    """Ports that no other process gets while a broker is down.

    A held port refuses connections. Without it, a client that retries the port of a killed broker
    could get that port for its own connection, and on loopback even connect to itself.
    """

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def hold(self, ports: Iterable[int]) -> None:
        """Hold these ports, as far as they are free, instead of those before."""
        self.release()
        for port in ports:
            bound = _bound(port)
            if bound is not None:
                self._sockets.append(bound)

    def hold_consecutive(self, count: int) -> int:
        """Hold `count` free ports that follow each other; return the first one."""
        # The system's randomness, so that tests with the same seed do not choose the same port.
        choice = random.SystemRandom().choice
        while True:
            first = choice(PORTS)
            self.hold(range(first, first + count))
            if len(self._sockets) == count:
                return first

    def before_start(self) -> None:
        """Let a broker of another process bind the ports."""
        if not _CAN_SHARE:
            self.release()

    def release(self) -> None:
        """Hold none."""
        for each in self._sockets:
            each.close()
        self._sockets.clear()


def _bound(port: int) -> socket.socket | None:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((_HOST, port))
    except OSError:
        bound.close()
        return None
    return bound


@contextmanager
def closed_port() -> Iterator[str]:
    """Yield "HOST:PORT" of a port that refuses connections, and that no other process can take."""
    held = HeldPorts()
    try:
        yield f"{_HOST}:{held.hold_consecutive(1)}"
    finally:
        held.release()


@contextmanager
def silent_port() -> Iterator[str]:
    """Yield "HOST:PORT" of a port that accepts connections and never answers."""
    with socket.create_server((_HOST, 0)) as listening:
        yield f"{_HOST}:{listening.getsockname()[1]}"
