"""InitializeShareGroupState (83), version 0: make the state of partitions of a share group.

The group coordinator sends it when a group first reads a partition, and when its offsets are
altered. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api_keys import ApiKey
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.context import Context
from ...requests.handler import Body
from ...requests.share.share_states import decide_each

if TYPE_CHECKING:
    from ....protocol.api_types.initialize_share_group_state import InitializeShareGroupStateRequest
    from ...node import Node


@serves(ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions=(0, 0), guard=CHECKED_BY_HANDLER)
async def initialize_share_group_state(
    node: Node, context: Context, request: InitializeShareGroupStateRequest
) -> Body:
    return await decide_each(
        node, context, request,
        lambda machine, key, asked, now: machine.initialize(
            key,
            state_epoch=asked.state_epoch,
            start_offset=asked.start_offset,
            now_ms=now.wall_ms,
        ),
        may_be_without_partitions=True,
    )  # fmt: skip
