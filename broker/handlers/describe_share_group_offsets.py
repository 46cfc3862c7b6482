"""DescribeShareGroupOffsets (90), version 0: show the start offsets of share groups.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import NOT_ENABLED

if TYPE_CHECKING:
    from ...protocol.api_types.describe_share_group_offsets import (
        DescribeShareGroupOffsetsRequest,
        DescribeShareGroupOffsetsResponse,
    )
    from ..node import Node


@serves(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions=(0, 0))
async def describe_share_group_offsets(
    node: Node, context: Context, request: DescribeShareGroupOffsetsRequest
) -> DescribeShareGroupOffsetsResponse:
    return {
        "groups": [
            {
                "group_id": group.group_id,
                "error_code": NOT_ENABLED,
                "topics": [],
            }
            for group in request.groups
        ]
    }
