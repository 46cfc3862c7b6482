"""ShareGroupDescribe (77), version 1: describe share groups and their members.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import NOT_ENABLED

if TYPE_CHECKING:
    from ...protocol.api_types.share_group_describe import (
        ShareGroupDescribeRequest,
        ShareGroupDescribeResponse,
    )
    from ..node import Node


@serves(ApiKey.SHARE_GROUP_DESCRIBE, versions=(1, 1))
async def share_group_describe(
    node: Node, context: Context, request: ShareGroupDescribeRequest
) -> ShareGroupDescribeResponse:
    return {
        "groups": [
            {
                "group_id": group_id,
                "error_code": NOT_ENABLED,
                "group_state": "",
                "group_epoch": 0,
                "assignment_epoch": 0,
                "assignor_name": "",
                "members": [],
            }
            for group_id in request.group_ids
        ]
    }
