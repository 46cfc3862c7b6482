"""ReadShareGroupState (84), version 0: read the state of partitions of a share group.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import state_refusal

if TYPE_CHECKING:
    from ...protocol.api_types.read_share_group_state import (
        ReadShareGroupStateRequest,
        ReadShareGroupStateResponse,
    )
    from ..node import Node


@serves(ApiKey.READ_SHARE_GROUP_STATE, versions=(0, 0))
async def read_share_group_state(
    node: Node, context: Context, request: ReadShareGroupStateRequest
) -> ReadShareGroupStateResponse:
    refused = state_refusal(node, context, action="read share group state")
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
                        "start_offset": 0,
                        "state_batches": [],
                    }
                    for each in topic.partitions
                ],
            }
            for topic in request.topics
        ]
    }
