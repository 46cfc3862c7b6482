"""Heartbeat (12), versions 0-4: keep a classic member's session, and tell it about a rebalance.

1    the answer has a throttle time
3    static members by group.instance.id (KIP-345)
4    flexible encoding

Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....coordinator.groups import ClaimedMember
from ....protocol.acls import AclResource, Operation
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Refused
from ...requests.api import OnResource, serves
from ...requests.context import Context
from ...requests.fencing_log import log_fenced

if TYPE_CHECKING:
    from ....protocol.api_types.heartbeat import HeartbeatRequest, HeartbeatResponse
    from ...node import Node


@serves(
    ApiKey.HEARTBEAT,
    versions=(0, 4),
    guard=OnResource(Operation.READ, AclResource.GROUP, "group_id"),
)
async def heartbeat(node: Node, context: Context, request: HeartbeatRequest) -> HeartbeatResponse:
    member = ClaimedMember(request.member_id, request.generation_id, request.group_instance_id)
    try:
        code = await node.groups.shard_of(request.group_id).run(
            lambda machine, now: machine.heartbeat(request.group_id, member, now=now)
        )
    except Refused as refused:
        log_fenced(context, refused, group=request.group_id, member=request.member_id)
        raise
    return {"error_code": code}
