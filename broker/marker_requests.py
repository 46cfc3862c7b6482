"""WriteTxnMarkers (27) to other nodes: one connection and one request at a time for each.

Imported when there is another node that leads something. A request that gets no answer in
`request.timeout.ms` ends its connection, so that it is not served late beside its repetition.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ..coordinator.transaction_states import Partition
from ..protocol.api_keys import ApiKey
from ..protocol.errors import Code
from ..protocol.requests import read_answer, request_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .marker_channel import Ending, Entry
    from .node import Node

_VERSION: Final = 1
_ANSWER_LIMIT_BYTES: Final = 64 << 20


class MarkerRequests:
    """The connections of one node to others."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._connections: dict[
            int, tuple[tuple[str, int], asyncio.StreamReader, asyncio.StreamWriter]
        ] = {}
        self._sent = 0

    async def send(self, node_id: int, entries: Sequence[Entry]) -> list[Code]:
        """Send markers to a node; what it says of each, in their order.

        Raises:
            OSError: it cannot be reached, or the connection ended; TimeoutError is one.
            Malformed: its answer cannot be read.
        """
        timeout_s = self._node.config["request.timeout.ms"] / 1000
        self._sent += 1
        number = self._sent  # there may be others under way when the answer comes
        frame = request_frame(
            ApiKey.WRITE_TXN_MARKERS,
            _VERSION,
            number,
            f"broker-{self._node.node_id}-txn-marker-sender",
            {"markers": _markers(entries)},
        )
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self._answer(node_id, frame)
            body = read_answer(ApiKey.WRITE_TXN_MARKERS, _VERSION, number, answer)
        except BaseException:
            self._drop(node_id)
            raise
        told = {
            (marker.producer_id, topic.name, partition.partition_index): partition.error_code
            for marker in body.markers
            for topic in marker.topics
            for partition in topic.partitions
        }
        return [_code(told, ending, place) for ending, place in entries]

    def close(self) -> None:
        """Close all connections."""
        for node_id in list(self._connections):
            self._drop(node_id)

    async def _answer(self, node_id: int, frame: bytearray) -> bytes:
        reader, writer = await self._connection(node_id)
        writer.write(frame)
        try:
            size = int.from_bytes(await reader.readexactly(4), "big")
            if size > _ANSWER_LIMIT_BYTES:
                raise ConnectionError(f"an answer of {size} bytes")
            return await reader.readexactly(size)
        except asyncio.IncompleteReadError:
            raise ConnectionError("the connection was closed") from None

    async def _connection(self, node_id: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        address = self._address(node_id)
        known = self._connections.get(node_id)
        if known is not None:
            where, reader, writer = known
            if where == address and not writer.is_closing() and not reader.at_eof():
                return reader, writer
            self._drop(node_id)
        reader, writer = await asyncio.open_connection(*address)
        self._connections[node_id] = (address, reader, writer)
        return reader, writer

    def _address(self, node_id: int) -> tuple[str, int]:
        broker = self._node.catalog.brokers.get(node_id)
        if broker is None or not broker.end_points:
            raise ConnectionError(f"nobody knows where node {node_id} listens")
        wanted = self._node.config["inter.broker.listener.name"]
        by_name = {each.name: each for each in broker.end_points}
        end_point = by_name.get(wanted, broker.end_points[0])
        return end_point.host, end_point.port

    def _drop(self, node_id: int) -> None:
        known = self._connections.pop(node_id, None)
        if known is not None:
            with suppress(OSError, RuntimeError):
                known[2].close()


def _markers(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """One marker for each transaction, with the partitions of it that go to this node."""
    by_ending: dict[Ending, dict[str, list[int]]] = {}
    for ending, (topic, index) in entries:
        by_ending.setdefault(ending, {}).setdefault(topic, []).append(index)
    return [
        {
            "producer_id": ending.effect.transaction.producer_id,
            "producer_epoch": ending.effect.transaction.producer_epoch,
            "transaction_result": ending.effect.commit,
            "coordinator_epoch": ending.effect.coordinator_epoch,
            "topics": [
                {"name": name, "partition_indexes": indexes} for name, indexes in topics.items()
            ],
        }
        for ending, topics in by_ending.items()
    ]


def _code(told: dict[tuple[int, str, int], int], ending: Ending, place: Partition) -> Code:
    """What was said of a marker; who says nothing of it is asked again."""
    producer_id = ending.effect.transaction.producer_id
    code = told.get((producer_id, *place))
    return Code.UNKNOWN_SERVER_ERROR if code is None else Code(code)
