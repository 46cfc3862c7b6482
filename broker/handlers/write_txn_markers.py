"""WriteTxnMarkers (27), version 1: append commit or abort markers to partitions.

1    flexible encoding; version 0 is gone since Kafka 4.0

From coordinator to leader between Kafka's brokers, and from `kafka-transactions.sh abort`, which
ends a hanging transaction on one partition behind its coordinator's back. A marker of a producer
the partition does not know is written too. Each partition has an answer of its own.
Skipped: version 2 (KIP-1228), which Kafka 4.1 does not offer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...coordinator.outcome import Producer
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from .. import markers
from ..context import Context
from ..dispatch import serves

if TYPE_CHECKING:
    from ..node import Node


@serves(ApiKey.WRITE_TXN_MARKERS, versions=(1, 1))
async def write_txn_markers(node: Node, context: Context, request: Any) -> dict[str, Any]:
    return {
        "markers": [
            {
                "producer_id": marker.producer_id,
                "topics": [
                    {
                        "name": topic.name,
                        "partitions": [
                            {
                                "partition_index": index,
                                "error_code": _append(node, marker, (topic.name, index)),
                            }
                            for index in topic.partition_indexes
                        ],
                    }
                    for topic in marker.topics
                ],
            }
            for marker in request.markers
            if marker.topics  # Kafka leaves out what names no partition
        ]
    }


def _append(node: Node, marker: Any, place: tuple[str, int]) -> Code:
    if marker.producer_id < 0 or marker.producer_epoch < 0:
        return Code.UNKNOWN_SERVER_ERROR  # as Kafka: EndTransactionMarker takes no such producer
    try:
        markers.append(
            node,
            place,
            Producer(marker.producer_id, marker.producer_epoch),
            commit=marker.transaction_result,
            coordinator_epoch=marker.coordinator_epoch,
        )
    except Refused as refused:
        return refused.code
    return Code.NONE
