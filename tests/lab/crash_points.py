"""The points at which a broker may die, and what the rules for them match."""

from __future__ import annotations

from typing import Final

from ottla.testing import Ottla

OF_TRANSACTION: Final = (
    "before_produce_append", "produce_append", "before_prepare_append", "prepare_append",
    "before_prepare_answer", "prepare_answer", "before_marker", "marker",
    "before_complete_append", "complete_append",
)  # fmt: skip
OF_GROUP: Final = ("before_group_append", "group_append", "offsets_materialized")
OF_ROLL: Final = ("before_snapshot", "snapshot", "before_segment_roll", "segment_roll")
OF_COMPACTION: Final = ("before_swap", "swap")
OLD_MS: Final = 1_700_000_000_000


def match_of(point: str, name: str) -> dict[str, object]:
    """The match for the first step of a transaction.

    Args:
        name: of its topic, and its transactional id.
    """
    if point in OF_GROUP:
        return {"topic": "__consumer_offsets", "times": 1}
    of_topic = "produce" in point or "marker" in point or point in OF_ROLL
    return {"topic" if of_topic else "transactional_id": name, "times": 1}


def begin_old_segment(broker: Ottla, topic: str, **given: int) -> None:
    """A topic with an old record, so that its next append rolls a segment."""
    broker.create_topic(topic, configs={"segment.ms": "60000"}, **given)
    broker.produce(topic, [{"value": "old", "timestamp_ms": OLD_MS}])
