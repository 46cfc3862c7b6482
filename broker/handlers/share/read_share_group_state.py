"""ReadShareGroupState (84), version 0: read the state of partitions of a share group.

The leader of a partition sends it when it begins to serve the group. Its leader epoch is
remembered, so that an earlier leader can write no more. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api_keys import ApiKey
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.context import Context
from ...requests.handler import Body
from ...requests.share.share_states import decide_each

if TYPE_CHECKING:
    from ....protocol.api_types.read_share_group_state import ReadShareGroupStateRequest
    from ...node import Node


@serves(ApiKey.READ_SHARE_GROUP_STATE, versions=(0, 0), guard=CHECKED_BY_HANDLER)
async def read_share_group_state(
    node: Node, context: Context, request: ReadShareGroupStateRequest
) -> Body:
    return await decide_each(
        node, context, request,
        lambda machine, key, asked, now: machine.read(
            key, leader_epoch=asked.leader_epoch, now_ms=now.wall_ms
        ),
        answer=lambda state: {
            "state_epoch": state.state_epoch,
            "start_offset": state.start_offset,
            "state_batches": [each._asdict() for each in state.batches],
        },
        no_state={"state_epoch": 0, "start_offset": 0, "state_batches": []},
    )  # fmt: skip
