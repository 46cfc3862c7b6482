"""ShareGroupDescribe (77), version 1: describe share groups and their members (KIP-932).

Groups of other kinds are not found. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....coordinator.share.kind import ShareKind
from ....coordinator.share.requests import SIMPLE
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.context import Context
from ...requests.described_groups import check_topics, describe_each, named_partitions
from ...requests.share.share_feature import check_share_groups

if TYPE_CHECKING:
    from ....coordinator.share.member import ShareMember
    from ....protocol.api_types.share_group_describe import (
        DescribedGroup,
        Member,
        ShareGroupDescribeRequest,
        ShareGroupDescribeResponse,
    )
    from ...node import Node


@serves(ApiKey.SHARE_GROUP_DESCRIBE, versions=(1, 1), guard=CHECKED_BY_HANDLER)
async def share_group_describe(
    node: Node, context: Context, request: ShareGroupDescribeRequest
) -> ShareGroupDescribeResponse:
    return {"groups": await describe_each(node, context, request, check_share_groups, _describe)}


async def _describe(node: Node, context: Context, group_id: str) -> DescribedGroup:
    group = node.groups.shard_of(group_id).ask(
        lambda machine: machine.kind_for(ShareKind, group_id).describe(group_id)
    )
    members = [_member(node, member) async for member in context.turns.each(group.members)]
    if node.authorizer is not None:
        named = {
            topic["topic_name"]
            for member in members
            for topic in member["assignment"]["topic_partitions"]
        }
        why = "The group has described topic(s) that the client is not authorized to describe."
        await check_topics(node, context, named, why)
    return {
        "group_id": group_id,
        "error_code": Code.NONE,
        "group_state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor_name": SIMPLE,
        "members": members,
    }


def _member(node: Node, member: ShareMember) -> Member:
    return {
        "member_id": member.member_id,
        "rack_id": member.rack_id,
        "member_epoch": member.member_epoch,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": sorted(member.subscribed_topic_names),
        "assignment": {"topic_partitions": named_partitions(node, member.assigned)},
    }
