"""ShareGroupHeartbeat (76), version 1: a member joins, stays in or leaves a share group.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Refused
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import NOT_ENABLED

if TYPE_CHECKING:
    from ...protocol.api_types.share_group_heartbeat import (
        ShareGroupHeartbeatRequest,
        ShareGroupHeartbeatResponse,
    )
    from ..node import Node


@serves(ApiKey.SHARE_GROUP_HEARTBEAT, versions=(1, 1))
async def share_group_heartbeat(
    node: Node, context: Context, request: ShareGroupHeartbeatRequest
) -> ShareGroupHeartbeatResponse:
    raise Refused(NOT_ENABLED)
