"""WriteShareGroupState (85), version 0: change the state of partitions of a share group.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import not_share_coordinator

if TYPE_CHECKING:
    from ...protocol.api_types.write_share_group_state import WriteShareGroupStateRequest
    from ..node import Node
    from ..requests.handler import Body


@serves(ApiKey.WRITE_SHARE_GROUP_STATE, versions=(0, 0))
async def write_share_group_state(
    node: Node, context: Context, request: WriteShareGroupStateRequest
) -> Body:
    return not_share_coordinator(node, context, request.topics, action="write share group state")
