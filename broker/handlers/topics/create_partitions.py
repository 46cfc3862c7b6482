"""CreatePartitions (37), versions 0-3: add partitions to existing topics.

2     flexible encoding
3     beyond the quota THROTTLING_QUOTA_EXCEEDED; older versions only throttle the client

Skipped: a timeout above 0 has no effect (0 and below: REQUEST_TIMED_OUT, as in Kafka).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.context import Context
from ...requests.mutations import Mutate, mutations
from ...runtime.shards.encoded_ahead import ATTEMPTS, encode_ahead

if TYPE_CHECKING:
    from ....protocol.api_types.create_partitions import (
        CreatePartitionsRequest,
        CreatePartitionsResponse,
        CreatePartitionsTopic,
        CreatePartitionsTopicResult,
    )
    from ...node import Node


_STRICT_SINCE: Final = 3


@serves(ApiKey.CREATE_PARTITIONS, versions=(0, 3), guard="administration.create_partitions")
async def create_partitions(
    node: Node, context: Context, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    times = Counter(topic.name for topic in request.topics)
    results: list[CreatePartitionsTopicResult] = [
        {
            "name": name,
            "error_code": Code.INVALID_REQUEST,
            "error_message": "Duplicate topic name.",
        }
        for name, count in times.items()
        if count > 1
    ]
    mutate = mutations(node, context, strict_since=_STRICT_SINCE)
    results += [
        await _create(node, context, request, topic, mutate)
        async for topic in context.turns.each(request.topics)
        if times[topic.name] == 1
    ]
    await node.decided()
    return {"results": results}


async def _create(
    node: Node,
    context: Context,
    request: CreatePartitionsRequest,
    topic: CreatePartitionsTopic,
    mutate: Mutate | None,
) -> CreatePartitionsTopicResult:
    assigned = topic.assignments
    assignments = None if assigned is None else [each.broker_ids for each in assigned]
    try:
        if request.timeout_ms <= 0:
            raise Refused(Code.REQUEST_TIMED_OUT)
        if mutate is not None or request.validate_only:
            node.controller.create_partitions(
                topic.name, topic.count, assignments=assignments, validate_only=True
            )
        if mutate is not None:
            mutate(topic.count - len(node.catalog.topics[topic.name].partitions))
        if not request.validate_only:
            await _add(node, context, topic, assignments)
    except Refused as refused:
        return {
            "name": topic.name, "error_code": refused.code, "error_message": refused.why
        }  # fmt: skip
    return {"name": topic.name, "error_code": Code.NONE, "error_message": None}


async def _add(
    node: Node,
    context: Context,
    topic: CreatePartitionsTopic,
    assignments: Sequence[Sequence[int]] | None,
) -> None:
    """Add partitions: decide and encode them in slices, append once. Raises Refused."""
    catalog, controller = node.catalog, node.controller
    for _ in range(ATTEMPTS):
        before = catalog.topics.get(topic.name), dict(catalog.brokers)
        records = catalog.create_partitions(topic.name, topic.count, assignments)
        encoded = await encode_ahead(records, context.turns)
        if before == (catalog.topics.get(topic.name), catalog.brokers):
            controller.add_partitions(topic.name, *encoded)
            return
    controller.create_partitions(topic.name, topic.count, assignments=assignments)
