"""A node that listens, and clients that ask it for its API versions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ottla.broker.net.sockets import NodeSockets
from ottla.broker.node import Node
from ottla.broker.settings.config import BrokerConfig
from ottla.protocol.api_keys import ApiKey

from ..clocks import LoopClock
from .fakes import framed

ASKED = framed(ApiKey.API_VERSIONS, 0, correlation_id=7)


@asynccontextmanager
async def door(directory: Path, **settings: str) -> AsyncIterator[tuple[Node, NodeSockets]]:
    """A node that listens; settings have _ for their dots."""
    given = {key.replace("_", "."): value for key, value in settings.items()}
    config = BrokerConfig.from_settings({"listeners": "PLAINTEXT://127.0.0.1:0", **given})
    clock = LoopClock()
    node, sockets = Node(config, directory, clock), NodeSockets(config, clock)
    node.start(sockets.advertised)
    await sockets.open(node)
    try:
        yield node, sockets
    finally:
        sockets.refuse()
        sockets.cut()
        node.close()


class Client:
    """A connection that has asked."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def of(cls, sockets: NodeSockets) -> Client:
        client = cls(*await asyncio.open_connection(*sockets.address))
        client.ask()
        return client

    def ask(self) -> None:
        self._writer.write(ASKED)

    async def answer(self) -> bytes:
        """What is answered; nothing: it was closed."""
        size = await self._reader.read(4)
        return size and await self._reader.readexactly(int.from_bytes(size, "big"))

    async def leave(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()
