"""A node that listens, and clients that send it ApiVersions requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ottla.broker.net.sockets import NodeSockets
from ottla.broker.node import Node
from ottla.broker.settings.config import BrokerConfig
from ottla.protocol.api_keys import ApiKey
from ottla.storage.disk.open_files import OPEN_FILES, OpenFiles
from tests.broker.fakes import framed
from tests.clocks import LoopClock

REQUEST = framed(ApiKey.API_VERSIONS, 0, correlation_id=7)


@asynccontextmanager
async def listening_node(
    directory: Path, open_files: OpenFiles = OPEN_FILES, /, **settings: str
) -> AsyncIterator[tuple[Node, NodeSockets]]:
    """A node that listens; settings are written with _ for their dots."""
    given = {key.replace("_", "."): value for key, value in settings.items()}
    config = BrokerConfig.from_settings({"listeners": "PLAINTEXT://127.0.0.1:0", **given})
    clock = LoopClock()
    node, sockets = Node(config, directory, clock), NodeSockets(config, clock, open_files)
    node.start(sockets.advertised)
    await sockets.open(node)
    try:
        yield node, sockets
    finally:
        sockets.refuse()
        sockets.cut()
        node.close()


class Client:
    """A connection that has sent an ApiVersions request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def of(cls, sockets: NodeSockets) -> Client:
        client = cls(*await asyncio.open_connection(*sockets.address))
        client.ask()
        return client

    def ask(self) -> None:
        self._writer.write(REQUEST)

    async def answer(self) -> bytes:
        """The answer; empty if the node closed the connection."""
        size = await self._reader.read(4)
        return size and await self._reader.readexactly(int.from_bytes(size, "big"))

    async def leave(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()
