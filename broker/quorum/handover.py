"""Hands a client's connection, which came through another process, to the node that it is for."""

from __future__ import annotations

import asyncio
from typing import cast

from ..net.sockets import NodeSockets


class _PassedOn:
    """A transport with the addresses that the client knows, instead of those between processes."""

    def __init__(
        self, transport: asyncio.Transport, client: tuple[str, int], listener: tuple[str, int]
    ) -> None:
        self._transport = transport
        self._known = {"peername": client, "sockname": listener}

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._known.get(name) or self._transport.get_extra_info(name, default)

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)


def hand_over(
    transport: asyncio.Transport,
    door: NodeSockets,
    name: str,
    *,
    client: tuple[str, int],
    listener: tuple[str, int],
) -> None:
    """Let a node serve a connection from now on.

    Args:
        transport: of the connection; nothing of the client has been read yet.
        door: of the node.
        name: of the listener that the client connected to.
        client: the client's address.
        listener: the address that it connected to.

    Raises:
        KeyError: the node has no such listener.
    """
    protocol = door.new_connection(name)
    # uvloop looks at the kind of protocol when it begins to read.
    transport.pause_reading()
    transport.set_protocol(protocol)
    transport.resume_reading()
    protocol.connection_made(cast(asyncio.Transport, _PassedOn(transport, client, listener)))
