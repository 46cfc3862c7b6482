"""DescribeGroups (15), versions 0-6: describe classic groups, their members and assignments.

1    the answer has a throttle time
3    the client's authorized operations, on request
4    static members by group.instance.id (KIP-345)
5    flexible encoding
6    a missing group is GROUP_ID_NOT_FOUND, with a message (KIP-1043); before, it is Dead

Consumer groups (KIP-848) are not found. The answer has the metadata of members while the group is
stable, and always their last assignment.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....coordinator.groups import DescribedGroup
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.authorization import AclResource, operations_of
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.describe_groups import DescribedGroup as GroupAnswer
    from ....protocol.api_types.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
    from ...node import Node

_NOT_FOUND_SINCE: Final = 6


@serves(ApiKey.DESCRIBE_GROUPS, versions=(0, 6), guard="groups.describe_groups")
async def describe_groups(
    node: Node, context: Context, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    groups: list[GroupAnswer] = []
    async for group_id in context.turns.each(request.groups):
        answer = _described(node, context, group_id)
        if request.include_authorized_operations and answer["error_code"] == Code.NONE:
            answer["authorized_operations"] = frozenset(operations_of(node, AclResource.GROUP))
        groups.append(answer)
    return {"groups": groups}


def _described(node: Node, context: Context, group_id: str) -> GroupAnswer:
    try:
        shard = node.groups.shard_of(group_id)
        group: DescribedGroup | None = shard.ask(lambda machine: machine.describe(group_id))
        kind_name = shard.ask(lambda machine: machine.kind_name_of(group_id))
    except Refused as refused:
        return _without_members(group_id, refused.code)
    if group is None:
        if context.version < _NOT_FOUND_SINCE:
            return {**_without_members(group_id), "group_state": "Dead"}
        what = "not found" if kind_name is None else "is not a classic group"
        return {
            **_without_members(group_id, Code.GROUP_ID_NOT_FOUND),
            "error_message": f"Group {group_id} {what}.",
            "group_state": "Dead",
        }
    return {
        "error_code": Code.NONE,
        "group_id": group_id,
        "group_state": group.state,
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                "member_metadata": metadata,
                "member_assignment": member.assignment,
            }
            for member, metadata in group.members
        ],
    }


def _without_members(group_id: str, code: Code = Code.NONE) -> GroupAnswer:
    return {
        "error_code": code,
        "group_id": group_id,
        "group_state": "",
        "protocol_type": "",
        "protocol_data": "",
        "members": [],
    }
