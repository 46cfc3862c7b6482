"""AlterPartitionReassignments (45), versions 0-1: change the replicas of partitions (KIP-455).

0     replicas of partitions, or null to cancel a pending reassignment
1     whether the number of replicas may change (KIP-860)

The answer of version 1 repeats that choice if a reassignment was attempted.
Skipped: a timeout above 0 has no effect, because the change takes no time; with one of 0 or below
the answer is REQUEST_TIMED_OUT without an attempt, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....metadata.reassignments import reassigned
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest,
        AlterPartitionReassignmentsResponse,
        ReassignablePartitionResponse,
        ReassignableTopicResponse,
    )
    from ...node import Node

_RESIZING_SINCE: Final = 1


@serves(
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    versions=(0, 1),
    guard="administration.alter_partition_reassignments",
)
async def alter_partition_reassignments(
    node: Node, context: Context, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    late = request.timeout_ms <= 0
    may_resize = True
    if context.version >= _RESIZING_SINCE:
        may_resize = request.allow_replication_factor_change
    responses: list[ReassignableTopicResponse] = []
    async for topic in context.turns.each(request.topics):
        answers: list[ReassignablePartitionResponse] = []
        async for partition in context.turns.each(topic.partitions):
            error, why = Code.NONE, None
            try:
                if late:
                    raise Refused(Code.REQUEST_TIMED_OUT)
                node.controller.change_partitions(
                    reassigned(
                        node.catalog,
                        topic.name,
                        partition.partition_index,
                        partition.replicas,
                        may_resize=may_resize,
                    )
                )
            except Refused as refused:
                error, why = refused.code, refused.why
            answers.append(
                {
                    "partition_index": partition.partition_index,
                    "error_code": error,
                    "error_message": why,
                }
            )
        responses.append({"name": topic.name, "partitions": answers})
    await node.decided()
    return {
        "allow_replication_factor_change": may_resize or late or not responses,
        "error_code": Code.REQUEST_TIMED_OUT if late and responses else Code.NONE,
        "error_message": None if responses else "",
        "responses": responses,
    }
