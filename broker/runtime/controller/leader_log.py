"""Log lines about partitions whose leader changes: one line for each decision of the controller."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ....metadata.records import LEADER_UNCHANGED, NO_LEADER
from ...log_names import LEVELS
from ...log_output import Log

if TYPE_CHECKING:
    from uuid import UUID

    from ....metadata.catalog import Catalog
    from ....metadata.records import PartitionChangeRecord

MOST_NAMED: Final = 10
"""The partitions that the line names; at DEBUG each other one has a line of its own."""
_log = Log("leaders")


def leader_moves(catalog: Catalog, changes: Iterable[PartitionChangeRecord]) -> list[str]:
    """The changes of leaders among some records that are not replayed yet, as text."""
    if _log.lowest > LEVELS["INFO"]:
        return []
    leaders: dict[tuple[UUID, int], int] = {}
    for change in changes:
        if change.leader != LEADER_UNCHANGED:
            leaders[change.topic_id, change.partition_id] = change.leader
    moves = []
    for (topic_id, partition_id), leader in leaders.items():
        topic = catalog.topic_by_id(topic_id)
        if topic is None or partition_id >= len(topic.partitions):  # the same decision creates it
            continue
        before = topic.partitions[partition_id].leader_id
        if before != leader:
            moves.append(f"{topic.name}-{partition_id}: {_name(before)} -> {_name(leader)}")
    return moves


def log_leader_moves(moves: list[str]) -> None:
    """Log what `leader_moves` has found, once it is replayed."""
    named = ", ".join(moves[:MOST_NAMED])
    if len(moves) > MOST_NAMED:
        named += f" and {len(moves) - MOST_NAMED} more"
    _log.info("partitions have a new leader", count=len(moves), leaders=named)
    for move in moves[MOST_NAMED:]:
        _log.debug("a partition has a new leader", leader=move)


def _name(leader_id: int) -> str:
    return "none" if leader_id == NO_LEADER else str(leader_id)
