"""A Unix socket for commands of tests to a cluster of nodes, one line each, answered by a line.

The commands are `stop N`, `cut N` (cut its connections, as a kill does), `start N`, `lead TOPIC
PARTITION N` (make node N the leader; the partition `*` means all), and `queues` (the contents of
the marker channels, as JSON). The answer is `ok` with the result, or `error` with a sentence. The
socket exists only with `--control`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..protocol.errors import Code, Refused
from .log_output import Log
from .net.sockets import NodeSockets
from .node import Node

_log = Log("control")
_LINE_BYTES: Final = 1 << 16
_ORDERS: Final = "stop N, cut N, start N, lead TOPIC PARTITION N, queues"


class _WrongOrder(Exception):
    """An order that cannot be carried out; the text says why in one sentence."""


class ControlSocket:
    """Carries out commands, one after the other."""

    def __init__(self, served: dict[Node, NodeSockets]) -> None:
        self._nodes = {node.node_id: node for node in served}
        self._sockets = {node.node_id: door for node, door in served.items()}
        self._one_at_a_time = asyncio.Lock()

    async def open(self, path: Path) -> asyncio.Server:
        """Listen on a new Unix socket, as long as the server is kept. Raises OSError."""
        try:
            return await asyncio.start_unix_server(self._serve, _free(path), limit=_LINE_BYTES)
        except OSError as failed:  # without the path
            raise OSError(failed.errno, failed.strerror, str(path)) from None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                async with self._one_at_a_time:
                    answer = await self._answer(line.decode(errors="replace").split())
                await _write(writer, answer)
        except ValueError:  # what readline makes of a line without an end
            await _write(writer, f"error a line has at most {_LINE_BYTES} bytes")
        except ConnectionError:
            pass  # the client has closed the socket
        finally:
            writer.close()

    async def _answer(self, words: list[str]) -> str:
        try:
            match words:
                case ["stop", node_id]:
                    await self._stop(self._node_id(node_id), at_once=False)
                case ["cut", node_id]:
                    await self._stop(self._node_id(node_id), at_once=True)
                case ["start", node_id]:
                    await self._start(self._node_id(node_id))
                case ["lead", topic, partition, node_id]:
                    self._lead(topic, partition, self._node_id(node_id))
                case ["queues"]:
                    return f"ok {json.dumps(self._queues())}"
                case _:
                    return f"error unknown order {' '.join(words)!r}; orders are {_ORDERS}"
        except (_WrongOrder, OSError) as failed:
            return f"error {failed}"
        return "ok"

    def _node_id(self, text: str) -> int:
        if not text.isdecimal() or int(text) not in self._nodes:
            raise _WrongOrder(f"node {text} does not exist; nodes: {_listed(self._nodes)}")
        return int(text)

    async def _stop(self, node_id: int, *, at_once: bool) -> None:
        node, door = self._nodes[node_id], self._sockets[node_id]
        if not node.runs:
            raise _WrongOrder(f"node {node_id} does not run")
        door.refuse()
        if at_once:
            door.cut()
        else:
            door.begin_drain()
        node.leave()
        await door.drained()
        with suppress(OSError):
            door.bind()  # without listening: no other socket gets the port meanwhile

    async def _start(self, node_id: int) -> None:
        node, door = self._nodes[node_id], self._sockets[node_id]
        if node.runs:
            raise _WrongOrder(f"node {node_id} runs")
        door.bind()
        node.come_back(door.advertised)
        await door.open(node)

    def _lead(self, topic: str, partition: str, node_id: int) -> None:
        controller = self._nodes[node_id].controller
        known = controller.catalog.topics.get(topic)
        if known is None:
            raise _WrongOrder(f"topic {topic} does not exist")
        count = len(known.partitions)
        if partition != "*" and not (partition.isdecimal() and int(partition) < count):
            numbers = "0" if count == 1 else f"0 to {count - 1}"
            raise _WrongOrder(
                f"partition {topic}-{partition} does not exist; partitions: {numbers}"
            )
        for index in range(count) if partition == "*" else [int(partition)]:
            try:
                controller.change_leader(topic, index, node_id)
            except Refused as refused:
                if refused.code == Code.ELIGIBLE_LEADERS_NOT_AVAILABLE:
                    isr = _listed(known.partitions[index].isr)
                    why = (
                        f"node {node_id} is not in sync with {topic}-{index}; nodes in sync: {isr}"
                    )
                    raise _WrongOrder(why) from None
                if refused.code != Code.ELECTION_NOT_NEEDED:  # the node leads it
                    raise _WrongOrder(str(refused)) from None

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
            for node_id, node in self._nodes.items()
        }


async def _write(writer: asyncio.StreamWriter, answer: str) -> None:
    writer.write(answer.encode() + b"\n")
    await writer.drain()


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _free(path: Path) -> Path:
    path.unlink(missing_ok=True)  # an earlier broker's
    return path
