"""WriteTxnMarkers (27), versions 1-2: append commit or abort markers to partitions.

1    flexible encoding; version 0 is gone since Kafka 4.0
2    the version of the transaction: from 2 on its marker has a raised epoch (KIP-1228)

Coordinators send it to the leaders of partitions; so does `kafka-transactions.sh abort`, which ends
a hanging transaction on one partition without its coordinator. A marker for a producer that is
unknown to the partition is written too. Each partition has its own result, grouped by producer id;
a marker without partitions has no result. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from ....coordinator.outcome import Producer
from ....metadata.catalog import CONSUMER_OFFSETS
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ....storage.log import PartitionLog
from ...requests.api import serves
from ...requests.context import Context
from ...runtime.markers import markers

if TYPE_CHECKING:
    from ....protocol.api_types.write_txn_markers import (
        WritableTxnMarker,
        WritableTxnMarkerPartitionResult,
        WritableTxnMarkerResult,
        WriteTxnMarkersRequest,
        WriteTxnMarkersResponse,
    )
    from ...node import Node


_NO_PRODUCER: Final = -1
_RAISED_EPOCHS_SINCE: Final = 2
Results: TypeAlias = "dict[int, dict[str, dict[int, WritableTxnMarkerPartitionResult]]]"
"""Answers by producer id, topic and partition."""


@serves(ApiKey.WRITE_TXN_MARKERS, versions=(1, 2), guard="transactions.write_txn_markers")
async def write_txn_markers(
    node: Node, context: Context, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    unflushed: list[tuple[PartitionLog, WritableTxnMarkerPartitionResult]] = []
    # The answer has the last of two markers for one partition.
    results: Results = {}
    for marker in request.markers:
        if _lacks_a_producer(node, marker):
            return {"markers": _all_refused(request)}
        async for topic in context.turns.each(marker.topics):
            async for index in context.turns.each(topic.partition_indexes):
                topics = results.setdefault(marker.producer_id, {})
                answer = _appended(node, marker, (topic.name, index), unflushed)
                topics.setdefault(topic.name, {})[index] = answer
    # A coordinator forgets the transaction once it gets a successful answer.
    flushing = [(node.flushes.flushed(log), partition) for log, partition in unflushed]
    for flushed, partition in flushing:
        refused = await flushed
        if refused is not None:
            partition["error_code"] = refused.code
    return {"markers": _answers(results)}


def _answers(results: Results) -> list[WritableTxnMarkerResult]:
    return [
        {
            "producer_id": producer_id,
            "topics": [
                {"name": name, "partitions": [*partitions.values()]}
                for name, partitions in topics.items()
            ],
        }
        for producer_id, topics in results.items()
    ]


def _lacks_a_producer(node: Node, marker: WritableTxnMarker) -> bool:
    """Whether a marker that would be written has no producer: Kafka then refuses all markers."""
    return _NO_PRODUCER in (marker.producer_id, marker.producer_epoch) and any(
        topic.name != CONSUMER_OFFSETS and _exists(node, topic.name, index)
        for topic in marker.topics
        for index in topic.partition_indexes
    )


def _all_refused(request: WriteTxnMarkersRequest) -> list[WritableTxnMarkerResult]:
    """An error for each marker; of two markers of one producer the answer has the last."""
    results: Results = {}
    for marker in request.markers:
        topics = results[marker.producer_id] = {}
        for topic in marker.topics:
            for index in topic.partition_indexes:
                refused: WritableTxnMarkerPartitionResult = {
                    "partition_index": index,
                    "error_code": Code.UNKNOWN_SERVER_ERROR,
                }
                topics.setdefault(topic.name, {})[index] = refused
    return _answers(results)


def _exists(node: Node, topic: str, index: int) -> bool:
    # The metadata log is not a topic here.
    return topic in node.catalog.topics and node.open_log_of(topic, index) is not None


def _appended(
    node: Node,
    marker: WritableTxnMarker,
    topic_partition: tuple[str, int],
    unflushed: list[tuple[PartitionLog, WritableTxnMarkerPartitionResult]],
) -> WritableTxnMarkerPartitionResult:
    partition: WritableTxnMarkerPartitionResult = {
        "partition_index": topic_partition[1],
        "error_code": Code.NONE,
    }
    if not _exists(node, *topic_partition):
        return {**partition, "error_code": Code.UNKNOWN_TOPIC_OR_PARTITION}
    if marker.producer_id < 0 or marker.producer_epoch < 0 or marker.transaction_version == -1:
        return {**partition, "error_code": Code.UNKNOWN_SERVER_ERROR}
    try:
        log = markers.append(
            node,
            topic_partition,
            Producer(marker.producer_id, marker.producer_epoch),
            commit=marker.transaction_result,
            coordinator_epoch=marker.coordinator_epoch,
            raises_epoch=marker.transaction_version >= _RAISED_EPOCHS_SINCE,
        )
    except Refused as refused:
        return {**partition, "error_code": refused.code}
    if log.awaits_flush:
        unflushed.append((log, partition))
    return partition
