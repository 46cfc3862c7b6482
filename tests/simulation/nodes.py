"""A node for the broker's own marker channel: leaders, logs and connections to other nodes.

`broker/runtime/markers/marker_channel.py` is the real one. The connections between nodes are
simulated. They lose and delay requests and answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ottla.broker.event_stream import Events
from ottla.broker.runtime.markers import markers
from ottla.broker.runtime.markers.marker_channel import Entry, MarkerChannel
from ottla.broker.runtime.shards.shard import Shard
from ottla.metadata.catalog import CONSUMER_OFFSETS
from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog

from .network import LOST, MARKERS, Crashed

if TYPE_CHECKING:
    from .cluster import Cluster

_NO_LEADER: Final = -1


class SimulatedNode:
    """One process of a broker: its partitions, and the marker channel of its coordinators."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.events = Events()
        self.node_id = number
        self._cluster = cluster
        self.clock = cluster.clock
        self.markers = MarkerChannel(self, cluster.flushes, lambda: _Requests(cluster, number))

    def leader_of(self, topic: str, partition: int) -> int | None:
        hosted = self._cluster.hosted.get((topic, partition))
        if hosted is None:
            return None
        if hosted.log is None:
            return _NO_LEADER
        if hosted.leader != self.node_id and not self._cluster.brokers[hosted.leader].is_alive:
            return _NO_LEADER
        return hosted.leader

    def open_led_log(self, topic: str, partition: int) -> PartitionLog:
        hosted = self._cluster.hosted[topic, partition]
        if hosted.leader != self.node_id:
            raise Refused(Code.NOT_LEADER_OR_FOLLOWER)
        hosted.check_marker()  # the only appends here are markers
        return hosted.open_log

    def check_in_sync(self, log: PartitionLog) -> None:
        """All replicas are in sync."""

    def group_shard_at(self, partition: int) -> Shard[Any]:
        hosted = self._cluster.hosted[CONSUMER_OFFSETS, partition]
        if hosted.leader != self.node_id or hosted.shard is None:
            raise Refused(Code.NOT_COORDINATOR)
        return hosted.shard

    def wake_fetches(self, topic: str, partition: int) -> None:
        """No fetch waits here."""


class _Requests:
    """WriteTxnMarkers to other nodes, instead of broker/runtime/markers/marker_requests.py."""

    def __init__(self, cluster: Cluster, node_id: int) -> None:
        self._cluster = cluster
        self._node_id = node_id
        self._process = cluster.brokers[node_id]

    def close(self) -> None:
        """There are no connections to close."""

    def send(self, node_id: int, entries: Sequence[Entry]) -> asyncio.Future[list[Code]]:
        answer: asyncio.Future[list[Code]] = asyncio.get_running_loop().create_future()

        def resume(result: Any) -> None:
            if not self._process.is_alive:
                return
            if result is LOST:
                answer.set_exception(TimeoutError("no answer in time"))
            else:
                answer.set_result(result)

        details = [
            (ending.effect.transaction.transactional_id, *partition)
            for ending, partition in entries
        ]
        self._cluster.network.call(
            MARKERS,
            self._arrive(node_id, list(entries)),
            details=(self._node_id, node_id, details),
            only_while=lambda: not answer.done(),  # the connection closes after the timeout
        )(resume)
        return answer

    def _arrive(
        self, node_id: int, entries: list[Entry]
    ) -> Callable[[Callable[[Any], None]], None]:
        """The work of the receiving node, as in `write_txn_markers`."""

        def request(respond: Callable[[Any], None]) -> None:
            cluster = self._cluster
            process = cluster.brokers[node_id]
            if not process.is_alive:
                return
            node = cluster.nodes[node_id]
            codes: list[Code] = []
            logs: list[PartitionLog] = []
            for ending, partition in entries:
                effect = ending.effect
                try:
                    with cluster.dying():
                        log = markers.append(
                            node, partition, effect.transaction.producer,
                            commit=effect.commit, coordinator_epoch=effect.coordinator_epoch,
                        )  # fmt: skip
                except Refused as refused:
                    codes.append(refused.code)
                except Crashed:
                    return
                else:
                    codes.append(Code.NONE)
                    logs.append(log)
            for (_, partition), code in zip(entries, codes, strict=True):
                if code is Code.TRANSACTION_COORDINATOR_FENCED:
                    cluster.scheduler.note("coordinator fenced", *partition)
            cluster.when_flushed(process, tuple(logs), lambda: respond(codes))

        return request
