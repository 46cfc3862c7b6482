"""SyncGroup (14), versions 0-5: the leader sends the assignment, each member gets its part.

1    the answer has a throttle time
3    static members by group.instance.id (KIP-345)
4    flexible encoding
5    protocol type and name in request and answer; they are mandatory (KIP-559)

The answer waits for the leader's assignment, and then for `group.coordinator.append.linger.ms`, as
in Kafka. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....coordinator.classic.requests import SyncRequest
from ....protocol.acls import AclResource, Operation
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import OnResource, serves
from ...requests.context import Context
from ...runtime.groups.group_settings import linger

if TYPE_CHECKING:
    from ....protocol.api_types.sync_group import SyncGroupRequest, SyncGroupResponse
    from ...node import Node

_PROTOCOL_SINCE: Final = 5


@serves(
    ApiKey.SYNC_GROUP,
    versions=(0, 5),
    guard=OnResource(Operation.READ, AclResource.GROUP, "group_id"),
)
async def sync_group(node: Node, context: Context, request: SyncGroupRequest) -> SyncGroupResponse:
    protocol_type, protocol = None, None
    if context.version >= _PROTOCOL_SINCE:
        protocol_type, protocol = request.protocol_type, request.protocol_name
        if protocol_type is None or protocol is None:
            raise Refused(Code.INCONSISTENT_GROUP_PROTOCOL)
    sync = SyncRequest(
        request.group_id,
        request.generation_id,
        request.member_id,
        request.group_instance_id,
        protocol_type,
        protocol,
        {each.member_id: bytes(each.assignment) for each in request.assignments},
    )
    shard = node.groups.shard_of(request.group_id)
    end_before = shard.log.log_end_offset
    reply = await shard.run_parked(
        lambda machine, now, ticket: machine.sync(sync, ticket=ticket, now=now)
    )
    if shard.log.log_end_offset != end_before:
        await linger(node.clock, node.config)
    return {
        "error_code": reply.error,
        "protocol_type": reply.protocol_type,
        "protocol_name": reply.protocol,
        "assignment": reply.assignment,
    }
