"""ListGroups (16), versions 0-5: list the groups that this node coordinates.

1    the answer has a throttle time
3    flexible encoding
4    a filter by state, and the state of each group (KIP-518)
5    a filter by type, and the type of each group (KIP-848)

Filters ignore case; unknown states and types match no group.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....coordinator.groups import Groups, ListedGroup
from ....protocol.api_keys import ApiKey
from ...requests.api import serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.list_groups import ListGroupsRequest, ListGroupsResponse
    from ...node import Node


@serves(ApiKey.LIST_GROUPS, versions=(0, 5), guard="groups.list_groups")
async def list_groups(
    node: Node, context: Context, request: ListGroupsRequest
) -> ListGroupsResponse:
    turns = context.turns
    states = {each.strip().lower() async for each in turns.each(request.states_filter or ())}
    types = {each.lower() async for each in turns.each(request.types_filter or ())}

    def read(machine: Groups) -> list[ListedGroup]:
        return machine.list_groups(states=states, types=types)

    return {
        "groups": [
            {
                "group_id": group.group_id,
                "protocol_type": group.protocol_type,
                "group_state": group.state,
                "group_type": group.group_type,
            }
            async for shard in turns.each([*node.groups.shards()])
            async for group in turns.each(shard.ask(read))
        ]
    }
