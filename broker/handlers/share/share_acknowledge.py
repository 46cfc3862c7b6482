"""ShareAcknowledge (79), versions 1-2: a member acknowledges records without a fetch (KIP-932).

1    accept, release or reject records; epoch -1 also gives back the rest and ends the session
2    renewal of locks (KIP-1222); the answer has the duration of locks

Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.cluster_description import NewLeaders
from ...requests.context import Context
from ...requests.share.share_requests import (
    MOVED,
    RENEWS_SINCE,
    ZERO_ID,
    Acknowledged,
    acknowledge_all,
    moved_leader,
    session_key,
)
from ...runtime.share.share_sessions import FINAL_EPOCH, INITIAL_EPOCH, SessionKey, TopicIdPartition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....protocol.api_types.share_acknowledge import (
        AcknowledgementBatch,
        PartitionData,
        ShareAcknowledgeRequest,
        ShareAcknowledgeResponse,
        ShareAcknowledgeTopicResponse,
    )
    from ...node import Node


@serves(ApiKey.SHARE_ACKNOWLEDGE, versions=(1, 2), guard=CHECKED_BY_HANDLER)
async def share_acknowledge(
    node: Node, context: Context, request: ShareAcknowledgeRequest
) -> ShareAcknowledgeResponse:
    key = session_key(node, context, request.group_id, request.member_id)
    sessions, epoch = node.share_partitions.sessions, request.share_session_epoch
    if epoch == INITIAL_EPOCH:
        raise Refused(Code.INVALID_SHARE_SESSION_EPOCH)
    session = sessions.resume(key, epoch)
    asked: dict[TopicIdPartition, Sequence[AcknowledgementBatch]] = {}
    async for topic in context.turns.each(request.topics):
        async for each in context.turns.each(topic.partitions):
            partition = TopicIdPartition(topic.topic_id or ZERO_ID, each.partition_index)
            asked[partition] = each.acknowledgement_batches or ()
    renews = context.version >= RENEWS_SINCE and request.is_renew_ack
    results = await acknowledge_all(node, context, key, asked, renews=renews)
    if epoch == FINAL_EPOCH:
        sessions.end(key)
        await node.share_partitions.release(session)
    return await _answer(node, context, key, results)


async def _answer(
    node: Node, context: Context, key: SessionKey, results: Mapping[TopicIdPartition, Acknowledged]
) -> ShareAcknowledgeResponse:
    topics: dict[UUID, ShareAcknowledgeTopicResponse] = {}
    leaders = NewLeaders(node, context)
    async for (topic_id, index), result in context.turns.each(results.items()):
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = {"topic_id": topic_id, "partitions": []}
        answered: PartitionData = {
            "partition_index": index,
            "error_code": result.code,
            "error_message": result.why,
            "current_leader": {"leader_id": 0, "leader_epoch": 0},
        }
        if result.code in MOVED:
            answered["current_leader"] = moved_leader(node, leaders, topic_id, index)
        topic["partitions"].append(answered)
    settings = node.share_partitions.services.settings_of(key.group_id)
    return {
        "acquisition_lock_timeout_ms": settings.limits.lock_duration_ms,
        "responses": list(topics.values()),
        "node_endpoints": list(leaders.endpoints.values()),
    }
