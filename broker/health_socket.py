"""Answers the health check of a container, wherever the broker listens: without a port and a login.

The socket is an abstract one of Linux: it needs no file, so that it works with a read-only root and
for any user. Its name has the number of the container's process namespace, so that containers on
one network do not meet. Who connects gets one line of JSON; nothing is read.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

Report = Callable[[], Mapping[str, object]]

_BACKLOG = 16


def name_here() -> str:
    """The name of the socket for this container. Raises OSError where there is no /proc."""
    return f"ottla-health-{os.readlink('/proc/self/ns/pid')}"


def address_of(name: str) -> str:
    """The address of a socket with this name."""
    return f"\0{name}"


class HealthSocket:
    """The socket, from `open` to `close`.

    Args:
        name: of the socket.
        report: what it answers: `status` (ok or failing), `reasons`, `nodes`.
    """

    def __init__(self, name: str, report: Report) -> None:
        self._name = name
        self._report = report
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Answer from now on, unless another broker of this container does."""
        listening = socket.socket(socket.AF_UNIX)
        try:
            listening.bind(address_of(self._name))
            listening.listen(_BACKLOG)
        except OSError:
            listening.close()
            return
        answer = partial(_Answer, self._report)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(answer, sock=listening, backlog=_BACKLOG)

    def close(self) -> None:
        """Answer no more."""
        if self._server is not None:
            self._server.close()


class _Answer(asyncio.Protocol):
    def __init__(self, report: Report) -> None:
        self._report = report

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert hasattr(transport, "write")
        with suppress(OSError):
            transport.write(json.dumps(self._report()).encode() + b"\n")
        transport.close()  # the few bytes are in the socket already, whether they are read or not
