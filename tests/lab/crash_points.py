"""The points at which a broker may die, and what the rules for them match."""

from __future__ import annotations

from typing import Final, get_args, get_type_hints

from ottla.lab.rules.rule import Crash
from ottla.testing import Ottla

from .clients import CLIENTS

OF_TRANSACTION: Final = (
    "before_produce_append", "produce_append", "before_prepare_append", "prepare_append",
    "before_prepare_answer", "prepare_answer", "before_marker", "marker",
    "before_complete_append", "complete_append",
)  # fmt: skip
OF_GROUP: Final = (
    "before_group_append", "group_append", "before_offsets_materialized", "offsets_materialized",
)  # fmt: skip
OF_ROLL: Final = ("before_snapshot", "snapshot", "before_segment_roll", "segment_roll")
OF_COMPACTION: Final = ("before_swap", "swap")
OF_TRANSACTIONS: Final = (*OF_TRANSACTION, *OF_GROUP, *OF_ROLL)
POINTS: Final[tuple[str, ...]] = get_args(get_type_hints(Crash)["point"])
"""All that there are."""
OF_PROCESSES: Final = [(client, point) for client in CLIENTS for point in POINTS]
"""Clients, and points at which a broker of one node dies."""
_OF_LIBRDKAFKA: Final = (
    "before_produce_append", "prepare_append", "prepare_answer", "before_marker", "marker",
    "before_complete_append", "before_offsets_materialized", "offsets_materialized",
    "segment_roll",
)  # fmt: skip
OF_NODES: Final = [
    *(("librdkafka", point) for point in _OF_LIBRDKAFKA),
    *(("java", point) for point in OF_TRANSACTIONS),
]
"""Clients, and points at which one node of three dies."""
FEW: Final = {
    "offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1",
    "log.cleaner.backoff.ms": "50",
}  # fmt: skip
"""Settings of a broker with few partitions that may die."""
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
