"""AlterReplicaLogDirs (34), versions 1-2: move replicas to another data directory of the broker.

1     throttle time
2     flexible encoding

Ottla has one data directory: a move to it succeeds at once, and other directories do not exist.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code
from ...requests.api import serves
from ...requests.context import Context
from ...requests.log_dirs import log_dir

if TYPE_CHECKING:
    from ....protocol.api_types.alter_replica_log_dirs import (
        AlterReplicaLogDirsRequest,
        AlterReplicaLogDirsResponse,
    )
    from ...node import Node


@serves(
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    versions=(1, 2),
    guard="administration.alter_replica_log_dirs",
)
async def alter_replica_log_dirs(
    node: Node, context: Context, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    # For a partition that is named twice the last directory counts.
    paths: dict[str, dict[int, str]] = {}
    for directory in request.dirs:
        async for topic in context.turns.each(directory.topics):
            async for partition in context.turns.each(topic.partitions):
                paths.setdefault(topic.name, {})[partition] = directory.path
    here = log_dir(node)
    return {
        "results": [
            {
                "topic_name": name,
                "partitions": [
                    {
                        "partition_index": partition,
                        "error_code": _code(node, name, partition, is_here=path == here),
                    }
                    async for partition, path in context.turns.each(partitions.items())
                ],
            }
            async for name, partitions in context.turns.each(paths.items())
        ]
    }


def _code(node: Node, name: str, partition: int, *, is_here: bool) -> Code:
    if not is_here:
        return Code.LOG_DIR_NOT_FOUND
    topic = node.catalog.topics.get(name)
    if topic is None or not 0 <= partition < len(topic.partitions):
        return Code.UNKNOWN_TOPIC_OR_PARTITION
    if node.open_log_of(name, partition) is None:
        return node.why_missing(name, partition)
    if node.node_id not in topic.partitions[partition].replicas:
        return Code.REPLICA_NOT_AVAILABLE
    return Code.NONE
