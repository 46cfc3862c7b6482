"""LeaveGroup (13), versions 0-5: remove members from a group; the others rebalance at once.

0-2  one member; its error is at the top level
1    the answer has a throttle time
3    several members, each with its own error; static ones by instance id alone (KIP-345)
4    flexible encoding
5    a reason to leave (KIP-800)

Skipped: the reason is not logged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....coordinator.classic.requests import LeavingMember
from ....protocol.acls import AclResource, Operation
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import OnResource, serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.leave_group import LeaveGroupRequest, LeaveGroupResponse
    from ...node import Node

_SEVERAL_SINCE: Final = 3


@serves(
    ApiKey.LEAVE_GROUP,
    versions=(0, 5),
    guard=OnResource(Operation.READ, AclResource.GROUP, "group_id"),
)
async def leave_group(
    node: Node, context: Context, request: LeaveGroupRequest
) -> LeaveGroupResponse:
    if context.version < _SEVERAL_SINCE:
        leaving = [LeavingMember(request.member_id)]
    else:
        leaving = [
            LeavingMember(each.member_id, each.group_instance_id) for each in request.members
        ]
    try:
        codes = await node.groups.shard_of(request.group_id).run(
            lambda machine, now: machine.leave(request.group_id, leaving, now=now)
        )
    except Refused as refused:
        if refused.code is not Code.UNKNOWN_MEMBER_ID:
            raise
        codes = (refused.code,) * len(leaving)  # no such group, so no such members
    if context.version < _SEVERAL_SINCE:
        return {"error_code": codes[0]}
    return {
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "error_code": code,
            }
            for member, code in zip(leaving, codes, strict=True)
        ]
    }
