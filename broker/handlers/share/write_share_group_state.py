"""WriteShareGroupState (85), versions 0-1: change the state of partitions of a share group.

1    the number of records behind the start offset that are done (KIP-1226)

The leader of a partition sends it when records are acknowledged. Skipped: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from ....coordinator.moment import Moment
from ....coordinator.outcome import Outcome
from ....coordinator.share_state.batches import combine
from ....coordinator.share_state.coordinator import ShareStates
from ....coordinator.share_state.states import NO_COUNT, NO_OFFSET, SharePartition, StateBatch
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.context import Context
from ...requests.handler import Body
from ...requests.share.share_states import decide_each

if TYPE_CHECKING:
    from ....protocol.api_types.write_share_group_state import (
        PartitionData,
        WriteShareGroupStateRequest,
    )
    from ....protocol.api_types.write_share_group_state import StateBatch as ListedBatch
    from ...node import Node

_COUNTS_SINCE: Final = 1
_FEW: Final = 500
_BATCH_BYTES: Final = 20  # of a record


@serves(ApiKey.WRITE_SHARE_GROUP_STATE, versions=(0, 1), guard=CHECKED_BY_HANDLER)
async def write_share_group_state(
    node: Node, context: Context, request: WriteShareGroupStateRequest
) -> Body:
    most = node.config["message.max.bytes"] // _BATCH_BYTES
    merged: dict[int, Sequence[StateBatch]] = {}
    for topic in request.topics:
        for partition in topic.partitions:
            merged[id(partition)] = await _merge(node, context, partition.state_batches)

    def write(
        machine: ShareStates, key: SharePartition, asked: PartitionData, now: Moment
    ) -> Outcome[None]:
        batches = merged[id(asked)]
        if len(batches) > most:  # the log would refuse them, but only after a long decision
            raise Refused(Code.UNKNOWN_SERVER_ERROR)
        has_count = context.version >= _COUNTS_SINCE
        return machine.write(
            key,
            state_epoch=asked.state_epoch,
            leader_epoch=asked.leader_epoch,
            start_offset=asked.start_offset,
            delivery_complete_count=asked.delivery_complete_count if has_count else NO_COUNT,
            batches=batches,
            now_ms=now.wall_ms,
        )

    return await decide_each(node, context, request, write)


async def _merge(
    node: Node, context: Context, listed: Sequence[ListedBatch]
) -> Sequence[StateBatch]:
    """The batches of a partition; many of them are merged in a thread, before the decision."""
    batches = []
    async for each in context.turns.each(listed):
        batch = StateBatch(
            each.first_offset, each.last_offset, each.delivery_state, each.delivery_count
        )
        if batch.last_offset < batch.first_offset:
            return [batch]  # it is refused
        batches.append(batch)
    if len(batches) <= _FEW:
        return batches
    return await node.workers.run(partial(combine, (), batches, NO_OFFSET))
