"""Guards of administration requests: for topics, settings, replicas and the cluster.

To create a topic, a client needs CREATE on the cluster or on the topic; to see its settings,
DESCRIBE_CONFIGS. Without DESCRIBE on a topic an error does not reveal whether the topic exists.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ....metadata.catalog import ResourceType
from ....protocol.acls import AclResource, Operation
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ..authorization import WHY, may, may_cluster, may_topic, must_cluster
from .clients import cluster_operations
from .guard import Handler, split_allowed

if TYPE_CHECKING:
    from ....protocol.api_types.alter_configs import (
        AlterConfigsRequest,
        AlterConfigsResource,
        AlterConfigsResourceResponse,
        AlterConfigsResponse,
    )
    from ....protocol.api_types.alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest,
        AlterPartitionReassignmentsResponse,
    )
    from ....protocol.api_types.alter_replica_log_dirs import (
        AlterReplicaLogDirsRequest,
        AlterReplicaLogDirsResponse,
    )
    from ....protocol.api_types.create_partitions import (
        CreatePartitionsRequest,
        CreatePartitionsResponse,
    )
    from ....protocol.api_types.create_topics import CreateTopicsRequest, CreateTopicsResponse
    from ....protocol.api_types.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
    from ....protocol.api_types.delete_topics import (
        DeleteTopicsRequest,
        DeleteTopicsResponse,
        DeleteTopicState,
    )
    from ....protocol.api_types.describe_cluster import (
        DescribeClusterRequest,
        DescribeClusterResponse,
    )
    from ....protocol.api_types.describe_configs import (
        DescribeConfigsRequest,
        DescribeConfigsResource,
        DescribeConfigsResponse,
        DescribeConfigsResult,
    )
    from ....protocol.api_types.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
    from ...node import Node
    from ..context import Context

_TOPIC_REFUSED: Final = Code.TOPIC_AUTHORIZATION_FAILED
_CLUSTER_REFUSED: Final = Code.CLUSTER_AUTHORIZATION_FAILED


async def create_topics(
    node: Node,
    context: Context,
    request: CreateTopicsRequest,
    handle: Handler[CreateTopicsRequest, CreateTopicsResponse],
) -> CreateTopicsResponse:
    times = Counter(topic.name for topic in request.topics)
    anywhere = may_cluster(node, context, Operation.CREATE)
    request.topics, refused = await split_allowed(
        context,
        request.topics,
        lambda topic: (
            anywhere
            or times[topic.name] > 1  # the handler refuses duplicates
            or may_topic(node, context, Operation.CREATE, topic.name)
        ),
    )
    body = await handle(node, context, request)
    async for topic in context.turns.each(body["topics"]):
        is_made = topic.get("error_code", Code.NONE) == Code.NONE
        if is_made and not may_topic(node, context, Operation.DESCRIBE_CONFIGS, topic["name"]):
            topic["num_partitions"] = topic["replication_factor"] = -1
            topic["configs"] = []
            topic["topic_config_error_code"] = _TOPIC_REFUSED
    body["topics"] += [
        {
            "name": topic.name,
            "error_code": _TOPIC_REFUSED,
            "error_message": "Authorization failed.",
            "num_partitions": -1,
            "replication_factor": -1,
            "configs": [],
        }
        for topic in refused
    ]
    return body


async def delete_topics(
    node: Node,
    context: Context,
    request: DeleteTopicsRequest,
    handle: Handler[DeleteTopicsRequest, DeleteTopicsResponse],
) -> DeleteTopicsResponse:
    if may_cluster(node, context, Operation.DELETE):
        return await handle(node, context, request)
    request.topic_names, names = await split_allowed(
        context, request.topic_names, lambda name: _may_delete(node, context, name)
    )
    request.topics, topics = await split_allowed(
        context, request.topics, lambda topic: _may_delete(node, context, _name_of(node, topic))
    )
    body = await handle(node, context, request)
    code, why = _TOPIC_REFUSED, WHY[_TOPIC_REFUSED]
    body["responses"] += [
        {"name": name, "error_code": code, "error_message": why} for name in dict.fromkeys(names)
    ]
    for topic in topics:
        name = _name_of(node, topic)
        if topic.name is None and not may_topic(node, context, Operation.DESCRIBE, name or ""):
            name = None
        body["responses"].append(
            {"name": name, "topic_id": topic.topic_id, "error_code": code, "error_message": why}
        )
    return body


def _name_of(node: Node, topic: DeleteTopicState) -> str | None:
    """The name of a topic in a request; None for an unknown id."""
    if topic.name is not None:
        return str(topic.name)
    known = None if topic.topic_id is None else node.catalog.topic_by_id(topic.topic_id)
    return None if known is None else known.name


def _may_delete(node: Node, context: Context, name: str | None) -> bool:
    """Whether the handler may answer: a missing topic is reported only to those with DESCRIBE."""
    if name is None:
        return True
    is_there = name in node.catalog.topics
    return may_topic(node, context, Operation.DELETE if is_there else Operation.DESCRIBE, name)


async def create_partitions(
    node: Node,
    context: Context,
    request: CreatePartitionsRequest,
    handle: Handler[CreatePartitionsRequest, CreatePartitionsResponse],
) -> CreatePartitionsResponse:
    request.topics, refused = await split_allowed(
        context, request.topics, lambda topic: may_topic(node, context, Operation.ALTER, topic.name)
    )
    body = await handle(node, context, request)
    body["results"] += [
        {"name": topic.name, "error_code": _TOPIC_REFUSED, "error_message": None}
        for topic in refused
    ]
    return body


async def delete_records(
    node: Node,
    context: Context,
    request: DeleteRecordsRequest,
    handle: Handler[DeleteRecordsRequest, DeleteRecordsResponse],
) -> DeleteRecordsResponse:
    request.topics, refused = await split_allowed(
        context,
        request.topics,
        lambda topic: may_topic(node, context, Operation.DELETE, topic.name),
    )
    body = await handle(node, context, request)
    body["topics"] += [
        {
            "name": topic.name,
            "partitions": [
                {
                    "partition_index": partition.partition_index,
                    "low_watermark": -1,
                    "error_code": _TOPIC_REFUSED,
                }
                async for partition in context.turns.each(topic.partitions)
            ],
        }
        async for topic in context.turns.each(refused)
    ]
    return body


def _refusal_of(
    node: Node,
    context: Context,
    operation: Operation,
    resource: AlterConfigsResource | DescribeConfigsResource,
) -> Code | None:
    """The error code if the client may not access a resource's settings; None if it may."""
    name = resource.resource_name or ""
    match resource.resource_type:
        case ResourceType.TOPIC:
            is_right = may_topic(node, context, operation, name)
            code = _TOPIC_REFUSED
        case ResourceType.GROUP:
            is_right = may(node, context, operation, AclResource.GROUP, name)
            code = Code.GROUP_AUTHORIZATION_FAILED
        case _:
            is_right = may_cluster(node, context, operation)
            code = _CLUSTER_REFUSED
    return None if is_right else code


def _result(
    resource: AlterConfigsResource | DescribeConfigsResource, code: Code, why: str | None
) -> AlterConfigsResourceResponse:
    return {
        "error_code": code,
        "error_message": why,
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
    }


async def describe_configs(
    node: Node,
    context: Context,
    request: DescribeConfigsRequest,
    handle: Handler[DescribeConfigsRequest, DescribeConfigsResponse],
) -> DescribeConfigsResponse:
    known = {int(kind) for kind in ResourceType}
    if any(resource.resource_type not in known for resource in request.resources):
        return await handle(node, context, request)  # the handler refuses the whole request
    refused: list[DescribeConfigsResult] = []
    right = []
    async for resource in context.turns.each(request.resources):
        code = _refusal_of(node, context, Operation.DESCRIBE_CONFIGS, resource)
        if code is None:
            right.append(resource)
        else:
            refused.append({**_result(resource, code, WHY[code]), "configs": []})
    request.resources = right
    body = await handle(node, context, request)
    body["results"] += refused
    return body


async def alter_configs(
    node: Node,
    context: Context,
    request: AlterConfigsRequest,
    handle: Handler[AlterConfigsRequest, AlterConfigsResponse],
) -> AlterConfigsResponse:
    times: Counter[tuple[int, str]] = Counter()
    async for each in context.turns.each(request.resources):
        times[each.resource_type, each.resource_name] += 1
    refused: list[AlterConfigsResourceResponse] = []
    right = []
    async for resource in context.turns.each(request.resources):
        is_logger = resource.resource_type == ResourceType.BROKER_LOGGER
        is_of_broker = is_logger or resource.resource_type == ResourceType.BROKER
        code = _refusal_of(node, context, Operation.ALTER_CONFIGS, resource)
        is_wrong = times[resource.resource_type, resource.resource_name] > 1
        if is_logger and context.api_key == ApiKey.ALTER_CONFIGS:
            is_wrong = True
        if code is None or is_wrong:
            right.append(resource)
        else:
            refused.append(_result(resource, code, None if is_of_broker else WHY[code]))
    request.resources = right
    body = await handle(node, context, request)
    body["responses"] += refused
    return body


async def describe_cluster(
    node: Node,
    context: Context,
    request: DescribeClusterRequest,
    handle: Handler[DescribeClusterRequest, DescribeClusterResponse],
) -> DescribeClusterResponse:
    body = await handle(node, context, request)
    if body.get("authorized_operations") is not None:
        body["authorized_operations"] = cluster_operations(node, context)
    return body


async def alter_replica_log_dirs(
    node: Node,
    context: Context,
    request: AlterReplicaLogDirsRequest,
    handle: Handler[AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse],
) -> AlterReplicaLogDirsResponse:
    if may_cluster(node, context, Operation.ALTER):
        return await handle(node, context, request)
    return {
        "results": [
            {
                "topic_name": topic.name,
                "partitions": [
                    {"partition_index": index, "error_code": _CLUSTER_REFUSED}
                    for index in topic.partitions
                ],
            }
            for directory in request.dirs
            for topic in directory.topics
        ]
    }


async def elect_leaders(
    node: Node,
    context: Context,
    request: ElectLeadersRequest,
    handle: Handler[ElectLeadersRequest, ElectLeadersResponse],
) -> ElectLeadersResponse:
    try:
        must_cluster(node, context, Operation.ALTER)
    except Refused as refused:
        return {
            "error_code": refused.code,
            "replica_election_results": [
                {
                    "topic": topic.topic,
                    "partition_result": [
                        {
                            "partition_id": index,
                            "error_code": refused.code,
                            "error_message": refused.why,
                        }
                        for index in topic.partitions
                    ],
                }
                for topic in request.topic_partitions or ()
            ],
        }
    return await handle(node, context, request)


async def alter_partition_reassignments(
    node: Node,
    context: Context,
    request: AlterPartitionReassignmentsRequest,
    handle: Handler[AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse],
) -> AlterPartitionReassignmentsResponse:
    try:
        must_cluster(node, context, Operation.ALTER)
    except Refused as refused:
        code, why = refused.code, refused.why
        return {
            "error_code": code,
            "error_message": why,
            "responses": [
                {
                    "name": topic.name,
                    "partitions": [
                        {
                            "partition_index": partition.partition_index,
                            "error_code": code,
                            "error_message": why,
                        }
                        async for partition in context.turns.each(topic.partitions)
                    ],
                }
                async for topic in context.turns.each(request.topics)
            ],
        }
    return await handle(node, context, request)
