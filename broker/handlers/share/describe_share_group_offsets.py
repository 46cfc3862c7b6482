"""DescribeShareGroupOffsets (90), versions 0-1: where share groups read each partition (KIP-932).

1    the lag: the records that are not delivered completely (KIP-1226)

A partition that the group has not read has the start offset -1 and the lag -1, as has one of an
unknown topic. Skipped: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ....coordinator.share.kind import ShareKind
from ....metadata.catalog import SHARE_GROUP_STATE
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import WHY, AclResource, Operation, may_topic, must
from ...requests.context import Context
from ...requests.share.share_feature import check_share_groups

if TYPE_CHECKING:
    from ....metadata.catalog import Topic
    from ....protocol.api_types.describe_share_group_offsets import (
        DescribeShareGroupOffsetsRequest,
        DescribeShareGroupOffsetsRequestGroup,
        DescribeShareGroupOffsetsRequestTopic,
        DescribeShareGroupOffsetsResponse,
        DescribeShareGroupOffsetsResponseGroup,
        DescribeShareGroupOffsetsResponsePartition,
        DescribeShareGroupOffsetsResponseTopic,
    )
    from ...node import Node

_NO_ID: Final = UUID(int=0)
_NO_OFFSET: Final = -1
_UNKNOWN: Final = Code.UNKNOWN_TOPIC_OR_PARTITION


@serves(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions=(0, 1), guard=CHECKED_BY_HANDLER)
async def describe_share_group_offsets(
    node: Node, context: Context, request: DescribeShareGroupOffsetsRequest
) -> DescribeShareGroupOffsetsResponse:
    groups: list[DescribeShareGroupOffsetsResponseGroup] = []
    async for group in context.turns.each(request.groups):
        answer: DescribeShareGroupOffsetsResponseGroup = {
            "group_id": group.group_id,
            "topics": [],
            "error_code": Code.NONE,
        }
        try:
            check_share_groups(node)
            must(node, context, Operation.DESCRIBE, AclResource.GROUP, group.group_id)
            answer["topics"] = await _topics(node, context, group)
        except Refused as refused:
            answer["error_code"] = refused.code
            # Without the right to the group Kafka tells the code alone.
            is_forbidden = refused.code is Code.GROUP_AUTHORIZATION_FAILED
            answer["error_message"] = None if is_forbidden else refused.why or WHY.get(refused.code)
        groups.append(answer)
    return {"groups": groups}


async def _topics(
    node: Node, context: Context, group: DescribeShareGroupOffsetsRequestGroup
) -> list[DescribeShareGroupOffsetsResponseTopic]:
    """The topics of a group: those that the client names, or else all that it may see."""
    group_id, asked = group.group_id, group.topics
    answers: list[DescribeShareGroupOffsetsResponseTopic] = []
    if asked is None:
        initialized = node.groups.shard_of(group_id).ask(
            lambda machine: machine.kind(ShareKind).initialized_partitions(group_id)
        )
        async for topic_id, indexes in context.turns.each(initialized.items()):
            topic = node.catalog.topic_by_id(topic_id)
            if topic is not None and may_topic(node, context, Operation.DESCRIBE, topic.name):
                answers.append(await _offsets(node, context, group_id, topic, sorted(indexes)))
        return answers
    others: list[DescribeShareGroupOffsetsResponseTopic] = []
    refused: list[DescribeShareGroupOffsetsResponseTopic] = []
    async for each in context.turns.each(asked):
        topic = node.catalog.topics.get(each.topic_name)
        if not may_topic(node, context, Operation.DESCRIBE, each.topic_name):
            refused.append(_without_offsets(each, Code.TOPIC_AUTHORIZATION_FAILED))
        elif topic is None:
            others.append(_without_offsets(each, Code.NONE))
        elif not group_id or not each.partitions:  # Kafka's persister fails
            raise Refused(Code.UNKNOWN_SERVER_ERROR)
        else:
            answers.append(await _offsets(node, context, group_id, topic, each.partitions))
    return [*answers, *others, *refused]


def _without_offsets(
    topic: DescribeShareGroupOffsetsRequestTopic, code: Code
) -> DescribeShareGroupOffsetsResponseTopic:
    return {
        "topic_name": topic.topic_name,
        "topic_id": _NO_ID,
        "partitions": [
            {**_nothing(index), "error_code": code, "error_message": WHY.get(code)}
            for index in topic.partitions
        ],
    }


def _nothing(partition: int) -> DescribeShareGroupOffsetsResponsePartition:
    return {
        "partition_index": partition,
        "start_offset": _NO_OFFSET,
        "leader_epoch": 0,
        "lag": _NO_OFFSET,
        "error_code": Code.NONE,
    }


async def _offsets(
    node: Node, context: Context, group_id: str, topic: Topic, partitions: Iterable[int]
) -> DescribeShareGroupOffsetsResponseTopic:
    return {
        "topic_name": topic.name,
        "topic_id": topic.topic_id,
        "partitions": [
            await _partition(node, group_id, topic, index)
            async for index in context.turns.each(partitions)
        ],
    }


async def _partition(
    node: Node, group_id: str, topic: Topic, partition: int
) -> DescribeShareGroupOffsetsResponsePartition:
    answer = _nothing(partition)
    if not 0 <= partition < len(topic.partitions):  # Kafka never answers
        return {**answer, "error_code": _UNKNOWN}
    if SHARE_GROUP_STATE not in node.catalog.topics:
        return answer  # no group has read anything yet
    try:
        state = await node.cluster.share_persister.summarize(group_id, topic.topic_id, partition)
    except Refused as refused:
        if refused.code != _UNKNOWN:  # there is no state of the partition
            answer["error_code"], answer["error_message"] = refused.code, refused.why
        return answer
    answer["start_offset"], answer["leader_epoch"] = state.start_offset, state.leader_epoch
    if state.start_offset == _NO_OFFSET or state.delivery_complete_count == _NO_OFFSET:
        return answer
    log = node.open_log_of(topic.name, partition)
    if log is None:
        return {**_nothing(partition), "error_code": node.why_missing(topic.name, partition)}
    answer["lag"] = log.high_watermark - state.start_offset - state.delivery_complete_count
    return answer
