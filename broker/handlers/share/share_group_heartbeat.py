"""ShareGroupHeartbeat (76), version 1: join, stay in or leave a share group (KIP-932).

A member that joins gets an empty assignment until the share state of its partitions is initialized.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....coordinator.share.groups import check_request
from ....coordinator.share.kind import ShareKind
from ....coordinator.share.requests import HeartbeatRequest
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import AclResource, Operation, must
from ...requests.context import Context
from ...requests.fencing_log import log_fenced
from ...requests.share.share_feature import check_share_groups
from ...runtime.groups.group_settings import linger

if TYPE_CHECKING:
    from ....protocol.api_types.share_group_heartbeat import (
        ShareGroupHeartbeatRequest,
        ShareGroupHeartbeatResponse,
    )
    from ...node import Node

_LONGEST_ID: Final = 36


@serves(ApiKey.SHARE_GROUP_HEARTBEAT, versions=(1, 1), guard=CHECKED_BY_HANDLER)
async def share_group_heartbeat(
    node: Node, context: Context, request: ShareGroupHeartbeatRequest
) -> ShareGroupHeartbeatResponse:
    check_share_groups(node)
    must(node, context, Operation.READ, AclResource.GROUP, request.group_id)
    if not 0 < len(request.member_id) <= _LONGEST_ID:
        raise Refused(Code.INVALID_REQUEST)
    names = request.subscribed_topic_names
    if node.authorizer is not None:
        async for name in context.turns.each(names or ()):
            must(node, context, Operation.DESCRIBE, AclResource.TOPIC, name)
    heartbeat = HeartbeatRequest(
        request.group_id,
        request.member_id,
        request.member_epoch,
        rack_id=request.rack_id,
        subscribed_topic_names=None if names is None else frozenset(names),
        client_id=context.client_id or "",
        client_host=f"/{context.connection.host}",  # as Java prints an address without a name
    )
    check_request(heartbeat)
    shard = node.groups.shard_of(request.group_id)
    end_before = shard.log.log_end_offset
    try:
        reply = await shard.run(
            lambda machine, now: machine.kind_for(ShareKind, request.group_id).share_heartbeat(
                heartbeat, now=now
            )
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
