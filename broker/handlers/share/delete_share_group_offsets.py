"""DeleteShareGroupOffsets (92), version 0: what a share group without members has read (KIP-932).

The share state of the topics is deleted; the group keeps the others. Skipped: nothing.
"""

from __future__ import annotations

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
    from ....protocol.api_types.delete_share_group_offsets import (
        DeleteShareGroupOffsetsRequest,
        DeleteShareGroupOffsetsResponse,
        DeleteShareGroupOffsetsResponseTopic,
    )
    from ...node import Node

_NO_ID: Final = UUID(int=0)


@serves(ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions=(0, 0), guard=CHECKED_BY_HANDLER)
async def delete_share_group_offsets(
    node: Node, context: Context, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse:
    check_share_groups(node, NOT_ENABLED)
    group_id = request.group_id
    if not may(node, context, Operation.DELETE, AclResource.GROUP, group_id):
        raise Refused(Code.GROUP_AUTHORIZATION_FAILED, WHY[Code.GROUP_AUTHORIZATION_FAILED])
    names: dict[str, None] = {}
    denied: list[str] = []
    async for topic in context.turns.each(request.topics):
        if may_topic(node, context, Operation.READ, topic.topic_name):
            names[topic.topic_name] = None
        else:
            denied.append(topic.topic_name)
    code = Code.TOPIC_AUTHORIZATION_FAILED
    responses = await _delete(node, context, group_id, list(names))
    responses += [_answer(name, code=code, why=WHY[code]) for name in denied]
    return {"error_code": Code.NONE, "error_message": None, "responses": responses}


async def _delete(
    node: Node, context: Context, group_id: str, names: list[str]
) -> list[DeleteShareGroupOffsetsResponseTopic]:
    shard = node.groups.shard_of(group_id)
    going = await shard.run(
        lambda machine, _: machine.kind_for(ShareKind, group_id).begin_deleting_offsets(
            group_id, names
        )
    )
    kept = await node.cluster.share_state_work.delete(group_id, going.partitions, context.turns)
    gone = going.topics.keys() - kept.keys()
    await shard.run(lambda machine, _: machine.kind(ShareKind).deleted_offsets(group_id, gone))
    responses = [_answer(going.topics[each], each) for each in going.topics if each in gone]
    responses += [_answer(name, code=code, why=why) for name, (code, why) in going.refusals.items()]
    for topic_id, refused in kept.items():
        responses.append(_answer(going.topics[topic_id], code=refused.code, why=refused.why))
    return responses


def _answer(
    name: str, topic_id: UUID = _NO_ID, *, code: Code = Code.NONE, why: str | None = None
) -> DeleteShareGroupOffsetsResponseTopic:
    return {"topic_name": name, "topic_id": topic_id, "error_code": code, "error_message": why}
