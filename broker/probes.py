"""The probes of the metrics port: `/livez` and `/readyz`, by other names `/health` and `/ready`.

`/livez`: the event loop answers within a few seconds. If not, only a restart helps. `/readyz`: each
node of the process is registered and listens, and no coordinator is loading: clients get answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .metrics_page import Probe
    from .net.sockets import NodeSockets
    from .node import Node

PATIENCE_S: Final = 5.0
NO_ANSWER: Final = f"the event loop does not answer within {PATIENCE_S:g} s"


def probes_of(
    loop: asyncio.AbstractEventLoop,
    nodes: tuple[Node, ...],
    sockets: Mapping[int, NodeSockets],
    patience_s: float = PATIENCE_S,
) -> dict[str, Probe]:
    """The probes by path. Threads call them, and they ask in the event loop.

    Args:
        sockets: of each node, by its id.
        patience_s: how long the event loop may take.
    """

    def asked(reasons: Callable[[], list[str]]) -> list[str]:
        async def answer() -> list[str]:
            return reasons()

        asking = answer()
        try:
            waiting = asyncio.run_coroutine_threadsafe(asking, loop)
        except RuntimeError:  # the loop is closed
            asking.close()
            return [NO_ANSWER]
        try:
            return waiting.result(patience_s)
        except TimeoutError:
            waiting.cancel()
            return [NO_ANSWER]

    def live() -> list[str]:
        return asked(list)

    def ready() -> list[str]:
        return asked(lambda: why_not_ready(nodes, sockets))

    return {"/livez": live, "/readyz": ready, "/health": live, "/ready": ready}


def why_not_ready(nodes: Iterable[Node], sockets: Mapping[int, NodeSockets]) -> list[str]:
    """Why clients would have to wait, a sentence for each reason; call it in the event loop."""
    reasons = []
    for node in nodes:
        broker, door = node.catalog.brokers.get(node.node_id), sockets.get(node.node_id)
        if node.is_stopping:
            reasons.append(f"node {node.node_id} is stopped or stops")
        elif not node.runs or broker is None or broker.is_fenced:
            reasons.append(f"node {node.node_id} is not registered yet")
        elif door is not None and not door.is_open:
            reasons.append(f"node {node.node_id} does not listen yet")
        loading = sum(
            shard.is_loading for each in node.coordinators.values() for shard in each.shards()
        )
        if loading:
            reasons.append(f"node {node.node_id} loads {loading} coordinators")
    return reasons
