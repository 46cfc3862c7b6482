"""Free ports of 127.0.0.1 that the kernel gives to no other program until a server binds them."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack
from typing import Final

_CAN_SHARE: Final = sys.platform == "linux"


class HeldPorts:
    """Ports that the kernel chose; a socket that does not listen holds each of them.

    On Linux a server that reuses addresses, as Ottla and Kafka do, binds a held port, and can do so
    again after a restart; no program that asks for any free port gets it, and no outgoing
    connection. On other systems `release` them right before the server starts.

    Args:
        count: the number of the ports.
    """

    def __init__(self, count: int) -> None:
        self._held = ExitStack()
        sockets = [self._held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        self.ports = [int(each.getsockname()[1]) for each in sockets]
        for each in sockets:  # not before: the kernel might choose a port twice
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    def before_start(self) -> None:
        """Let a server of another process bind the ports."""
        if not _CAN_SHARE:
            self.close()

    def close(self) -> None:
        """Hold none."""
        self._held.close()
