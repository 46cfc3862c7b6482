"""DeleteShareGroupState (86), version 0: remove the state of partitions of a share group.

The group coordinator sends it when a group or its offsets are deleted. A partition without a state
is no error. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api_keys import ApiKey
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.context import Context
from ...requests.handler import Body
from ...requests.share.share_states import decide_each

if TYPE_CHECKING:
    from ....protocol.api_types.delete_share_group_state import DeleteShareGroupStateRequest
    from ...node import Node


@serves(ApiKey.DELETE_SHARE_GROUP_STATE, versions=(0, 0), guard=CHECKED_BY_HANDLER)
async def delete_share_group_state(
    node: Node, context: Context, request: DeleteShareGroupStateRequest
) -> Body:
    return await decide_each(
        node, context, request, lambda machine, key, asked, now: machine.delete(key)
    )
