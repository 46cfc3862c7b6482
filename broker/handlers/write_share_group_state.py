"""WriteShareGroupState (85), version 0: change the state of partitions of a share group.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import state_refusal, states_refused

if TYPE_CHECKING:
    from ...protocol.api_types.write_share_group_state import (
        WriteShareGroupStateRequest,
        WriteShareGroupStateResponse,
    )
    from ..node import Node


@serves(ApiKey.WRITE_SHARE_GROUP_STATE, versions=(0, 0))
async def write_share_group_state(
    node: Node, context: Context, request: WriteShareGroupStateRequest
) -> WriteShareGroupStateResponse:
    refused = state_refusal(node, context, action="write share group state")
    return {"results": states_refused(request.topics, refused)}
