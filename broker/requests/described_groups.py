"""What the descriptions of consumer groups, share groups and Streams groups have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from ...protocol.errors import Code, Refused
from .authorization import AclResource, Operation, authorized_operations, may
from .context import Context

if TYPE_CHECKING:
    from ...protocol.api_types.consumer_group_describe import TopicPartitions
    from ..node import Node


def named_partitions(
    node: Node, assignment: Mapping[UUID, Collection[int]]
) -> list[TopicPartitions]:
    """An assignment without deleted topics, which have no name any more."""
    named: list[TopicPartitions] = []
    for topic_id, indexes in assignment.items():
        topic = node.catalog.topic_by_id(topic_id)
        if topic is not None:
            named.append(
                {"topic_id": topic_id, "topic_name": topic.name, "partitions": sorted(indexes)}
            )
    return named


async def check_topics(node: Node, context: Context, names: Iterable[str], why: str) -> None:
    """Refuse a description with topics that the client may not describe.

    Args:
        why: for the answer.

    Raises:
        Refused: TOPIC_AUTHORIZATION_FAILED.
    """
    async for name in context.turns.each(names):
        if not may(node, context, Operation.DESCRIBE, AclResource.TOPIC, name):
            raise Refused(Code.TOPIC_AUTHORIZATION_FAILED, why)


def operation_bits(node: Node, context: Context, group_id: str) -> int:
    """The operations that the client may use on a group, a bit each."""
    allowed = authorized_operations(node, context, AclResource.GROUP, group_id)
    return sum(1 << operation for operation in allowed)
