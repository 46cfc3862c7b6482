"""DescribeShareGroupOffsets (90), version 0: show the start offsets of share groups.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import groups_not_enabled

if TYPE_CHECKING:
    from ...protocol.api_types.describe_share_group_offsets import DescribeShareGroupOffsetsRequest
    from ..node import Node
    from ..requests.handler import Body


@serves(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions=(0, 0))
async def describe_share_group_offsets(
    node: Node, context: Context, request: DescribeShareGroupOffsetsRequest
) -> Body:
    return groups_not_enabled(group.group_id for group in request.groups)
