"""Delivers markers from a coordinator to the partitions of a transaction, by Kafka's rules.

It sends each marker until the partition answers (TransactionMarkerChannelManager). Some errors stop
it until the coordinator is loaded again (TransactionMarkerRequestCompletionHandler). After the last
marker it reports to the coordinator.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ottla.broker.runtime.shards.shard import Shard
from ottla.coordinator.outcome import Effect
from ottla.coordinator.transactions.coordinator import Transactions
from ottla.coordinator.transactions.states import Partition, WriteMarkers
from ottla.protocol.errors import Code, Refused
from tests.broker.runtime.marker_table import MARKER_ANSWERS, STAYS_PREPARED

from . import requests
from .network import MARKERS, Crashed
from .scheduler import Steps

if TYPE_CHECKING:
    from .cluster import Cluster

_RETRY_MS: Final = 60


def partitions_of(effect: WriteMarkers) -> list[Partition]:
    """The partitions that need a marker."""
    return sorted(effect.transaction.partitions)


def is_settled(result: Any) -> bool:
    """Whether the answer (None: no answer yet) settles a marker."""
    return result is None


def is_complete(left: set[Partition]) -> bool:
    """Whether all markers are settled."""
    return not left


class Channel:
    """The markers of one loaded coordinator.

    Args:
        broker: the coordinator's broker; the channel ends with it.
    """

    def __init__(self, cluster: Cluster, broker: int, coordinator_epoch: int) -> None:
        self._cluster = cluster
        self._process = cluster.brokers[broker]
        self._broker = broker
        self._coordinator_epoch = coordinator_epoch
        self._is_stopped = False
        # The broker writes markers of its own partitions directly, or sends requests for them too.
        self._writes_at_once = cluster.scheduler.random.random() < 0.5

    def stop(self) -> None:
        """Stop, because the coordinator has resigned; requests under way go on."""
        self._is_stopped = True

    def carry_out(self, shard: Shard[Any], effect: Effect) -> None:
        """Begin to write the markers of a transaction."""
        assert isinstance(effect, WriteMarkers)
        partitions = partitions_of(effect)
        left = set(partitions)
        if not partitions:
            self._later(partial(self._complete, shard, effect))
        for partition in partitions:
            steps = self._deliver(shard, effect, partition, left)
            if self._writes_at_once:
                self._cluster.scheduler.spawn(self._process, steps)
            else:
                self._later(partial(self._cluster.scheduler.spawn, self._process, steps))

    def _later(self, event: Any) -> None:
        self._cluster.scheduler.after(0, event)

    def _deliver(
        self,
        shard: Shard[Transactions],
        effect: WriteMarkers,
        partition: Partition,
        left: set[Partition],
    ) -> Steps[None]:
        cluster = self._cluster
        while not self._is_stopped:
            result = yield from self._send(effect, partition, left)
            if is_settled(result):
                left.discard(partition)
                if is_complete(left):
                    self._complete(shard, effect)
                return
            if result is Code.NOT_COORDINATOR:
                result = Code.NOT_LEADER_OR_FOLLOWER  # the answer of the handler of WriteTxnMarkers
            if MARKER_ANSWERS.get(result) is STAYS_PREPARED:
                if result is Code.TRANSACTION_COORDINATOR_FENCED:
                    cluster.scheduler.note(
                        "coordinator fenced", *partition, self._coordinator_epoch
                    )
                return
            yield cluster.scheduler.sleep(_RETRY_MS)

    def _send(self, effect: WriteMarkers, partition: Partition, left: set[Partition]) -> Steps[Any]:
        cluster, known = self._cluster, effect.transaction
        leader = cluster.hosted[partition].leader
        request = cluster.serve(
            leader,
            partition,
            lambda hosted: requests.write_marker(
                cluster, hosted, known.producer, commit=effect.commit,
                coordinator_epoch=effect.coordinator_epoch,
            ),
        )  # fmt: skip
        if self._writes_at_once and leader == self._broker:
            return (yield request)  # a direct call without a network
        return (
            yield cluster.network.call(
                MARKERS,
                request,
                details=(
                    known.transactional_id,
                    known.producer_id,
                    known.producer_epoch,
                    *partition,
                ),
                only_while=lambda: bool(left),  # later ones: see network.py
            )
        )

    def _complete(self, shard: Shard[Transactions], effect: WriteMarkers) -> None:
        cluster = self._cluster
        prepared = effect.transaction
        hosted = cluster.hosted[cluster.coordinator_of(prepared.transactional_id)]
        if not self._process.is_alive or hosted.shard is not shard:
            return
        cluster.scheduler.note(
            "transaction complete", prepared.transactional_id, prepared.state.title
        )
        try:
            cluster.run(
                hosted, lambda machine, now: machine.markers_written(prepared, now_ms=now.wall_ms)
            )
        except Crashed:
            return
        except Refused as refused:
            if refused.code is not Code.NOT_COORDINATOR:
                cluster.scheduler.after(_RETRY_MS, partial(self._complete, shard, effect))
