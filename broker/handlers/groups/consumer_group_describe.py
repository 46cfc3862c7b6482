"""ConsumerGroupDescribe (69), versions 0-1: describe consumer groups and members (KIP-848).

1    whether a member uses the classic or the consumer protocol (KIP-1099)

Classic groups are not found. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....coordinator.consumer.kind import ConsumerKind
from ....coordinator.consumer.member import NOTHING, Assignment, ConsumerMember
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.context import Context
from ...requests.described_groups import check_topics, describe_each, named_partitions
from .consumer_group_heartbeat import check_enabled

if TYPE_CHECKING:
    from ....protocol.api_types.consumer_group_describe import (
        ConsumerGroupDescribeRequest,
        ConsumerGroupDescribeResponse,
        DescribedGroup,
        Member,
    )
    from ...node import Node

_CLASSIC: Final = 0
_CONSUMER: Final = 1


@serves(ApiKey.CONSUMER_GROUP_DESCRIBE, versions=(0, 1), guard=CHECKED_BY_HANDLER)
async def consumer_group_describe(
    node: Node, context: Context, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    return {"groups": await describe_each(node, context, request, check_enabled, _describe)}


async def _describe(node: Node, context: Context, group_id: str) -> DescribedGroup:
    group = node.groups.shard_of(group_id).ask(
        lambda machine: machine.kind_for(ConsumerKind, group_id).describe(group_id)
    )
    members = [
        _member(node, member, group.targets.get(member.member_id, NOTHING))
        async for member in context.turns.each(group.members)
    ]
    if node.authorizer is not None:
        named = {name for member in members for name in _topics_in(member)}
        why = "The group has described topic(s) that the client is not authorized to describe."
        await check_topics(node, context, named, why)
    return {
        "group_id": group_id,
        "error_code": Code.NONE,
        "group_state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor_name": group.assignor,
        "members": members,
    }


def _member(node: Node, member: ConsumerMember, target: Assignment) -> Member:
    release = node.release
    assigned = member.held if release is None or release.describes_revoked else member.assigned
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "member_epoch": member.member_epoch,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": sorted(member.subscribed_topic_names),
        "subscribed_topic_regex": member.subscribed_topic_regex,
        "assignment": {"topic_partitions": named_partitions(node, assigned)},
        "target_assignment": {"topic_partitions": named_partitions(node, target)},
        "member_type": _CONSUMER if member.classic is None else _CLASSIC,
    }


def _topics_in(member: Member) -> set[str]:
    return {
        topic["topic_name"]
        for assignment in (member["assignment"], member["target_assignment"])
        for topic in assignment["topic_partitions"]
    } | set(member["subscribed_topic_names"])
