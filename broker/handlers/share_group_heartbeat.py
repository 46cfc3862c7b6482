"""ShareGroupHeartbeat (76), version 1: a member joins, stays in or leaves a share group.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import not_enabled

if TYPE_CHECKING:
    from ...protocol.api_types.share_group_heartbeat import ShareGroupHeartbeatRequest
    from ..node import Node
    from ..requests.handler import Body


@serves(ApiKey.SHARE_GROUP_HEARTBEAT, versions=(1, 1))
async def share_group_heartbeat(
    node: Node, context: Context, request: ShareGroupHeartbeatRequest
) -> Body:
    return not_enabled()
