"""Moves leaders of partitions and coordinators to other nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...coordinator.partitioning import partition_for
from ...metadata.catalog import CONSUMER_OFFSETS, TRANSACTION_STATE
from ...protocol.errors import Code, Refused
from ..tracing.sights import RequestSight

if TYPE_CHECKING:
    from ...broker.node import Node
    from ...broker.requests.context import Context

Chosen = Callable[[str, "int | None"], bool]


def move_leaders(
    node: Node, context: Context, request: object, chosen: Chosen | None, node_id: int | None
) -> None:
    """Make another node the leader of the partitions that a request names."""
    for topic, partition in sorted(RequestSight(node, context, request).partitions):
        if chosen is None or chosen(topic, partition):
            move_leader(node, topic, partition, node_id)


def move_coordinator(node: Node, context: Context, request: object, node_id: int | None) -> None:
    """Make another node the coordinator of the ids and groups that a request names."""
    sight = RequestSight(node, context, request)
    for internal, keys in (
        (TRANSACTION_STATE, sight.transactional_ids), (CONSUMER_OFFSETS, sight.groups),
    ):  # fmt: skip
        topic = node.catalog.topics.get(internal)
        if topic is not None:
            for index in sorted({partition_for(key, len(topic.partitions)) for key in keys}):
                move_leader(node, internal, index, node_id)


def move_leader(node: Node, topic: str, partition: int, node_id: int | None) -> bool:
    """Make a node the leader of a partition.

    Args:
        node_id: the new leader; None for the next node in sync after the present one.

    Returns:
        Whether the leader has changed.
    """
    known = node.catalog.topics.get(topic)
    if known is None or partition >= len(known.partitions):
        return False
    present = known.partitions[partition]
    if node_id is None:
        others = sorted(each for each in present.isr if each != present.leader_id)
        if not others:
            return False
        later = [each for each in others if each > present.leader_id]
        node_id = (later or others)[0]
    try:
        node.controller.change_leader(topic, partition, node_id)
    except Refused as refused:
        if refused.code in (Code.ELECTION_NOT_NEEDED, Code.ELIGIBLE_LEADERS_NOT_AVAILABLE):
            return False
        raise
    return True
