"""WriteShareGroupState (85), versions 0-1: change the state of partitions of a share group.

1    the number of records behind the start offset that are done (KIP-1226)

The leader of a partition sends it when records are acknowledged. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...coordinator.share_state.states import NO_COUNT, StateBatch
from ...protocol.api_keys import ApiKey
from ..requests.api import CHECKED_BY_HANDLER, serves
from ..requests.context import Context
from ..requests.handler import Body
from ..requests.share_states import decide_each

if TYPE_CHECKING:
    from ...protocol.api_types.write_share_group_state import WriteShareGroupStateRequest
    from ..node import Node

_COUNTS_SINCE: Final = 1


@serves(ApiKey.WRITE_SHARE_GROUP_STATE, versions=(0, 1), guard=CHECKED_BY_HANDLER)
async def write_share_group_state(
    node: Node, context: Context, request: WriteShareGroupStateRequest
) -> Body:
    return await decide_each(
        node, context, request,
        lambda machine, key, asked, now: machine.write(
            key,
            state_epoch=asked.state_epoch,
            leader_epoch=asked.leader_epoch,
            start_offset=asked.start_offset,
            delivery_complete_count=(
                asked.delivery_complete_count if context.version >= _COUNTS_SINCE else NO_COUNT
            ),
            batches=[
                StateBatch(
                    each.first_offset, each.last_offset, each.delivery_state, each.delivery_count
                )
                for each in asked.state_batches
            ],
            now_ms=now.wall_ms,
        ),
    )  # fmt: skip
