"""AlterShareGroupOffsets (91), version 0: where a share group without members reads (KIP-932).

The partitions get new share state. An unknown group comes to exist. The answer waits for
the state; Kafka's does not wait for the record that says it is initialized. Skipped: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from uuid import UUID

from ....coordinator.share.kind import ShareKind
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import WHY, AclResource, Operation, may, may_topic
from ...requests.context import Context
from ...requests.share.share_feature import NOT_ENABLED, check_share_groups

if TYPE_CHECKING:
    from ....coordinator.share.requests import StartOffset
    from ....protocol.api_types.alter_share_group_offsets import (
        AlterShareGroupOffsetsRequest,
        AlterShareGroupOffsetsResponse,
        AlterShareGroupOffsetsResponseTopic,
    )
    from ...node import Node

_NO_ID: Final = UUID(int=0)
_UNKNOWN_TOPIC: Final = "This server does not host this topic-partition."
_WHY: Final = {
    Code.TOPIC_AUTHORIZATION_FAILED: WHY[Code.TOPIC_AUTHORIZATION_FAILED],
    Code.UNKNOWN_TOPIC_OR_PARTITION: _UNKNOWN_TOPIC,
}

Result = tuple[Code, str | None]


@serves(ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions=(0, 0), guard=CHECKED_BY_HANDLER)
async def alter_share_group_offsets(
    node: Node, context: Context, request: AlterShareGroupOffsetsRequest
) -> AlterShareGroupOffsetsResponse:
    check_share_groups(node, NOT_ENABLED)
    group_id = request.group_id
    if not may(node, context, Operation.READ, AclResource.GROUP, group_id):
        raise Refused(Code.GROUP_AUTHORIZATION_FAILED, WHY[Code.GROUP_AUTHORIZATION_FAILED])
    offsets: list[StartOffset] = []
    refused_topics: set[str] = set()
    async for topic in context.turns.each(request.topics):
        if not may_topic(node, context, Operation.READ, topic.topic_name):
            refused_topics.add(topic.topic_name)
            continue
        offsets += [
            (topic.topic_name, each.partition_index, each.start_offset)
            async for each in context.turns.each(topic.partitions)
        ]
    results = await _alter(node, context, group_id, offsets)
    responses: list[AlterShareGroupOffsetsResponseTopic] = []
    async for topic in context.turns.each(request.topics):
        known = node.catalog.topics.get(topic.topic_name)
        denied = Code.TOPIC_AUTHORIZATION_FAILED if topic.topic_name in refused_topics else None
        codes = [
            (denied, _WHY[denied])
            if denied is not None
            else results[topic.topic_name, each.partition_index]
            for each in topic.partitions
        ]
        responses.append(
            {
                "topic_name": topic.topic_name,
                "topic_id": _NO_ID if known is None or denied else known.topic_id,
                "partitions": [
                    {
                        "partition_index": each.partition_index,
                        "error_code": code,
                        "error_message": why,
                    }
                    for each, (code, why) in zip(topic.partitions, codes, strict=True)
                ],
            }
        )
    return {"error_code": Code.NONE, "error_message": None, "responses": responses}


async def _alter(
    node: Node, context: Context, group_id: str, offsets: list[StartOffset]
) -> Mapping[tuple[str, int], Result]:
    """Set start offsets; the results by topic and partition."""
    shard = node.groups.shard_of(group_id)
    altered = await shard.run(
        lambda machine, _: machine.kind_for(ShareKind, group_id).alter_offsets(group_id, offsets)
    )
    refusals = await node.cluster.share_state_work.initialize(
        shard, group_id, altered.state_epoch, altered.partitions, context.turns
    )
    names = {
        topic.topic_id: topic.name
        for topic in map(node.catalog.topics.get, _names(offsets))
        if topic is not None
    }
    results: dict[tuple[str, int], Result] = {
        (name, index): (code, _WHY.get(code))
        for (name, index, _), code in zip(offsets, altered.codes, strict=True)
    }
    for (topic_id, index), refused in refusals.items():
        if topic_id in names:
            results[names[topic_id], index] = refused.code, refused.why
    return results


def _names(offsets: list[StartOffset]) -> list[str]:
    return list(dict.fromkeys(name for name, _, _ in offsets))
