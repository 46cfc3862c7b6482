"""What asks for the page of a control: a client of the nodes in this process, without sockets.

Its requests go to the dispatch of a node, as the principal of other nodes. So it needs no listener,
login or certificate, and no rule of the lab acts on it: who looks neither counts for `nth` of a
rule nor appears in the trace as a client.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...broker.principals import NODE
from ...broker.requests.context import ConnectionInfo, Disconnect
from ...broker.requests.dispatch import Dispatch, Layer
from ...broker.settings.listeners import ServedListener
from ...browse.browser import Browser
from ...browse.questions import QUESTIONS
from ...client.cluster_client import Client, NoAnswer
from ...client.core import VERSIONS
from ...protocol.errors import Malformed
from ...protocol.requests import read_answer, request_frame
from .operation import ControlOperation, Query, Values

if TYPE_CHECKING:
    from ...broker.net.sockets import NodeSockets
    from ...broker.node import Node
    from ...protocol.api_keys import ApiKey
    from ..lab import Lab

_CLIENT_ID: Final = "ottla-page"
_SIZE_BYTES: Final = 4
_ANSWER_S: Final = 10.0


def browser_of(
    lab: Lab, loop: asyncio.AbstractEventLoop, control: Callable[[str], object]
) -> Browser:
    """The questions of the viewers of a control.

    Args:
        loop: of the broker; the questions come from other threads.
        control: what GET of a path of the control answers.
    """
    return Browser(
        lambda: NodeClient(lab.served, loop),
        now_ms=lambda: int(lab.now_ms()["now_ms"]),
        monotonic_s=time.monotonic,
        may_change=True,
        has_lab=True,
        control=control,
    )


def operations_of_page() -> Iterator[ControlOperation]:
    """The questions of the page as operations; `control_http.py` asks them in its threads."""
    for each in QUESTIONS:
        yield ControlOperation(
            each.method,
            each.path,
            each.name,
            each.summary,
            _ask_in_a_thread,
            body=each.body,
            needs_body=bool(each.body),
            query=each.query,
            question=each,
        )


async def _ask_in_a_thread(lab: Lab, values: Values, query: Query, body: Any) -> object:
    raise AssertionError("the event loop must not wait for the answers that it makes itself")


class NodeClient(Client):
    """A client of the nodes of this process, for a thread beside the event loop.

    Args:
        served: the nodes and their sockets, as they are at each question: other processes join
            with nodes of theirs, and come back with new ones.
        loop: of the nodes.
    """

    def __init__(self, served: Mapping[Node, NodeSockets], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__("", 0, connects=False)
        self._served = served
        self._loop = loop
        self._doors: dict[Node, tuple[Dispatch, ConnectionInfo]] = {}
        self._asked = 0

    def ask(
        self,
        api_key: ApiKey,
        body: dict[str, Any],
        *,
        node_id: int | None = None,
        version: int | None = None,
    ) -> Any:
        """As that of a client. Raises NoAnswer: the node is stopped, or its answer takes long."""
        version = version or self.highest_versions.get(api_key, VERSIONS.get(api_key, 0))
        node = self._running(node_id)
        self._asked += 1
        frame = request_frame(api_key, version, self._asked, _CLIENT_ID, body)
        later = asyncio.run_coroutine_threadsafe(self._exchange(node, frame), self._loop)
        try:
            reply = later.result(_ANSWER_S)
        except TimeoutError:
            later.cancel()
            raise NoAnswer(f"node {node.node_id}: no answer within {_ANSWER_S:.0f} s") from None
        except (Malformed, Disconnect) as refused:
            raise NoAnswer(f"node {node.node_id}: {refused}") from None
        return read_answer(api_key, version, self._asked, reply[_SIZE_BYTES:])

    def _running(self, node_id: int | None) -> Node:
        """A node that runs; None: any. Raises NoAnswer."""
        for node in list(self._served):
            if node.runs and node_id in (None, node.node_id):
                return node
        raise NoAnswer("no node runs" if node_id is None else f"node {node_id} is stopped")

    def _door(self, node: Node) -> tuple[Dispatch, ConnectionInfo]:
        """What serves requests to a node, and the connection that they come by."""
        if node not in self._doors:
            self._doors = {each: door for each, door in self._doors.items() if each in self._served}
            info = _info(node, self._served[node])
            self._doors[node] = Dispatch(node, _layers(node)), info
        return self._doors[node]

    async def _exchange(self, node: Node, frame: bytearray) -> bytes:
        """The frame of an answer, in the event loop of the nodes."""
        request = memoryview(frame)[_SIZE_BYTES:]
        dispatch, info = self._door(node)
        _, reply = dispatch.serve(request, info)
        if isinstance(reply, asyncio.Future):
            reply = await reply
        if reply is None:
            raise Disconnect("the request has no answer")
        if isinstance(reply, bytearray):
            return bytes(reply)
        return b"".join(
            bytes(each)
            if isinstance(each, bytes | bytearray | memoryview)
            else each.part(0, len(each))
            for each in reply
        )


def _layers(node: Node) -> list[Layer]:
    """What stands around the requests of a node that answers as an older release."""
    if node.release is None:
        return []
    from ...broker.requests.older_versions import serve_older_versions

    return [serve_older_versions]


def _info(node: Node, door: NodeSockets) -> ConnectionInfo:
    """A connection of the first listener, whose addresses the answers have."""
    name, host, port = door.advertised[0]
    listener = ServedListener(name, node.config.protocols[name], host, port)
    info = ConnectionInfo(f"page-{node.node_id}", "127.0.0.1:0", "127.0.0.1", listener)
    info.principal, info.is_authenticated = NODE, True
    return info
