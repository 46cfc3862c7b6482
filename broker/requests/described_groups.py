"""What the descriptions of consumer groups, share groups and Streams groups have in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar, cast
from uuid import UUID

from ...protocol.errors import Code, Refused
from .authorization import AclResource, Operation, authorized_operations, may, must
from .context import Context

if TYPE_CHECKING:
    from ...protocol.api_types.consumer_group_describe import (
        ConsumerGroupDescribeRequest,
        TopicPartitions,
    )
    from ...protocol.api_types.share_group_describe import ShareGroupDescribeRequest
    from ...protocol.api_types.streams_group_describe import StreamsGroupDescribeRequest
    from ..node import Node

    DescribeRequest = (
        ConsumerGroupDescribeRequest | ShareGroupDescribeRequest | StreamsGroupDescribeRequest
    )


Described = TypeVar("Described")
"""A described group in the answer of one of the APIs."""


async def describe_each(
    node: Node,
    context: Context,
    request: DescribeRequest,
    check_enabled: Callable[[Node], None],
    describe: Callable[[Node, Context, str], Awaitable[Described]],
) -> list[Described]:
    """Describe the groups of a request, in its order.

    Args:
        check_enabled: raises Refused if the broker has no groups of this kind.
        describe: describes a group; raises Refused, which becomes its answer.
    """
    groups: list[Described] = []
    async for group_id in context.turns.each(request.group_ids):
        try:
            check_enabled(node)
            must(node, context, Operation.DESCRIBE, AclResource.GROUP, group_id)
            answer = await describe(node, context, group_id)
        except Refused as refused:
            answer = cast("Described", _refusal(group_id, refused))
        else:
            if request.include_authorized_operations:
                bits = operation_bits(node, context, group_id)
                cast("dict[str, object]", answer)["authorized_operations"] = bits
        groups.append(answer)
    return groups


def _refusal(group_id: str, refused: Refused) -> dict[str, object]:
    return {
        "group_id": group_id,
        "error_code": refused.code,
        "error_message": refused.why or None,
        "group_state": "",
        "group_epoch": 0,
        "assignment_epoch": 0,
        "assignor_name": "",
        "members": [],
    }


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
