"""The points of a transaction at which a broker may die, and what the rules for them match."""

from __future__ import annotations

from typing import Final

OF_TRANSACTION: Final = (
    "before_produce_append", "produce_append", "before_prepare_append", "prepare_append",
    "before_prepare_answer", "prepare_answer", "before_marker", "marker",
    "before_complete_append", "complete_append",
)  # fmt: skip


def match_of(point: str, name: str) -> dict[str, object]:
    """The match for the first step of a transaction.

    Args:
        name: of its topic, and its transactional id.
    """
    of_topic = "produce" in point or "marker" in point
    return {"topic" if of_topic else "transactional_id": name, "times": 1}
