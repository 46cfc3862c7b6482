"""ReadShareGroupStateSummary (87), version 0: read start offsets of partitions of a share group.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import not_share_coordinator

if TYPE_CHECKING:
    from ...protocol.api_types.read_share_group_state_summary import (
        ReadShareGroupStateSummaryRequest,
    )
    from ..node import Node
    from ..requests.handler import Body


@serves(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions=(0, 0))
async def read_share_group_state_summary(
    node: Node, context: Context, request: ReadShareGroupStateSummaryRequest
) -> Body:
    return not_share_coordinator(
        node, context, request.topics, action="read share group state summary"
    )
