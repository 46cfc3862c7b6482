"""Sends WriteTxnMarkers (27) to other nodes, with one connection and one request at a time each.

This module is imported at the first marker for another node. A request without an answer within
`request.timeout.ms` closes its connection, so that it is not served late, beside its retry.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ...coordinator.transactions.states import Partition
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ...protocol.requests import read_answer, request_frame
from ..clock import Clock, within_ms
from . import markers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...protocol.api_types.write_txn_markers import WritableTxnMarkerFields
    from ..settings.config import BrokerConfig
    from .marker_channel import Ending, Entry
    from .partitions import OtherNode

_VERSION: Final = 1
_ANSWER_LIMIT_BYTES: Final = 64 << 20


class _Connection(NamedTuple):
    """A connection to another node.

    Attributes:
        peer: the local address, as the other node sees it.
    """

    address: tuple[str, int]
    peer: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def is_open(self) -> bool:
        return not self.writer.is_closing() and not self.reader.at_eof()


class MarkerRequests:
    """The connections of one node to others.

    Args:
        node_id: of the node that sends.
        nodes: all nodes of the process, by id.
        peers: addresses, HOST:PORT, from which nodes are connecting to each other; this adds its
            own, and the other node takes it out.
        config: the settings, of which `request.timeout.ms` is used.
        clock: the time.
    """

    def __init__(
        self,
        node_id: int,
        nodes: Mapping[int, OtherNode],
        peers: set[str],
        config: BrokerConfig,
        clock: Clock,
    ) -> None:
        self._node_id = node_id
        self._nodes = nodes
        self._peers = peers
        self._config = config
        self._clock = clock
        self._connections: dict[int, _Connection] = {}
        self._sent = 0

    async def send(self, node_id: int, entries: Sequence[Entry]) -> list[Code]:
        """Send markers to a node; return its answers in the order of the entries.

        For a node without a listener for other nodes the markers are written directly, without a
        request.

        Raises:
            OSError: it cannot be reached, or the connection ended; TimeoutError is one.
            Malformed: its answer cannot be read.
        """
        other = self._nodes.get(node_id)
        if other is None or not other.runs:
            raise ConnectionError(f"node {node_id} is not there")
        if other.between_nodes is None:
            return [_appended(other, ending, partition) for ending, partition in entries]
        timeout_ms = self._config["request.timeout.ms"]
        self._sent += 1
        number = self._sent  # other requests may be sent before the answer comes
        frame = request_frame(
            ApiKey.WRITE_TXN_MARKERS,
            _VERSION,
            number,
            f"broker-{self._node_id}-txn-marker-sender",
            {"markers": _markers(entries)},
        )
        try:
            async with within_ms(self._clock.live, timeout_ms):
                answer = await self._answer(node_id, other.between_nodes, other, frame)
            body = read_answer(ApiKey.WRITE_TXN_MARKERS, _VERSION, number, answer)
        except BaseException:
            self._drop(node_id)
            raise
        codes = {
            (marker.producer_id, topic.name, partition.partition_index): partition.error_code
            for marker in body.markers
            for topic in marker.topics
            for partition in topic.partitions
        }
        return [_code(codes, ending, partition) for ending, partition in entries]

    def close(self) -> None:
        """Close all connections."""
        for node_id in list(self._connections):
            self._drop(node_id)

    async def _answer(
        self, node_id: int, address: tuple[str, int], other: OtherNode, frame: bytearray
    ) -> bytes:
        connection = self._connections.get(node_id)
        if connection is None or connection.address != address or not connection.is_open:
            self._drop(node_id)
            connection = self._connections[node_id] = await self._connected(address, other)
        connection.writer.write(frame)
        try:
            size = int.from_bytes(await connection.reader.readexactly(4), "big")
            if size > _ANSWER_LIMIT_BYTES:
                raise ConnectionError(f"an answer of {size} bytes")
            return await connection.reader.readexactly(size)
        except asyncio.IncompleteReadError:
            raise ConnectionError("the connection was closed") from None

    async def _connected(self, address: tuple[str, int], other: OtherNode) -> _Connection:
        """Connect; the local address is put into `peers` before the other node accepts."""
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        end = socket.socket(family, socket.SOCK_STREAM)
        try:
            end.setblocking(False)
            end.bind((address[0], 0))  # the other node is on this machine, under this address
            peer = "{}:{}".format(*end.getsockname()[:2])
            self._peers.add(peer)
            try:
                await asyncio.get_running_loop().sock_connect(end, address)
                context = other.between_nodes_tls()
                reader, writer = await asyncio.open_connection(
                    sock=end, ssl=context, server_hostname=None if context is None else address[0]
                )
            except BaseException:
                self._peers.discard(peer)
                raise
        except BaseException:
            end.close()
            raise
        return _Connection(address, peer, reader, writer)

    def _drop(self, node_id: int) -> None:
        connection = self._connections.pop(node_id, None)
        if connection is not None:
            self._peers.discard(connection.peer)  # the other node may not have accepted it
            with suppress(OSError, RuntimeError):
                connection.writer.close()


def _appended(node: OtherNode, ending: Ending, partition: Partition) -> Code:
    effect = ending.effect
    try:
        log = markers.append(
            node,
            partition,
            effect.transaction.producer,
            commit=effect.commit,
            coordinator_epoch=effect.coordinator_epoch,
        )
    except Refused as refused:
        return refused.code
    ending.logs.append(log)
    return Code.NONE


def _markers(entries: Sequence[Entry]) -> list[WritableTxnMarkerFields]:
    """One marker for each transaction, with its partitions for this node."""
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


def _code(codes: dict[tuple[int, str, int], int], ending: Ending, partition: Partition) -> Code:
    """The answer to a marker; a marker without an answer is sent again."""
    producer_id = ending.effect.transaction.producer_id
    code = codes.get((producer_id, *partition))
    return Code.UNKNOWN_SERVER_ERROR if code is None else Code(code)
