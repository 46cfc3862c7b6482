"""DeleteGroups (42), versions 0-3: delete empty groups with their offsets.

2    flexible encoding
3    a message for each error (KIP-1331); no deletion of Ottla has one

A group named twice is answered once. The groups of one coordinator are deleted together; if the
append to its log fails, none is deleted. A share group loses its share state first. Skipped:
nothing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ....coordinator.group_kinds import SHARE
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.context import Context
from ...runtime.shards.encoded_ahead import run_in_slices

if TYPE_CHECKING:
    from ....coordinator.groups import Groups
    from ....coordinator.moment import Moment
    from ....coordinator.outcome import Outcome
    from ....coordinator.share.requests import StatePartitions
    from ....protocol.api_types.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
    from ...node import Node
    from ...runtime.shards.shard import Shard


@serves(ApiKey.DELETE_GROUPS, versions=(0, 3), guard="groups.delete_groups")
async def delete_groups(
    node: Node, context: Context, request: DeleteGroupsRequest
) -> DeleteGroupsResponse:
    codes: dict[str, Code] = dict.fromkeys(request.groups_names, Code.NONE)
    shards: dict[Shard[Groups], list[str]] = {}
    async for group_id in context.turns.each([*codes]):
        try:
            shards.setdefault(node.groups.shard_of(group_id), []).append(group_id)
        except Refused as refused:
            codes[group_id] = refused.code
    async for shard, group_ids in context.turns.each(shards.items()):
        codes |= await _delete(node, context, shard, group_ids)
    return {
        "results": [{"group_id": group_id, "error_code": code} for group_id, code in codes.items()]
    }


async def _delete(
    node: Node, context: Context, shard: Shard[Groups], group_ids: list[str]
) -> dict[str, Code]:
    try:
        kept = await _delete_share_state(node, context, shard, group_ids)
        going = [group_id for group_id in group_ids if group_id not in kept]
        return kept | await run_in_slices(
            shard, lambda machine, _: machine.delete(going), context.turns
        )
    except Refused as refused:
        return dict.fromkeys(group_ids, refused.code)


async def _delete_share_state(
    node: Node, context: Context, shard: Shard[Groups], group_ids: list[str]
) -> dict[str, Code]:
    """Delete the share state of share groups; the codes of those that keep some of theirs."""
    share_groups = shard.ask(lambda machine: machine.of_kind(SHARE, group_ids))
    if not share_groups:
        return {}
    kept: dict[str, Code] = {}
    async for group_id in context.turns.each(share_groups):
        try:
            partitions = await shard.run(partial(_begin_deletion, group_id=group_id))
        except Refused as refused:
            kept[group_id] = refused.code
            continue
        work = node.cluster.share_state_work
        for refusal in (await work.delete(group_id, partitions, context.turns)).values():
            kept[group_id] = refusal.code
    return kept


def _begin_deletion(machine: Groups, _: Moment, group_id: str) -> Outcome[StatePartitions]:
    from ....coordinator.share.kind import ShareKind

    return machine.kind(ShareKind).begin_deletion(group_id)
