"""DescribeTopicPartitions (75), version 0: describe topics by name, in pages.

An answer has at most as many partitions as the client and max.request.partition.size.limit allow;
its cursor has the first partition of the next page (KIP-966). An empty list means all topics.

Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....metadata.catalog import INTERNAL_TOPICS, Partition, Topic
from ....metadata.topic_names import is_legal_topic_name
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.cluster_description import TOPIC_OPERATION_BITS, offline_replicas
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.describe_topic_partitions import (
        DescribeTopicPartitionsRequest,
        DescribeTopicPartitionsResponse,
        DescribeTopicPartitionsResponseTopic,
    )
    from ....protocol.api_types.describe_topic_partitions import (
        DescribeTopicPartitionsRequestCursor as Cursor,
    )
    from ....protocol.api_types.describe_topic_partitions import (
        DescribeTopicPartitionsResponseCursor as NextCursor,
    )
    from ...node import Node


@serves(
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    versions=(0, 0),
    guard="clients.describe_topic_partitions",
)
async def describe_topic_partitions(
    node: Node, context: Context, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    try:
        names = await _names(node, context, request)
    except Refused as refused:
        return {
            "topics": [
                {
                    "error_code": refused.code,
                    "name": topic.name,
                    "topic_id": None,
                    "partitions": [],
                }
                for topic in request.topics
            ]
        }
    limit = min(node.config["max.request.partition.size.limit"], request.response_partition_limit)
    return await _portion(node, context, names, request.cursor, limit=max(limit, 1))


async def _names(
    node: Node, context: Context, request: DescribeTopicPartitionsRequest
) -> list[str]:
    """The topics from the cursor on; raises Refused for the whole request."""
    asked = {topic.name async for topic in context.turns.each(request.topics)}
    cursor = request.cursor
    first = "" if cursor is None else cursor.topic_name
    if cursor is not None and ((asked and first not in asked) or cursor.partition_index < 0):
        raise Refused(Code.INVALID_REQUEST)
    if "" in asked and cursor is None:
        raise Refused(Code.UNKNOWN_SERVER_ERROR)  # Kafka mistakes the name for a cursor, and fails
    # Java sorts by UTF-16 units, which for legal names is the order of bytes.
    known = context.turns.each([*(asked or node.catalog.topics)])
    return sorted([name async for name in known if name >= first])


async def _portion(
    node: Node, context: Context, names: list[str], cursor: Cursor | None, *, limit: int
) -> DescribeTopicPartitionsResponse:
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    left = limit
    async for name in context.turns.each(names):
        if left == 0:
            return {"topics": topics, "next_cursor": _cursor(name, 0)}
        topic = node.catalog.topics.get(name)
        if topic is None:
            legal = is_legal_topic_name(name)
            code = Code.UNKNOWN_TOPIC_OR_PARTITION if legal else Code.INVALID_TOPIC_EXCEPTION
            topics.append(
                {**_error(name, code), "topic_authorized_operations": TOPIC_OPERATION_BITS}
            )
            continue
        start = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        page = topic.partitions[start : start + left]
        topics.append(await _topic(node, context, topic, page))
        left -= len(page)
        if start + len(page) < len(topic.partitions):
            return {"topics": topics, "next_cursor": _cursor(name, start + len(page))}
    return {"topics": topics, "next_cursor": None}


def _cursor(name: str, partition_index: int) -> NextCursor:
    return {"topic_name": name, "partition_index": partition_index}


def _error(name: str, code: Code) -> DescribeTopicPartitionsResponseTopic:
    return {
        "error_code": code,
        "name": name,
        "topic_id": None,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": [],
    }


async def _topic(
    node: Node, context: Context, topic: Topic, partitions: tuple[Partition, ...]
) -> DescribeTopicPartitionsResponseTopic:
    return {
        "error_code": Code.NONE,
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.is_internal,
        "topic_authorized_operations": TOPIC_OPERATION_BITS,
        "partitions": [
            {
                "error_code": Code.NONE,
                "partition_index": partition.index,
                "leader_id": partition.leader_id,
                "leader_epoch": partition.leader_epoch,
                "replica_nodes": list(partition.replicas),
                "isr_nodes": list(partition.isr),
                "eligible_leader_replicas": list(partition.eligible_leader_replicas),
                "last_known_elr": list(partition.last_known_elr),
                "offline_replicas": offline_replicas(node, partition.replicas),
            }
            async for partition in context.turns.each(partitions)
        ],
    }
