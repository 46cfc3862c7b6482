"""DeleteRecords (21), versions 0-2: raise the start offset of logs.

2    flexible encoding

Skipped: nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...log_output import Log
from ...requests.api import serves
from ...requests.context import Context
from ...runtime.logs.blocking_steps import NO_RESOURCES, in_threads, reason_of
from ...runtime.logs.storage_trouble import remedy

if TYPE_CHECKING:
    from ....protocol.api_types.delete_records import (
        DeleteRecordsPartitionResult,
        DeleteRecordsRequest,
        DeleteRecordsResponse,
        DeleteRecordsTopicResult,
    )
    from ...node import Node

_HIGH_WATERMARK: Final = -1
_log = Log("storage")


@serves(ApiKey.DELETE_RECORDS, versions=(0, 2), guard="administration.delete_records")
async def delete_records(
    node: Node, context: Context, request: DeleteRecordsRequest
) -> DeleteRecordsResponse:
    asked: dict[str, dict[int, int]] = {}  # a topic may be there more than once
    for topic in request.topics:
        async for partition in context.turns.each(topic.partitions):
            asked.setdefault(topic.name, {})[partition.partition_index] = partition.offset
    topics: list[DeleteRecordsTopicResult] = []
    for name, these in asked.items():
        answers: list[DeleteRecordsPartitionResult] = []
        for index, offset in these.items():
            answers.append(_delete_and_answer(node, name, index, offset))
            await asyncio.sleep(0)  # deleting a segment may wait for the disk
        topics.append({"name": name, "partitions": answers})
    # Kafka does this once a minute, and may lose an acknowledged deletion in a crash.
    try:
        await in_threads(node.log_directory.checkpoint_in_steps())
    except NO_RESOURCES as failed:
        _log.error(
            "the new start offsets of logs cannot be saved",
            reason=reason_of(failed),
            remedy=remedy(failed),
        )
        for answer in (answer for topic in topics for answer in topic["partitions"]):
            if answer["error_code"] == Code.NONE:
                answer["low_watermark"] = -1
                answer["error_code"] = Code.KAFKA_STORAGE_ERROR
    return {"topics": topics}


def _delete_and_answer(
    node: Node, topic: str, partition: int, before_offset: int
) -> DeleteRecordsPartitionResult:
    try:
        low_watermark, error = _delete(node, topic, partition, before_offset), Code.NONE
    except Refused as refused:
        low_watermark, error = -1, refused.code
    except OSError as failed:
        _log.error(
            "the records of a partition cannot be deleted",
            topic=topic, partition=partition, reason=str(failed), remedy=remedy(failed),
        )  # fmt: skip
        low_watermark, error = -1, Code.KAFKA_STORAGE_ERROR
    return {"partition_index": partition, "low_watermark": low_watermark, "error_code": error}


def _delete(node: Node, topic: str, partition: int, before_offset: int) -> int:
    known = node.catalog.topics.get(topic)
    if known is None or not 0 <= partition < len(known.partitions):
        raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION)
    if known.is_internal:
        raise Refused(Code.INVALID_TOPIC_EXCEPTION)
    log = node.open_led_log(topic, partition)
    if not log.config.deletes:
        raise Refused(Code.POLICY_VIOLATION, "the topic's cleanup.policy does not have delete")
    offset = log.high_watermark if before_offset == _HIGH_WATERMARK else before_offset
    if not 0 <= offset <= log.high_watermark:
        raise Refused(Code.OFFSET_OUT_OF_RANGE)
    low_watermark = log.delete_records(offset)
    if node.events.tell is not None:
        from ...events import RecordsDeleted

        node.events.tell(RecordsDeleted(topic, partition, low_watermark))
    return low_watermark
