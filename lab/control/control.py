"""The control of a broker for tests: a Unix socket with lines, and HTTP with JSON.

It imports the lab when the HTTP part is opened: a broker that only has the socket starts as fast
as one without.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...broker.control_socket import ControlSocket
from ...broker.net.listening import PrivateSocket, listen_on
from ...broker.node_orders import NodeOrders
from ..actions.hooked_files import LabFiles

if TYPE_CHECKING:
    import socket as sockets

    from ...broker.net.sockets import NodeSockets
    from ...broker.node import Node
    from ..lab import Lab
    from .control_http import HttpControl


class Control:
    """The control of the nodes of a process.

    Args:
        socket: path of a Unix socket for lines; None for none.
        http: host and port for HTTP; None: it is opened when the socket is asked for it.
        takes_any_host: whether the HTTP part takes requests with any Host header.

    Attributes:
        files: what the storage uses, so that faults and crashes can hit its operations.
    """

    def __init__(
        self, socket: Path | None, http: tuple[str, int] | None, *, takes_any_host: bool = False
    ) -> None:
        self._socket = socket
        self._wanted = http
        self._takes_any_host = takes_any_host
        self.files = LabFiles()
        self._private: PrivateSocket | None = None
        self._listening: sockets.socket | None = None  # for HTTP, until it is served
        self._server: asyncio.Server | None = None
        self._http: HttpControl | None = None
        self._lab: Lab | None = None
        self._orders: NodeOrders
        self._served: Mapping[Node, NodeSockets]

    def listen(self) -> None:
        """Listen on what was asked for; orders wait until `open`. Raises OSError."""
        if self._socket is not None:
            self._private = PrivateSocket(str(self._socket))
        if self._wanted is not None:
            self._listening = listen_on(*self._wanted, "the control")

    async def open(self, served: Mapping[Node, NodeSockets]) -> None:
        """Take orders; call `listen` before."""
        self._served = served
        self._orders = NodeOrders(served)
        if self._private is not None:  # the reference keeps it open
            self._server = await self._control_socket().open(self._private.listening)
        if self._wanted is not None:
            await self.http()

    def add(self, node: Node, door: NodeSockets) -> None:
        """Another process has joined the cluster with a node."""
        if self._lab is not None:
            self._lab.add(node, door)

    def _control_socket(self) -> ControlSocket:
        from ..rules.orders import LabOrders  # here, because it imports the manual clock

        return ControlSocket(self._orders, self.http, LabOrders(self._served).carry_out)

    @property
    def address(self) -> str:
        """HOST:PORT of the HTTP part if it was asked for, else the path of the socket."""
        if self._http is not None:
            return self._http.address
        return str(self._socket)

    async def http(self) -> str:
        """HOST:PORT of the HTTP part, which is opened now if it is not yet. Raises OSError."""
        if self._http is None:
            from ..lab import Lab
            from .control_http import HttpControl

            self._lab = Lab(self._served, self._orders)
            self._http = HttpControl(self._lab, takes_any_host=self._takes_any_host)
            self._http.open(self._listening or listen_on("127.0.0.1", 0, "the control"))
            self._listening = None
        return self._http.address

    async def close(self) -> None:
        """Take no more orders, and let go what rules hold."""
        if self._server is not None:
            self._server.close()
        if self._private is not None:
            self._private.close()
        if self._listening is not None:
            self._listening.close()
        if self._lab is not None:
            await self._lab.close()
        if self._http is not None:
            await asyncio.to_thread(self._http.close)
