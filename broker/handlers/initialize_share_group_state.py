"""InitializeShareGroupState (83), version 0: store the first state of partitions of a share group.

Refused: share groups are not served (broker/requests/share_groups.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ..requests.context import Context
from ..requests.dispatch import serves
from ..requests.share_groups import state_refusal, states_refused

if TYPE_CHECKING:
    from ...protocol.api_types.initialize_share_group_state import (
        InitializeShareGroupStateRequest,
        InitializeShareGroupStateResponse,
    )
    from ..node import Node


@serves(ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions=(0, 0))
async def initialize_share_group_state(
    node: Node, context: Context, request: InitializeShareGroupStateRequest
) -> InitializeShareGroupStateResponse:
    refused = state_refusal(node, context, action="initialize share group state")
    return {"results": states_refused(request.topics, refused)}
