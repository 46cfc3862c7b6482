"""ShareGroupDescribe (77), version 1: describe share groups and their members.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import groups_not_enabled

if TYPE_CHECKING:
    from ...protocol.api_types.share_group_describe import ShareGroupDescribeRequest
    from ..node import Node
    from ..requests.handler import Body


@serves(ApiKey.SHARE_GROUP_DESCRIBE, versions=(1, 1))
async def share_group_describe(
    node: Node, context: Context, request: ShareGroupDescribeRequest
) -> Body:
    return groups_not_enabled(request.group_ids)
