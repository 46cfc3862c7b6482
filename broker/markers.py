"""Carries out `WriteMarkers`: a control batch into every partition of a decided transaction.

It runs in the turn of the event loop in which the decision was made, so that the next request
never meets a transaction without its markers (Kafka answers CONCURRENT_TRANSACTIONS until then).
Only a partition whose storage fails keeps it prepared; it is tried again until it works.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from ..coordinator.outcome import Producer
from ..coordinator.transaction_states import Partition, WriteMarkers
from ..coordinator.transactions import Transactions
from ..protocol.control import marker
from ..protocol.errors import Code, Refused
from ..storage.catalog import CONSUMER_OFFSETS
from ..storage.log import PartitionLog
from .logs import Log
from .shard import Shard

if TYPE_CHECKING:
    from .node import Node

RETRY_S: Final = 1.0
# The partition has seen a later epoch, so the transaction has ended there already: its marker came
# another way (WriteTxnMarkers by an administrator). Waiting would keep the coordinator for ever.
_ENDED_OTHERWISE: Final = frozenset(
    {Code.INVALID_PRODUCER_EPOCH, Code.TRANSACTION_COORDINATOR_FENCED}
)

_log = Log("markers")


def write(node: Node, shard: Shard[Transactions], effect: WriteMarkers) -> None:
    """Write the markers of a transaction, then tell its coordinator that it is complete."""
    _write(node, shard, effect, effect.transaction.partitions)


def append(
    node: Node,
    place: Partition,
    producer: Producer,
    *,
    commit: bool,
    coordinator_epoch: int,
) -> None:
    """Append one marker; on `__consumer_offsets` it also settles the group's pending offsets.

    Raises:
        Refused: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, INVALID_PRODUCER_EPOCH,
            TRANSACTION_COORDINATOR_FENCED, KAFKA_STORAGE_ERROR.
    """
    log = node.log_of(*place)
    if log is None:
        raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION)
    if not node.leads(*place):
        raise Refused(Code.NOT_LEADER_OR_FOLLOWER)
    try:
        if log.topic == CONSUMER_OFFSETS:
            shard = node.groups.shard_at(log.partition)
            shard.write_marker(producer, commit=commit, coordinator_epoch=coordinator_epoch)
            return
        now_ms = node.clock.now_ms()
        batch = marker(
            commit=commit,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=now_ms,
        )
        log.append_marker(batch, now_ms=now_ms)
    except OSError as error:
        raise Refused(Code.KAFKA_STORAGE_ERROR, str(error)) from error
    node.appended(log)


def _write(
    node: Node,
    shard: Shard[Transactions],
    effect: WriteMarkers,
    partitions: frozenset[Partition],
) -> None:
    left = frozenset(place for place in sorted(partitions) if not _is_written(node, effect, place))
    if left:
        # A restart needs no memory of this: the transaction is still prepared, and begins anew.
        asyncio.get_running_loop().call_later(RETRY_S, _write, node, shard, effect, left)
        return
    logs = (node.log_of(*place) for place in effect.transaction.partitions)
    unflushed = [log for log in logs if log is not None and log.recovery_point < log.flush_asked]
    _complete(node, shard, effect, unflushed)


def _complete(
    node: Node,
    shard: Shard[Transactions],
    effect: WriteMarkers,
    unflushed: list[PartitionLog],
    refused: Refused | None = None,
) -> None:
    """Tell the coordinator, when each marker is on disk that `flush.messages` wants there."""
    if refused is None and unflushed:
        first, *rest = unflushed
        node.flushes.when_flushed(first, partial(_complete, node, shard, effect, rest))
    elif refused is not None or not _is_completed(shard, effect):
        asyncio.get_running_loop().call_later(
            RETRY_S, _write, node, shard, effect, frozenset[Partition]()
        )


def _is_written(node: Node, effect: WriteMarkers, place: Partition) -> bool:
    """Append a marker, unless there is nothing left to append it to; whether that is settled."""
    transaction = effect.transaction
    try:
        append(
            node,
            place,
            transaction.producer,
            commit=effect.commit,
            coordinator_epoch=effect.coordinator_epoch,
        )
    except Refused as refused:
        if refused.code == Code.UNKNOWN_TOPIC_OR_PARTITION:
            return True  # deleted while the transaction was open
        settled = refused.code in _ENDED_OTHERWISE
        _log.warning(
            "a marker was refused",
            transactional_id=transaction.transactional_id,
            topic=place[0],
            partition=place[1],
            reason=str(refused),
            is_tried_again=not settled,
        )
        return settled
    return True


def _is_completed(shard: Shard[Transactions], effect: WriteMarkers) -> bool:
    """Tell the coordinator; whether that is settled."""
    prepared = effect.transaction
    try:
        shard.run_now(lambda machine, now_ms: machine.markers_written(prepared, now_ms=now_ms))
    except Refused as refused:
        return refused.code == Code.NOT_COORDINATOR  # unloaded: whoever loads it next goes on
    return True
