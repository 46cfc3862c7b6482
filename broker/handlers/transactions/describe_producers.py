"""DescribeProducers (61), version 0: the active producers of partitions (KIP-664).

It serves to find hanging transactions, whose first offset is old.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....metadata.topic_names import check_topic_name
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.describe_producers import (
        DescribeProducersRequest,
        DescribeProducersResponse,
        PartitionResponse,
    )
    from ...node import Node


@serves(ApiKey.DESCRIBE_PRODUCERS, versions=(0, 0), guard="transactions.describe_producers")
async def describe_producers(
    node: Node, context: Context, request: DescribeProducersRequest
) -> DescribeProducersResponse:
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    await _described(node, context, (topic.name, index))
                    async for index in context.turns.each(topic.partition_indexes)
                ],
            }
            async for topic in context.turns.each(request.topics)
        ]
    }


async def _described(
    node: Node, context: Context, topic_partition: tuple[str, int]
) -> PartitionResponse:
    try:
        check_topic_name(topic_partition[0])
        if topic_partition[0] not in node.catalog.topics:
            raise Refused(
                Code.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
            )
        log = node.open_led_log(*topic_partition)
    except Refused as refused:
        return {
            "partition_index": topic_partition[1],
            "error_code": refused.code,
            "error_message": refused.why,
            "active_producers": [],
        }
    return {
        "partition_index": topic_partition[1],
        "error_code": Code.NONE,
        "active_producers": [
            {
                "producer_id": state.producer_id,
                "producer_epoch": state.producer_epoch,
                "last_sequence": state.last_sequence,
                "last_timestamp": state.last_timestamp_ms,
                "coordinator_epoch": state.coordinator_epoch,
                "current_txn_start_offset": state.transaction_first_offset,
            }
            async for state in context.turns.each([*log.producers.producers()])
        ],
    }
