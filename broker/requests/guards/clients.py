"""Guards of Metadata, DescribeTopicPartitions, FindCoordinator and of requests for offsets.

A client needs DESCRIBE on a topic (READ, WRITE, DELETE and ALTER imply it). Metadata of all topics
omits the others. A topic requested by name gets TOPIC_AUTHORIZATION_FAILED whether it exists or
not. To create a topic, a client needs CREATE on the cluster or on the topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....protocol.acls import CLUSTER_NAME, AclResource, Operation, bits
from ....protocol.errors import Code
from ..authorization import WHY, authorized_operations, may, may_cluster, may_topic
from .guard import Handler, split_allowed

if TYPE_CHECKING:
    from ....protocol.api_types.describe_topic_partitions import (
        DescribeTopicPartitionsRequest,
        DescribeTopicPartitionsResponse,
        DescribeTopicPartitionsResponseTopic,
        TopicRequest,
    )
    from ....protocol.api_types.find_coordinator import (
        Coordinator,
        FindCoordinatorRequest,
        FindCoordinatorResponse,
    )
    from ....protocol.api_types.list_offsets import ListOffsetsRequest, ListOffsetsResponse
    from ....protocol.api_types.metadata import (
        MetadataRequest,
        MetadataRequestTopic,
        MetadataResponse,
        MetadataResponseTopic,
    )
    from ....protocol.api_types.offset_for_leader_epoch import (
        OffsetForLeaderEpochRequest,
        OffsetForLeaderEpochResponse,
    )
    from ...node import Node
    from ..context import Context

_IDS_SINCE: Final = 12
_REFUSED: Final = Code.TOPIC_AUTHORIZATION_FAILED


def _may_describe(node: Node, context: Context, name: str) -> bool:
    return may_topic(node, context, Operation.DESCRIBE, name)


async def metadata(
    node: Node,
    context: Context,
    request: MetadataRequest,
    handle: Handler[MetadataRequest, MetadataResponse],
) -> MetadataResponse:
    refused: list[MetadataResponseTopic] = []
    asked = request.topics
    is_all = asked is None or (context.version == 0 and not asked)
    if asked is not None and not is_all:
        right, wrong = await split_allowed(
            context, asked, lambda topic: _may_see(node, context, topic)
        )
        refused = [_unseen(topic) for topic in wrong]
        if request.allow_auto_topic_creation and node.config["auto.create.topics.enable"]:
            right, wrong = await split_allowed(
                context, right, lambda topic: _may_be_made(node, context, topic.name)
            )
            refused += [_unseen(topic) for topic in wrong]
        request.topics = right
    if not is_all and not request.topics and context.version == 0:
        request.topics, is_none = None, True
    else:
        is_none = False
    body = await handle(node, context, request)
    topics = [] if is_none else body["topics"]
    if is_all:
        topics = [
            topic
            async for topic in context.turns.each(topics)
            if _may_describe(node, context, topic.get("name") or "")
        ]
    async for topic in context.turns.each(topics):
        if topic.get("authorized_operations") is not None:
            may_do = authorized_operations(
                node, context, AclResource.TOPIC, topic.get("name") or ""
            )
            topic["authorized_operations"] = may_do
    body["topics"] = topics + refused
    if body.get("authorized_operations") is not None:
        body["authorized_operations"] = cluster_operations(node, context)
    return body


def _may_see(node: Node, context: Context, topic: MetadataRequestTopic) -> bool:
    """Whether the client may describe a topic, by id or name, or its id is unknown anyway."""
    topic_id = topic.topic_id if context.version >= _IDS_SINCE else None
    if topic_id is not None and topic_id.int:
        known = node.catalog.topic_by_id(topic_id)
        return known is None or _may_describe(node, context, known.name)
    return topic.name is None or _may_describe(node, context, topic.name)


def _may_be_made(node: Node, context: Context, name: str | None) -> bool:
    return (
        name is None
        or name in node.catalog.topics
        or may_cluster(node, context, Operation.CREATE)
        or may_topic(node, context, Operation.CREATE, name)
    )


def _unseen(topic: MetadataRequestTopic) -> MetadataResponseTopic:
    topic_id = topic.topic_id
    if topic_id is not None and topic_id.int:
        return {"error_code": _REFUSED, "name": None, "topic_id": topic_id, "partitions": []}
    return {"error_code": _REFUSED, "name": topic.name, "partitions": []}


def cluster_operations(node: Node, context: Context) -> frozenset[int]:
    """The operations that the client may perform on the cluster; none without DESCRIBE."""
    if not may_cluster(node, context, Operation.DESCRIBE):
        return frozenset()
    return authorized_operations(node, context, AclResource.CLUSTER, CLUSTER_NAME)


async def describe_topic_partitions(
    node: Node,
    context: Context,
    request: DescribeTopicPartitionsRequest,
    handle: Handler[DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse],
) -> DescribeTopicPartitionsResponse:
    asked = request.topics
    refused: list[TopicRequest] = []
    is_all = not asked
    if is_all:
        names = [
            name
            async for name in context.turns.each([*node.catalog.topics])
            if _may_describe(node, context, name)
        ]
        if not names:
            return {"topics": [], "next_cursor": None}
        request.topics = [_Named(name) async for name in context.turns.each(names)]
    else:
        request.topics, refused = await split_allowed(
            context, asked, lambda topic: not topic.name or _may_describe(node, context, topic.name)
        )
    unseen: list[DescribeTopicPartitionsResponseTopic] = [
        {"error_code": _REFUSED, "name": name, "topic_id": None, "partitions": []}
        for name in {topic.name: None async for topic in context.turns.each(refused)}
    ]
    if not request.topics:
        return {"topics": unseen, "next_cursor": None}
    body = await handle(node, context, request)
    async for topic in context.turns.each(body["topics"]):
        if topic.get("topic_authorized_operations") is not None:
            may_do = authorized_operations(
                node, context, AclResource.TOPIC, topic.get("name") or ""
            )
            topic["topic_authorized_operations"] = bits(Operation(each) for each in may_do)
    body["topics"] += unseen
    return body


class _Named:
    """A topic of a request, by name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


async def list_offsets(
    node: Node,
    context: Context,
    request: ListOffsetsRequest,
    handle: Handler[ListOffsetsRequest, ListOffsetsResponse],
) -> ListOffsetsResponse:
    request.topics, refused = await split_allowed(
        context, request.topics, lambda topic: _may_describe(node, context, topic.name)
    )
    body = await handle(node, context, request)
    body["topics"] += [
        {
            "name": topic.name,
            "partitions": [
                {
                    "partition_index": partition.partition_index,
                    "error_code": _REFUSED,
                    "offset": -1,
                    "timestamp": -1,
                    "leader_epoch": -1,
                }
                async for partition in context.turns.each(topic.partitions)
            ],
        }
        async for topic in context.turns.each(refused)
    ]
    return body


async def offset_for_leader_epoch(
    node: Node,
    context: Context,
    request: OffsetForLeaderEpochRequest,
    handle: Handler[OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse],
) -> OffsetForLeaderEpochResponse:
    if may_cluster(node, context, Operation.CLUSTER_ACTION):
        return await handle(node, context, request)
    request.topics, refused = await split_allowed(
        context, request.topics, lambda topic: _may_describe(node, context, topic.topic)
    )
    body = await handle(node, context, request)
    body["topics"] += [
        {
            "topic": topic.topic,
            "partitions": [
                {
                    "error_code": _REFUSED,
                    "partition": partition.partition,
                    "leader_epoch": -1,
                    "end_offset": -1,
                }
                async for partition in context.turns.each(topic.partitions)
            ],
        }
        for topic in refused
    ]
    return body


_BATCHED_SINCE: Final = 4
_COORDINATED: Final = {
    0: (AclResource.GROUP, Code.GROUP_AUTHORIZATION_FAILED),
    1: (AclResource.TRANSACTIONAL_ID, Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
}
_SHARE: Final = 2
_SHARE_SINCE: Final = 6


async def find_coordinator(
    node: Node,
    context: Context,
    request: FindCoordinatorRequest,
    handle: Handler[FindCoordinatorRequest, FindCoordinatorResponse],
) -> FindCoordinatorResponse:
    if request.key_type == _SHARE and context.version >= _SHARE_SINCE:
        if not may_cluster(node, context, Operation.CLUSTER_ACTION):
            code = Code.CLUSTER_AUTHORIZATION_FAILED
            keys = request.coordinator_keys
            return {"coordinators": [_nowhere(key, code) for key in keys]}
        return await handle(node, context, request)
    if request.key_type not in _COORDINATED:
        return await handle(node, context, request)
    resource, code = _COORDINATED[request.key_type]
    if context.version < _BATCHED_SINCE:
        if may(node, context, Operation.DESCRIBE, resource, request.key):
            return await handle(node, context, request)
        return {
            "error_code": code,
            "error_message": WHY[code],
            "node_id": -1,
            "host": "",
            "port": -1,
        }
    request.coordinator_keys, refused = await split_allowed(
        context,
        request.coordinator_keys,
        lambda key: may(node, context, Operation.DESCRIBE, resource, key),
    )
    body = await handle(node, context, request)
    body["coordinators"] += [{**_nowhere(key, code), "error_message": ""} for key in refused]
    return body


def _nowhere(key: str, code: Code) -> Coordinator:
    return {"key": key, "error_code": code, "node_id": -1, "host": "", "port": -1}
