"""DescribeLogDirs (35), versions 1-5: the data directory and the size of each partition's log.

1     throttle time
2     flexible encoding
3     an error of the whole answer
4     the total and free bytes of the volume (KIP-827)
5     whether the directory takes no new partitions (KIP-1066)

Skipped: nothing. There is one directory, so that no replica ever moves to another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.acls import Operation
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code
from ...requests.api import OnCluster, serves
from ...requests.context import Context
from ...requests.log_dirs import log_dir, volume_bytes

if TYPE_CHECKING:
    from ....protocol.api_types.describe_log_dirs import (
        DescribeLogDirsPartition,
        DescribeLogDirsRequest,
        DescribeLogDirsResponse,
        DescribeLogDirsResult,
        DescribeLogDirsTopic,
    )
    from ...node import Node


@serves(ApiKey.DESCRIBE_LOG_DIRS, versions=(1, 5), guard=OnCluster(Operation.DESCRIBE))
async def describe_log_dirs(
    node: Node, context: Context, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    path = log_dir(node)
    total_bytes, usable_bytes = volume_bytes(path)
    directory: DescribeLogDirsResult = {
        "error_code": Code.NONE,
        "log_dir": path,
        "topics": await _topics(node, context, request),
        "total_bytes": total_bytes,
        "usable_bytes": usable_bytes,
        "is_cordoned": _is_cordoned(node),
    }
    return {"results": [directory]}


def _is_cordoned(node: Node) -> bool:
    broker = node.catalog.brokers.get(node.node_id)
    return broker is not None and broker.is_cordoned


async def _topics(
    node: Node, context: Context, request: DescribeLogDirsRequest
) -> list[DescribeLogDirsTopic]:
    """The requested topics (all for None) that have a replica on this node."""
    asked: dict[str, set[int]] | None = None
    if request.topics is not None:
        asked = {}
        async for topic in context.turns.each(request.topics):
            asked.setdefault(topic.topic, set()).update(topic.partitions)
    topics: list[DescribeLogDirsTopic] = []
    for name in [*(node.catalog.topics if asked is None else asked)]:
        of_topic = None if asked is None else asked[name]
        partitions = await _partitions(node, context, name, of_topic)
        if partitions:
            topics.append({"name": name, "partitions": partitions})
    return topics


async def _partitions(
    node: Node, context: Context, name: str, asked: set[int] | None
) -> list[DescribeLogDirsPartition]:
    topic = node.catalog.topics.get(name)
    partitions: list[DescribeLogDirsPartition] = []
    await context.turns.pause()
    async for partition in context.turns.each(topic.partitions if topic is not None else ()):
        log = node.log_directory.log_of(name, partition.index)
        if log is None or node.node_id not in partition.replicas:
            continue
        if asked is None or partition.index in asked:
            partitions.append({
                "partition_index": partition.index,
                "partition_size": log.size_bytes,
                "offset_lag": 0,
                "is_future_key": False,
            })  # fmt: skip
    return partitions
