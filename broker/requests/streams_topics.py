"""Creates the internal topics of a streams group, when a heartbeat finds that they are missing.

As in Kafka the topics are created with the rights of the member, which needs CREATE on the cluster
or on each topic. The status MISSING_INTERNAL_TOPICS says what failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ...coordinator.streams.configured import InternalTopic
from ...protocol.errors import Code, Refused
from ..runtime.shards.encoded_ahead import ATTEMPTS, encode_ahead
from .authorization import Operation, may_cluster, may_topic
from .deleted_topics import finish_deletion

if TYPE_CHECKING:
    from ..node import Node
    from .context import Context

_MOST_NAMED: Final = 3


async def create_missing(
    node: Node, context: Context, topics: Sequence[InternalTopic], ttl_ms: int
) -> str:
    """Create internal topics.

    Args:
        ttl_ms: the time before the next attempt, if the creation of a topic fails.

    Returns:
        What the status has to say besides; empty if nothing has failed.
    """
    names = [each.name for each in topics]
    if not may_cluster(node, context, Operation.CREATE):
        refused = [
            name
            async for name in context.turns.each(names)
            if not may_topic(node, context, Operation.CREATE, name)
        ]
        if refused:
            return f"; Unauthorized to CREATE on topics {', '.join(refused)}."
    errors = node.creation_errors
    told = errors.of(names)  # of earlier attempts: Kafka creates topics after its answer
    async for topic in context.turns.each(topics):
        if not errors.begin(topic.name):
            continue
        try:
            await _create(node, context, topic)
        except Refused as failed:
            if failed.code is not Code.TOPIC_ALREADY_EXISTS:
                errors.put(topic.name, failed.why or failed.code.name, ttl_ms)
        finally:
            errors.end(topic.name)
    await node.decided()
    if not told:
        return ""
    listed = ", ".join(f"{name} ({why})" for name, why in list(told.items())[:_MOST_NAMED])
    more = len(told) - _MOST_NAMED
    return f"; Creation failed: {listed}{f' and {more} more' if more > 0 else ''}."


async def _create(node: Node, context: Context, topic: InternalTopic) -> None:
    """Create a topic; the records of its partitions are made and encoded in slices.

    Raises:
        Refused: see `Controller.new_topic` and `Controller.create_topics`.
    """
    failed = await finish_deletion(node, topic.name)
    if failed is not None:
        raise failed
    for attempt in range(ATTEMPTS + 1):
        made = node.controller.new_topic(
            topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor or -1,
            configs=dict(topic.topic_configs),
        )
        if attempt == ATTEMPTS:
            node.controller.create_topics([made])
            return
        encoded = await encode_ahead(made.records, context.turns)
        if not node.controller.is_outdated(made):
            node.controller.create_topics([made], encoded)
            return
