"""ReadShareGroupStateSummary (87), version 0: read start offsets of partitions of a share group.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import state_refusal

if TYPE_CHECKING:
    from ...protocol.api_types.read_share_group_state_summary import (
        ReadShareGroupStateSummaryRequest,
        ReadShareGroupStateSummaryResponse,
    )
    from ..node import Node


@serves(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions=(0, 0))
async def read_share_group_state_summary(
    node: Node, context: Context, request: ReadShareGroupStateSummaryRequest
) -> ReadShareGroupStateSummaryResponse:
    refused = state_refusal(node, context, action="read share group state summary")
    return {
        "results": [
            {
                "topic_id": topic.topic_id,
                "partitions": [
                    {
                        "partition": each.partition,
                        "error_code": refused.code,
                        "error_message": refused.why,
                        "state_epoch": 0,
                        "leader_epoch": 0,
                        "start_offset": 0,
                    }
                    for each in topic.partitions
                ],
            }
            for topic in request.topics
        ]
    }
