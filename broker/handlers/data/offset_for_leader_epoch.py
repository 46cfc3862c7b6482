"""OffsetForLeaderEpoch (23), versions 2-4: the end offset of a leader epoch (KIP-101).

2    the client's current leader epoch is checked
3    the id of the replica
4    flexible encoding

Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.offset_for_leader_epoch import (
        EpochEndOffset,
        OffsetForLeaderEpochRequest,
        OffsetForLeaderEpochResponse,
        OffsetForLeaderPartition,
    )
    from ...node import Node


@serves(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(2, 4), guard="clients.offset_for_leader_epoch")
async def offset_for_leader_epoch(
    node: Node, context: Context, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    return {
        "topics": [
            {
                "topic": topic.topic,
                "partitions": [
                    _end_of(node, topic.topic, asked)
                    async for asked in context.turns.each(topic.partitions)
                ],
            }
            async for topic in context.turns.each(request.topics)
        ]
    }


def _end_of(node: Node, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    error, epoch, end_offset = Code.NONE, -1, -1
    try:
        log = node.open_led_log(topic, asked.partition)
        node.check_leader_epoch(log, asked.current_leader_epoch)
        epoch, end_offset = log.offset_for_leader_epoch(asked.leader_epoch)
        if epoch == -1 and asked.leader_epoch < -1:  # before the first epoch, which is not recorded
            epoch, end_offset = asked.leader_epoch, log.log_end_offset
    except Refused as refused:
        error = refused.code
    return {
        "error_code": error,
        "partition": asked.partition,
        "leader_epoch": epoch,
        "end_offset": end_offset,
    }
