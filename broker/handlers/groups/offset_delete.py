"""OffsetDelete (47), version 0: delete a group's offsets, except of topics that it consumes.

Partitions that do not exist get an error; partitions without an offset do not. An error of the
whole request is answered without topics. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code
from ...requests.api import serves
from ...requests.context import Context
from ...runtime.shards.encoded_ahead import LARGE, run_in_slices
from .offset_commit import answers

if TYPE_CHECKING:
    from ....coordinator.groups import Groups
    from ....coordinator.moment import Moment
    from ....coordinator.outcome import Outcome
    from ....protocol.api_types.offset_delete import (
        OffsetDeleteRequest,
        OffsetDeleteResponse,
        OffsetDeleteResponseTopic,
    )
    from ...node import Node


@serves(ApiKey.OFFSET_DELETE, versions=(0, 0), guard="groups.offset_delete")
async def offset_delete(
    node: Node, context: Context, request: OffsetDeleteRequest
) -> OffsetDeleteResponse:
    partitions = [
        (topic.name, partition.partition_index)
        async for topic in context.turns.each(request.topics)
        async for partition in context.turns.each(topic.partitions)
        if node.open_log_of(topic.name, partition.partition_index) is not None
    ]

    def decide(machine: Groups, _: Moment) -> Outcome[tuple[Code, ...]]:
        return machine.delete_offsets(request.group_id, partitions)

    shard = node.groups.shard_of(request.group_id)
    if len(partitions) > LARGE:
        results = await run_in_slices(shard, decide, context.turns)
    else:
        results = await shard.run(decide)
    codes = dict(zip(partitions, results, strict=True))
    topics = await answers(node, context, request.topics, codes)
    return {"topics": cast("list[OffsetDeleteResponseTopic]", topics)}
