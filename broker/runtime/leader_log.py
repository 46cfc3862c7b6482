"""Log lines about partitions whose leader changes: one line for each decision of the controller."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ...metadata.records import LEADER_UNCHANGED, NO_LEADER
from ..log_names import LEVELS
from ..log_output import Log

if TYPE_CHECKING:
    from ...metadata.catalog import Catalog
    from ...metadata.records import PartitionChangeRecord

MOST_NAMED: Final = 10
"""The partitions that the line names; at DEBUG each other one has a line of its own."""
_log = Log("leaders")


def leader_moves(catalog: Catalog, changes: Iterable[PartitionChangeRecord]) -> list[str]:
    """The changes of leaders among some records that are not replayed yet, as text."""
    if _log.lowest > LEVELS["INFO"]:
        return []
    moves = []
    for change in changes:
        topic = catalog.topic_by_id(change.topic_id)
        if change.leader == LEADER_UNCHANGED or topic is None:
            continue
        if change.partition_id >= len(topic.partitions):  # the same decision creates it
            continue
        before = topic.partitions[change.partition_id].leader_id
        if before != change.leader:
            name = f"{topic.name}-{change.partition_id}"
            moves.append(f"{name}: {_name(before)} -> {_name(change.leader)}")
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
