"""A broker as its own marker channel sees it: who leads what, its logs, its way to other nodes.

`broker/runtime/marker_channel.py` is driven as it is; what is simulated is the connection between
nodes, on which requests and answers get lost or late, and end with their connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ottla.broker.runtime import markers
from ottla.broker.runtime.marker_channel import Entry, MarkerChannel
from ottla.coordinator.transactions.states import Partition
from ottla.metadata.catalog import CONSUMER_OFFSETS
from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog

from .network import LOST, MARKERS, Crashed

if TYPE_CHECKING:
    from .cluster import Cluster

_NOBODY = -1


class _Partition:
    def __init__(self, cluster: Cluster, place: Partition) -> None:
        self._hosted = cluster.hosted[place]

    @property
    def leader_id(self) -> int:
        return self._hosted.leader if self._hosted.log is not None else _NOBODY


class _Broker:
    def __init__(self, cluster: Cluster, number: int) -> None:
        self._cluster = cluster
        self._number = number

    @property
    def is_fenced(self) -> bool:
        return not self._cluster.brokers[self._number].is_alive


class SimulatedNode:
    """One life of a broker: what MarkerChannel and `markers.append` ask of a Node."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.node_id = number
        self._cluster = cluster
        self._process = cluster.brokers[number]
        self.clock = cluster.clock
        self.flushes = cluster.flushes
        self.cluster = SimpleNamespace(check_in_sync=lambda log: None)
        self.config: Mapping[str, Any] = {}
        self.groups = SimpleNamespace(shard_at=self._group_shard)
        self.catalog = SimpleNamespace(
            topics=_topics(cluster),
            brokers={each: _Broker(cluster, each) for each in range(len(cluster.brokers))},
        )
        channel: Any = MarkerChannel(self)  # type: ignore[arg-type]
        channel._requests = _Requests(cluster, self)
        self.markers: MarkerChannel = channel

    def led_log(self, topic: str, index: int) -> PartitionLog:
        hosted = self._cluster.hosted[topic, index]
        if hosted.leader != self.node_id:
            raise Refused(Code.NOT_LEADER_OR_FOLLOWER)
        hosted.check_marker()  # only markers are appended here
        return hosted.open_log

    def appended(self, log: PartitionLog) -> None:
        """Nobody waits for it here."""

    def _group_shard(self, index: int) -> Any:
        hosted = self._cluster.hosted[CONSUMER_OFFSETS, index]
        if hosted.leader != self.node_id or hosted.shard is None:
            raise Refused(Code.NOT_COORDINATOR)
        return hosted.shard


def _topics(cluster: Cluster) -> dict[str, Any]:
    topics: dict[str, Any] = {}
    for place in sorted(cluster.hosted):
        known = topics.setdefault(place[0], SimpleNamespace(partitions=[]))
        known.partitions.append(_Partition(cluster, place))
    return topics


class _Requests:
    """WriteTxnMarkers to other nodes, instead of broker/runtime/marker_requests.py."""

    def __init__(self, cluster: Cluster, node: SimulatedNode) -> None:
        self._cluster = cluster
        self._node = node
        self._process = cluster.brokers[node.node_id]

    def close(self) -> None:
        """There are no connections to be closed."""

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
            (ending.effect.transaction.transactional_id, *place) for ending, place in entries
        ]
        self._cluster.network.call(
            MARKERS,
            self._arrive(node_id, list(entries)),
            details=(self._node.node_id, node_id, details),
            only_while=lambda: not answer.done(),  # the connection ends with the waiting
        )(resume)
        return answer

    def _arrive(
        self, node_id: int, entries: list[Entry]
    ) -> Callable[[Callable[[Any], None]], None]:
        """What the node does when it gets them: as broker/handlers/write_txn_markers.py."""

        def request(respond: Callable[[Any], None]) -> None:
            cluster = self._cluster
            process = cluster.brokers[node_id]
            if not process.is_alive:
                return
            node: Any = cluster.nodes[node_id]
            codes: list[Code] = []
            logs: list[PartitionLog] = []
            for ending, place in entries:
                effect = ending.effect
                try:
                    with cluster.dying():
                        log = markers.append(
                            node, place, effect.transaction.producer,
                            commit=effect.commit, coordinator_epoch=effect.coordinator_epoch,
                        )  # fmt: skip
                except Refused as refused:
                    codes.append(refused.code)
                except Crashed:
                    return
                else:
                    codes.append(Code.NONE)
                    logs.append(log)
            for (_, place), code in zip(entries, codes, strict=True):
                if code is Code.TRANSACTION_COORDINATOR_FENCED:
                    cluster.scheduler.note("coordinator fenced", *place)
            cluster.when_flushed(process, tuple(logs), lambda: respond(codes))

        return request
