"""ListPartitionReassignments (46), version 0: list the pending reassignments (KIP-455).

Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....metadata.reassignments import is_in_progress
from ....protocol.acls import Operation
from ....protocol.api_keys import ApiKey
from ...requests.api import OnCluster, serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.list_partition_reassignments import (
        ListPartitionReassignmentsRequest,
        ListPartitionReassignmentsResponse,
        OngoingPartitionReassignment,
        OngoingTopicReassignment,
    )
    from ...node import Node


@serves(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=(0, 0), guard=OnCluster(Operation.DESCRIBE))
async def list_partition_reassignments(
    node: Node, context: Context, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    asked = None
    if request.topics is not None:
        asked = {
            (topic.name, index)
            async for topic in context.turns.each(request.topics)
            async for index in context.turns.each(topic.partition_indexes)
        }
    topics: list[OngoingTopicReassignment] = []
    async for topic in context.turns.each([*node.catalog.topics.values()]):
        waiting: list[OngoingPartitionReassignment] = [
            {
                "partition_index": partition.index,
                "replicas": list(partition.replicas),
                "adding_replicas": list(partition.adding_replicas),
                "removing_replicas": list(partition.removing_replicas),
            }
            async for partition in context.turns.each(topic.partitions)
            if is_in_progress(partition)
            and (asked is None or (topic.name, partition.index) in asked)
        ]
        if waiting:
            topics.append({"name": topic.name, "partitions": waiting})
    return {"error_message": None, "topics": topics}
