"""ListOffsets (2), versions 1-11: the offset of a timestamp, or the first, last or other offset.

1    one offset for each partition
2    isolation level: the latest offset of a read_committed consumer is the last stable one
4    the consumer's leader epoch is checked, and the answer has the epoch of the offset
6    flexible encoding
7    -3, the offset of the largest timestamp (KIP-734)
8    -4, the earliest offset on this machine's disk (KIP-405)
9    -5, the latest offset in tiered storage (KIP-1005)
10   the client's time limit
11   -6, the earliest offset that is not yet in tiered storage (KIP-1023)

Skipped: tiered storage; there is none, so -5 and -6 are -1.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ....storage.log import PartitionLog
from ....storage.segments.time_search import load_times_in_steps
from ...requests.api import serves
from ...requests.context import PAUSE_EVERY, Context

if TYPE_CHECKING:
    from ....protocol.api_types.list_offsets import (
        ListOffsetsPartition,
        ListOffsetsPartitionResponse,
        ListOffsetsRequest,
        ListOffsetsResponse,
        ListOffsetsTopic,
        ListOffsetsTopicResponse,
    )
    from ...node import Node

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
_KNOWN_SINCE: Final = {
    LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}  # fmt: skip
_READ_UNCOMMITTED: Final = 0
_READ_COMMITTED: Final = 1
_CONSUMER: Final = -1

Found = tuple[int, int, int]  # offset, timestamp, leader epoch
_NOTHING: Final[Found] = (-1, -1, -1)


@serves(ApiKey.LIST_OFFSETS, versions=(1, 11), guard="clients.list_offsets")
async def list_offsets(
    node: Node, context: Context, request: ListOffsetsRequest
) -> ListOffsetsResponse:
    if request.isolation_level not in (_READ_UNCOMMITTED, _READ_COMMITTED):
        return {"topics": [await _refused(context, topic) for topic in request.topics]}
    requested: dict[tuple[str, int], ListOffsetsPartition] = {}
    twice: set[tuple[str, int]] = set()
    passed = 0
    for topic in request.topics:
        for partition in topic.partitions:
            passed += 1
            if passed % PAUSE_EVERY == 0:
                await context.turns.pause()
            topic_partition = (topic.name, partition.partition_index)
            if topic_partition in requested:
                twice.add(topic_partition)
            requested[topic_partition] = partition
    topics: dict[str, list[ListOffsetsPartitionResponse]] = {}
    # Kafka answers a partition that is requested twice once, with an error.
    for passed, ((name, index), partition) in enumerate(requested.items(), 1):
        by_time = partition.timestamp >= 0 or partition.timestamp == MAX_TIMESTAMP
        if by_time or passed % PAUSE_EVERY == 0:
            await context.turns.pause()
        try:
            if (name, index) in twice:
                raise Refused(Code.INVALID_REQUEST)
            _check_known(partition.timestamp, context.version)
            log = _log(node, name, partition)
            if by_time:
                await _check_times(log, partition.timestamp)
                log = _log(node, name, partition)
            found = await _find(node, log, partition.timestamp, _limit(log, request))
            error = Code.NONE
        except Refused as refused:
            _tell_of_trouble(node, name, index, refused)
            found, error = _NOTHING, refused.code
        topics.setdefault(name, []).append(
            {
                "partition_index": index,
                "error_code": error,
                "offset": found[0],
                "timestamp": found[1],
                "leader_epoch": found[2],
            }
        )
    return {"topics": [{"name": name, "partitions": found} for name, found in topics.items()]}


async def _refused(context: Context, topic: ListOffsetsTopic) -> ListOffsetsTopicResponse:
    """The answer for each partition of a topic if the request as a whole is wrong."""
    return {
        "name": topic.name,
        "partitions": [
            {"partition_index": partition.partition_index, "error_code": Code.UNKNOWN_SERVER_ERROR}
            async for partition in context.turns.each(topic.partitions)
        ],
    }


def _log(node: Node, topic: str, partition: ListOffsetsPartition) -> PartitionLog:
    log = node.open_led_log(topic, partition.partition_index)
    node.check_leader_epoch(log, partition.current_leader_epoch)
    return log


async def _check_times(log: PartitionLog, timestamp: int) -> None:
    """Check timestamps from before the last start, in steps between other requests."""
    with suppress(OSError):  # the search itself will raise it
        for _ in load_times_in_steps(log.segments, timestamp if timestamp >= 0 else None):
            await asyncio.sleep(0)


def _tell_of_trouble(node: Node, topic: str, index: int, refused: Refused) -> None:
    log = node.open_log_of(topic, index)
    if log is not None:
        node.storage_trouble.report(log, refused)


def _limit(log: PartitionLog, request: ListOffsetsRequest) -> int:
    """The end of the log for the client, by its isolation level."""
    if request.isolation_level == _READ_COMMITTED and request.replica_id == _CONSUMER:
        return log.last_stable_offset
    return log.high_watermark


def _check_known(timestamp: int, version: int) -> None:
    """Raise Refused for a special timestamp that the version does not have."""
    if timestamp < 0 and version < _KNOWN_SINCE.get(timestamp, 1 << 15):
        raise Refused(Code.UNSUPPORTED_VERSION)


async def _find(node: Node, log: PartitionLog, timestamp: int, limit: int) -> Found:
    if timestamp == LATEST:
        return limit, -1, log.leader_epoch
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return log.log_start_offset, -1, log.leader_epoch
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _NOTHING
    target_timestamp = None if timestamp == MAX_TIMESTAMP else timestamp
    found = await node.long_work.run(log.search(target_timestamp))
    if found is None or found[0] >= limit:
        return _NOTHING
    return found
