"""DeleteGroups (42), versions 0-2: remove empty groups with their offsets.

2    flexible encoding

A group named twice is answered once. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ..context import Context
from ..dispatch import serves

if TYPE_CHECKING:
    from ..node import Node


@serves(ApiKey.DELETE_GROUPS, versions=(0, 2))
async def delete_groups(node: Node, context: Context, request: Any) -> dict[str, Any]:
    return {
        "results": [
            {"group_id": group_id, "error_code": await _delete(node, group_id)}
            for group_id in dict.fromkeys(request.groups_names)
        ]
    }


async def _delete(node: Node, group_id: str) -> Code:
    try:
        await node.groups.shard_of(group_id).run(lambda machine, _: machine.delete(group_id))
    except Refused as refused:
        return refused.code
    return Code.NONE
