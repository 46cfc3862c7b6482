"""OffsetDelete (47), version 0: delete a group's offsets, except of topics that it consumes.

Partitions that do not exist get an error; partitions without an offset do not. An error of the
whole request is answered without topics. Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from ..requests.context import Context
from ..requests.dispatch import serves
from .offset_commit import answers

if TYPE_CHECKING:
    from ...protocol.api_types.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
    from ..node import Node


@serves(ApiKey.OFFSET_DELETE, versions=(0, 0))
async def offset_delete(
    node: Node, context: Context, request: OffsetDeleteRequest
) -> OffsetDeleteResponse:
    partitions = [
        (topic.name, partition.partition_index)
        async for topic in context.turns.each(request.topics)
        async for partition in context.turns.each(topic.partitions)
        if node.open_log_of(topic.name, partition.partition_index) is not None
    ]
    results: tuple[Code, ...] = await node.groups.shard_of(request.group_id).run(
        lambda machine, _: machine.delete_offsets(request.group_id, partitions)
    )
    codes = dict(zip(partitions, results, strict=True))
    return {"topics": await answers(node, context, request.topics, codes)}
