"""Appends a transaction's marker to a partition that this node leads.

There are two callers: the node's own marker channel, in the same turn of the event loop as the
decision, and WriteTxnMarkers from another node or an administrator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....coordinator.outcome import Producer
from ....coordinator.transactions.states import Partition
from ....metadata.catalog import CONSUMER_OFFSETS
from ....protocol.control import marker_for_all
from ....protocol.errors import Code, Refused
from ....storage.log import PartitionLog

if TYPE_CHECKING:
    from .partitions import Partitions

# Senders of markers expect errors of leaders, not of coordinators (KafkaApis, WriteTxnMarkers).
_NO_LEADER_YET: Final = (
    Code.COORDINATOR_NOT_AVAILABLE,
    Code.COORDINATOR_LOAD_IN_PROGRESS,
    Code.NOT_COORDINATOR,
)


def append(
    partitions: Partitions,
    partition: Partition,
    producer: Producer,
    *,
    commit: bool,
    coordinator_epoch: int,
    raises_epoch: bool = False,
) -> PartitionLog:
    """Append one marker; on `__consumer_offsets` it also ends the group's pending offsets.

    Args:
        partitions: of the node that leads the partition.
        partition: topic and partition index.
        raises_epoch: an open transaction ends only by a higher epoch than its own (KIP-1228).

    Returns:
        the log, which may need a flush before the marker is acknowledged.

    Raises:
        Refused: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS,
            INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED, KAFKA_STORAGE_ERROR.
    """
    log = partitions.open_led_log(*partition)
    if log.config.min_insync_replicas > 1:
        partitions.check_in_sync(log)
    if raises_epoch:
        log.producers.check_raised_epoch(producer.producer_id, producer.producer_epoch)
    try:
        if log.topic == CONSUMER_OFFSETS:
            _end_on_offsets_log(partitions, log, producer, commit, coordinator_epoch)
        else:
            now_ms = partitions.clock.now_ms()
            batch, content, header = marker_for_all(
                commit=commit,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                coordinator_epoch=coordinator_epoch,
                timestamp_ms=now_ms,
            )
            log.append_marker(bytearray(batch), content, header, now_ms=now_ms)
    except OSError as error:
        raise Refused(Code.KAFKA_STORAGE_ERROR, str(error)) from error
    partitions.wake_fetches(*partition)
    if partitions.events.tell is not None:
        from ...events import MarkerAppended

        end = log.log_end_offset
        appended = MarkerAppended(*partition, producer, commit, coordinator_epoch, end)
        partitions.events.tell(appended)
    return log


def _end_on_offsets_log(
    partitions: Partitions,
    log: PartitionLog,
    producer: Producer,
    commit: bool,
    coordinator_epoch: int,
) -> None:
    try:
        shard = partitions.group_shard_at(log.partition)
        shard.write_marker(producer, commit=commit, coordinator_epoch=coordinator_epoch)
    except Refused as refused:
        if refused.code in _NO_LEADER_YET:
            raise Refused(Code.NOT_LEADER_OR_FOLLOWER, refused.why) from None
        raise
