"""A Unix socket for commands of tests to a cluster of nodes, one line each, answered by a line.

The commands are `stop N`, `cut N` (cut its connections, as a kill does), `start N`, `lead TOPIC
PARTITION N` (make node N the leader; the partition `*` means all), `queues` (the contents of
the marker channels, as JSON), and `control` (open the control by HTTP, and return its address). A
lab adds orders of its own. The answer is `ok` with the result, or `error` with a sentence. The
socket exists only with `--control`.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from typing import Final

from .log_output import Log
from .node_orders import NodeOrders, WrongOrder

_log = Log("control")
_LINE_BYTES: Final = 1 << 16
_ORDERS: Final = (
    "stop N, cut N, start N, lead TOPIC PARTITION N, queues, control, clock, advance MS, given JSON"
)


class ControlSocket:
    """Carries out commands, one after the other.

    Args:
        orders: to the nodes.
        open_http: opens the control by HTTP once; returns HOST:PORT.
        carry_out: carries out another line, and returns its result; None if it knows no such
            order. It may raise WrongOrder.
    """

    def __init__(
        self,
        orders: NodeOrders,
        open_http: Callable[[], Awaitable[str]],
        carry_out: Callable[[str], Awaitable[str | None]] | None = None,
    ) -> None:
        self._orders = orders
        self._carry_out = carry_out
        self._open_http = open_http
        self._one_at_a_time = asyncio.Lock()

    async def open(self, listening: socket.socket) -> asyncio.Server:
        """Serve a Unix socket that listens, as long as the server is kept."""
        return await asyncio.start_unix_server(self._serve, sock=listening, limit=_LINE_BYTES)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                async with self._one_at_a_time:
                    answer = await self._answer(line.decode(errors="replace"))
                await _write(writer, answer)
        except ValueError:  # what readline makes of a line without an end
            await _write(writer, f"error a line has at most {_LINE_BYTES} bytes")
        except ConnectionError:
            pass  # the client has closed the socket
        finally:
            writer.close()

    async def _answer(self, line: str) -> str:
        orders, words = self._orders, line.split()
        try:
            if self._carry_out is not None and (result := await self._carry_out(line)) is not None:
                return f"ok {result}"
            match words:
                case ["stop", node_id]:
                    await orders.stop(orders.node_id(node_id))
                case ["cut", node_id]:
                    await orders.stop(orders.node_id(node_id), at_once=True)
                case ["start", node_id]:
                    await orders.start(orders.node_id(node_id))
                case ["lead", topic, partition, node_id]:
                    orders.lead(topic, partition, orders.node_id(node_id))
                case ["queues"]:
                    return f"ok {json.dumps(self._queues())}"
                case ["control"]:
                    return f"ok {await self._open_http()}"
                case _:
                    return f"error unknown order {' '.join(words)!r}; orders are {_ORDERS}"
        except (WrongOrder, OSError) as failed:
            return f"error {failed}"
        return "ok"

    def _queues(self) -> dict[int, dict[str, object]]:
        return {
            node_id: {
                "destinations": {
                    to: len(queue) for to, queue in node.marker_channel.destinations.items()
                },
                "unknown_leader": len(node.marker_channel.unknown_leader),
                "completions": len(node.marker_channel.completions),
                "refused_for_good": node.marker_channel.refused_for_good(),
                "retries": node.marker_channel.retries,
            }
            for node_id, node in self._orders.nodes.items()
        }


async def _write(writer: asyncio.StreamWriter, answer: str) -> None:
    writer.write(answer.encode() + b"\n")
    await writer.drain()
