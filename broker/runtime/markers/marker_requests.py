"""Sends WriteTxnMarkers (27) to other nodes, with one connection and one request at a time each.

This module is imported at the first marker for another node. A request without an answer within
`request.timeout.ms` closes its connection, so that it is not served late, beside its retry.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Final, NamedTuple

from ....client.async_connection import AsyncConnection
from ....coordinator.transactions.states import Partition
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...clock import Clock, within_ms
from . import markers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....protocol.api_types.write_txn_markers import (
        ReceivedWriteTxnMarkersResponse,
        WritableTxnMarkerFields,
    )
    from ...settings.config import BrokerConfig
    from .marker_channel import Ending, Entry
    from .partitions import OtherNode

_ANSWER_LIMIT_BYTES: Final = 64 << 20


class _Open(NamedTuple):
    """A connection to another node.

    Attributes:
        peer: the local address, as the other node sees it.
    """

    address: tuple[str, int]
    peer: str
    connection: AsyncConnection


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
        self._connections: dict[int, _Open] = {}

    async def send(self, node_id: int, entries: Sequence[Entry]) -> list[Code]:
        """Send markers to a node; return its answers in the order of the entries.

        For a node without a listener for other nodes the markers are written directly, without a
        request.

        Raises:
            OSError: it cannot be reached, its answer cannot be read, or the connection ended;
                TimeoutError is one.
        """
        other = self._nodes.get(node_id)
        if other is None or not other.runs:
            raise ConnectionError(f"node {node_id} is not there")
        if other.between_nodes is None:
            return [_appended(other, ending, partition) for ending, partition in entries]
        timeout_ms = self._config["request.timeout.ms"]
        try:
            async with within_ms(self._clock.live, timeout_ms):
                body = await self._answer(node_id, other.between_nodes, other, entries)
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
        self, node_id: int, address: tuple[str, int], other: OtherNode, entries: Sequence[Entry]
    ) -> ReceivedWriteTxnMarkersResponse:
        known = self._connections.get(node_id)
        if known is None or known.address != address or not known.connection.is_open:
            self._drop(node_id)
            known = self._connections[node_id] = await self._connect(address, other)
        body = {"markers": _markers(entries)}
        answer: ReceivedWriteTxnMarkersResponse = await known.connection.ask(
            ApiKey.WRITE_TXN_MARKERS, body
        )
        return answer

    async def _connect(self, address: tuple[str, int], other: OtherNode) -> _Open:
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
        sender = f"broker-{self._node_id}-txn-marker-sender"
        return _Open(address, peer, AsyncConnection(reader, writer, sender, _ANSWER_LIMIT_BYTES))

    def _drop(self, node_id: int) -> None:
        known = self._connections.pop(node_id, None)
        if known is not None:
            self._peers.discard(known.peer)  # the other node may not have accepted it
            known.connection.close()


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
