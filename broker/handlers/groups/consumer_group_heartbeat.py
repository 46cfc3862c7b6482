"""ConsumerGroupHeartbeat (68), versions 0-1: join, stay in or leave a consumer group (KIP-848).

0    the member reports its partitions; the answer may have an assignment
1    subscriptions by regular expression; the member generates its own id (KIP-1082)

An answer to a heartbeat that wrote records waits `group.coordinator.append.linger.ms`, as in Kafka.
Skipped: nothing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

from ....coordinator.consumer.kind import ConsumerKind
from ....coordinator.consumer.member import Assignment
from ....coordinator.consumer.requests import HeartbeatRequest
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ....protocol.uuids import uuid_text
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import AclResource, Operation, may, must
from ...requests.context import Context
from ...requests.fencing_log import log_fenced
from ...runtime.groups.group_settings import linger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....protocol.api_types.consumer_group_heartbeat import (
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponse,
    )
    from ....protocol.api_types.consumer_group_heartbeat import (
        ConsumerGroupHeartbeatRequestTopicPartitions as TopicPartitions,
    )
    from ...node import Node

_OWN_ID_SINCE: Final = 1
_ZERO_ID: Final = UUID(int=0)


@serves(ApiKey.CONSUMER_GROUP_HEARTBEAT, versions=(0, 1), guard=CHECKED_BY_HANDLER)
async def consumer_group_heartbeat(
    node: Node, context: Context, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    check_enabled(node)
    if node.authorizer is not None:
        must(node, context, Operation.READ, AclResource.GROUP, request.group_id)
        async for name in context.turns.each(request.subscribed_topic_names or ()):
            must(node, context, Operation.DESCRIBE, AclResource.TOPIC, name)
    heartbeat = _heartbeat(node, context, request)
    shard = node.groups.shard_of(request.group_id)
    end_before = shard.log.log_end_offset
    try:
        reply = await shard.run(
            lambda machine, now: machine.kind_for(
                ConsumerKind, request.group_id
            ).consumer_heartbeat(heartbeat, now=now)
        )
    except Refused as refused:
        log_fenced(context, refused, group=request.group_id, member=request.member_id)
        raise
    if shard.log.log_end_offset != end_before:
        await linger(node.clock, node.config)
    return {
        "member_id": reply.member_id,
        "member_epoch": reply.member_epoch,
        "heartbeat_interval_ms": reply.heartbeat_interval_ms,
        "assignment": None
        if reply.assignment is None
        else {
            "topic_partitions": [
                {"topic_id": topic_id, "partitions": sorted(indexes)}
                for topic_id, indexes in reply.assignment.items()
            ]
        },
    }


def check_enabled(node: Node) -> None:
    """Check that `group.version` and the broker's settings allow consumer groups.

    Releases before 4.0 do not have the feature: with them the setting decides.

    Raises:
        Refused: UNSUPPORTED_VERSION.
    """
    has_feature = node.release is None or not node.release.is_before("4.1")
    if (
        has_feature and node.catalog.features.get("group.version", 0) < 1
    ) or "consumer" not in node.config["group.coordinator.rebalance.protocols"]:
        raise Refused(Code.UNSUPPORTED_VERSION)


def _heartbeat(
    node: Node, context: Context, request: ConsumerGroupHeartbeatRequest
) -> HeartbeatRequest:
    names = request.subscribed_topic_names
    member_id = request.member_id
    if not member_id and not request.member_epoch and context.version < _OWN_ID_SINCE:
        member_id = uuid_text(uuid4())
    may_see = None
    if node.authorizer is not None:
        may_see = partial(may, node, context, Operation.DESCRIBE, AclResource.TOPIC)
    return HeartbeatRequest(
        request.group_id,
        member_id,
        request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        subscribed_topic_names=None if names is None else frozenset(names),
        subscribed_topic_regex=request.subscribed_topic_regex,
        server_assignor=request.server_assignor,
        owned=None if request.topic_partitions is None else _owned(request.topic_partitions),
        client_id=context.client_id or "",
        client_host=f"/{context.connection.host}",  # as Java prints an address without a name
        may_see=may_see,
        requires_member_id=context.version >= _OWN_ID_SINCE,
    )


def _owned(topics: Sequence[TopicPartitions]) -> Assignment:
    owned: dict[UUID, frozenset[int]] = {}
    for topic in topics:
        topic_id = topic.topic_id or _ZERO_ID
        owned[topic_id] = owned.get(topic_id, frozenset()) | set(topic.partitions)
    return owned
