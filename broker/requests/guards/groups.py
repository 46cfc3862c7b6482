"""Guards of group requests.

On the group, members need READ, requests that describe it DESCRIBE, and those that delete it
DELETE. On a topic, a client needs READ to commit its offsets and DESCRIBE to fetch them: topics
named in the request get an error, other ones are omitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, cast

from ....protocol.acls import AclResource, Operation
from ....protocol.errors import Code, Refused
from ..authorization import authorized_operations, may, may_cluster, may_topic, must
from ..topics_by_id import NO_ID, UNNAMED, name_topics
from .guard import Handler, split_allowed

if TYPE_CHECKING:
    from ....protocol.api_types.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
    from ....protocol.api_types.describe_groups import (
        DescribedGroup,
        DescribeGroupsRequest,
        DescribeGroupsResponse,
    )
    from ....protocol.api_types.join_group import JoinGroupRequest, JoinGroupResponse
    from ....protocol.api_types.list_groups import ListGroupsRequest, ListGroupsResponse
    from ....protocol.api_types.offset_commit import (
        OffsetCommitRequest,
        OffsetCommitResponse,
        OffsetCommitResponseTopic,
    )
    from ....protocol.api_types.offset_delete import (
        OffsetDeleteRequest,
        OffsetDeleteRequestTopic,
        OffsetDeleteResponse,
        OffsetDeleteResponseTopic,
    )
    from ....protocol.api_types.offset_fetch import (
        OffsetFetchRequest,
        OffsetFetchRequestGroup,
        OffsetFetchRequestTopic,
        OffsetFetchRequestTopics,
        OffsetFetchResponse,
        OffsetFetchResponseGroup,
        OffsetFetchResponseTopic,
        OffsetFetchResponseTopics,
    )
    from ...node import Node
    from ..context import Context

_SEVERAL_SINCE: Final = 8
_COMMITTED_IDS_SINCE: Final = 10
_FETCHED_IDS_SINCE: Final = 10
_OF_DELETED_OFFSETS: Final = ("name", "partitions")  # OffsetDelete has no ids of topics
_GROUP_ERROR_SINCE: Final = 2
_GROUP_REFUSED: Final = Code.GROUP_AUTHORIZATION_FAILED
_TOPIC_REFUSED: Final = Code.TOPIC_AUTHORIZATION_FAILED


def _may_group(node: Node, context: Context, operation: Operation, group_id: str) -> bool:
    return may(node, context, operation, AclResource.GROUP, group_id)


async def join_group(
    node: Node,
    context: Context,
    request: JoinGroupRequest,
    handle: Handler[JoinGroupRequest, JoinGroupResponse],
) -> JoinGroupResponse:
    if _may_group(node, context, Operation.READ, request.group_id):
        return await handle(node, context, request)
    name = None if context.version >= 7 else ""
    return {
        "error_code": _GROUP_REFUSED,
        "generation_id": -1,
        "protocol_type": None,
        "protocol_name": name,
        "leader": "",
        "member_id": "",
        "members": [],
    }


async def offsets_refused(
    context: Context, topics: Iterable[OffsetDeleteRequestTopic], code: Code
) -> list[OffsetCommitResponseTopic]:
    """Answers with this error code for each partition of an offset commit."""
    return [
        {
            "name": topic.name,
            "topic_id": getattr(topic, "topic_id", None) or NO_ID,
            "partitions": [
                {"partition_index": partition.partition_index, "error_code": code}
                async for partition in context.turns.each(topic.partitions)
            ],
        }
        async for topic in context.turns.each(topics)
    ]


async def offset_commit(
    node: Node,
    context: Context,
    request: OffsetCommitRequest,
    handle: Handler[OffsetCommitRequest, OffsetCommitResponse],
) -> OffsetCommitResponse:
    if not _may_group(node, context, Operation.READ, request.group_id):
        return {"topics": await offsets_refused(context, request.topics, _GROUP_REFUSED)}
    by_id = context.version >= _COMMITTED_IDS_SINCE
    if by_id:
        await name_topics(node, context, request.topics)
    request.topics, refused = await split_allowed(
        context,
        request.topics,
        lambda topic: (
            (by_id and topic.name == UNNAMED)
            or may_topic(node, context, Operation.READ, topic.name)
        ),
    )
    body = await handle(node, context, request) if request.topics else {"topics": []}
    body["topics"] += await offsets_refused(context, refused, _TOPIC_REFUSED)
    return body


async def offset_fetch(
    node: Node,
    context: Context,
    request: OffsetFetchRequest,
    handle: Handler[OffsetFetchRequest, OffsetFetchResponse],
) -> OffsetFetchResponse:
    if context.version < _SEVERAL_SINCE:
        return await _fetch_of_one(node, context, request, handle)
    groups, refused = await split_allowed(
        context,
        request.groups,
        lambda group: _may_group(node, context, Operation.DESCRIBE, group.group_id),
    )
    unseen = [await _without_unseen(node, context, group) for group in groups]
    everything = [group.topics is None for group in groups]
    request.groups = groups
    body = await handle(node, context, request)
    for answer, hidden, is_all in zip(body["groups"], unseen, everything, strict=True):
        await _finish(node, context, answer, hidden, is_all=is_all)
    body["groups"] += [
        {"group_id": group.group_id, "topics": [], "error_code": _GROUP_REFUSED}
        for group in refused
    ]
    return body


async def _fetch_of_one(
    node: Node,
    context: Context,
    request: OffsetFetchRequest,
    handle: Handler[OffsetFetchRequest, OffsetFetchResponse],
) -> OffsetFetchResponse:
    if not _may_group(node, context, Operation.DESCRIBE, request.group_id):
        if context.version >= _GROUP_ERROR_SINCE:
            raise Refused(_GROUP_REFUSED)
        unfetched = await _unfetched(context, request.topics or (), _GROUP_REFUSED)
        return {"topics": cast("list[OffsetFetchResponseTopic]", unfetched)}
    hidden, is_all = await _without_unseen(node, context, request), request.topics is None
    body = await handle(node, context, request)
    await _finish(node, context, body, hidden, is_all=is_all)
    return body


async def _without_unseen(
    node: Node, context: Context, group: OffsetFetchRequest | OffsetFetchRequestGroup
) -> Sequence[OffsetFetchRequestTopic]:
    """Remove the topics that the client may not describe from a request, and return them."""
    if group.topics is None:
        return []
    topics: Sequence[OffsetFetchRequestTopic] = group.topics
    by_id = context.version >= _FETCHED_IDS_SINCE
    if by_id:
        await name_topics(node, context, cast("Sequence[OffsetFetchRequestTopics]", topics))
    group.topics, hidden = await split_allowed(
        context,
        topics,
        lambda topic: (
            (by_id and topic.name == UNNAMED)
            or may_topic(node, context, Operation.DESCRIBE, topic.name)
        ),
    )
    return hidden


async def _finish(
    node: Node,
    context: Context,
    answer: OffsetFetchResponse | OffsetFetchResponseGroup,
    hidden: Sequence[OffsetFetchRequestTopic],
    *,
    is_all: bool,
) -> None:
    topics = cast("list[OffsetFetchResponseTopics]", answer["topics"])
    if is_all:
        topics[:] = [
            topic
            async for topic in context.turns.each(topics)
            if may_topic(node, context, Operation.DESCRIBE, topic["name"])
        ]
    if answer.get("error_code", Code.NONE) == Code.NONE:
        topics += await _unfetched(context, hidden, _TOPIC_REFUSED)


async def _unfetched(
    context: Context, topics: Iterable[OffsetFetchRequestTopic], code: Code
) -> list[OffsetFetchResponseTopics]:
    return [
        {
            **_name_of(topic),
            "partitions": [
                {
                    "partition_index": index,
                    "committed_offset": -1,
                    "committed_leader_epoch": -1,
                    "metadata": "",
                    "error_code": code,
                }
                async for index in context.turns.each(topic.partition_indexes)
            ],
        }
        async for topic in context.turns.each(topics)
    ]


def _name_of(
    topic: OffsetFetchRequestTopic | OffsetFetchRequestTopics,
) -> OffsetFetchResponseTopics:
    """The name of a topic and, where the version of the request has them, its id."""
    if hasattr(topic, "topic_id"):
        return {"name": topic.name, "topic_id": topic.topic_id or NO_ID, "partitions": []}
    return {"name": topic.name, "partitions": []}


async def describe_groups(
    node: Node,
    context: Context,
    request: DescribeGroupsRequest,
    handle: Handler[DescribeGroupsRequest, DescribeGroupsResponse],
) -> DescribeGroupsResponse:
    request.groups, refused = await split_allowed(
        context,
        request.groups,
        lambda group_id: _may_group(node, context, Operation.DESCRIBE, group_id),
    )
    body = await handle(node, context, request)
    await _add_operations(node, context, body["groups"])
    body["groups"] += [
        {
            "group_id": group_id,
            "error_code": _GROUP_REFUSED,
            "error_message": None,
            "group_state": "",
            "protocol_type": "",
            "protocol_data": "",
            "members": [],
        }
        for group_id in refused
    ]
    return body


async def _add_operations(node: Node, context: Context, groups: Iterable[DescribedGroup]) -> None:
    async for group in context.turns.each(groups):
        if group.get("authorized_operations") is not None:
            group["authorized_operations"] = authorized_operations(
                node, context, AclResource.GROUP, group["group_id"]
            )


async def list_groups(
    node: Node,
    context: Context,
    request: ListGroupsRequest,
    handle: Handler[ListGroupsRequest, ListGroupsResponse],
) -> ListGroupsResponse:
    body = await handle(node, context, request)
    if not may_cluster(node, context, Operation.DESCRIBE):
        body["groups"] = [
            group
            async for group in context.turns.each(body.get("groups", ()))
            if _may_group(node, context, Operation.DESCRIBE, group["group_id"])
        ]
    return body


async def delete_groups(
    node: Node,
    context: Context,
    request: DeleteGroupsRequest,
    handle: Handler[DeleteGroupsRequest, DeleteGroupsResponse],
) -> DeleteGroupsResponse:
    request.groups_names, refused = await split_allowed(
        context,
        request.groups_names,
        lambda group_id: _may_group(node, context, Operation.DELETE, group_id),
    )
    body = await handle(node, context, request)
    body["results"] += [
        {"group_id": group_id, "error_code": _GROUP_REFUSED} for group_id in refused
    ]
    return body


async def offset_delete(
    node: Node,
    context: Context,
    request: OffsetDeleteRequest,
    handle: Handler[OffsetDeleteRequest, OffsetDeleteResponse],
) -> OffsetDeleteResponse:
    must(node, context, Operation.DELETE, AclResource.GROUP, request.group_id)
    request.topics, refused = await split_allowed(
        context, request.topics, lambda topic: may_topic(node, context, Operation.READ, topic.name)
    )
    body = await handle(node, context, request)
    if body.get("error_code", Code.NONE) == Code.NONE:
        body["topics"] = [
            *body.get("topics", ()),
            *[
                cast("OffsetDeleteResponseTopic", {key: each[key] for key in _OF_DELETED_OFFSETS})
                for each in await offsets_refused(context, refused, _TOPIC_REFUSED)
            ],
        ]
    return body
