"""The deliveries of share groups in a run: their number is bounded (KIP-932)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ...trace.events import Answer, Event
from ...trace.messages import structs, topic_name, topic_names
from .checks import DELIVERIES, Place, Violation

HIGHEST_LIMIT: Final = 10
"""The highest share.delivery.count.limit (group.share.max.delivery.count.limit)."""
_DONE: Final = frozenset({"ACKNOWLEDGED", "ARCHIVED"})


def judge_deliveries(events: Sequence[Event], *, limit: int = HIGHEST_LIMIT) -> Iterator[Violation]:
    """Records that were delivered more often than the limit.

    Args:
        events: of the trace.
        limit: of the deliveries of a record.
    """
    names = topic_names(events)
    for answer in _answers(events):
        for topic in structs(answer.response, "responses"):
            for partition in structs(topic, "partitions"):
                for each in structs(partition, "acquired_records"):
                    if each["delivery_count"] > limit:
                        index = partition["partition_index"]
                        place = Place(topic_name(topic, names), index, each["first_offset"])
                        text = f"{place} is delivered {each['delivery_count']} times"
                        yield Violation(DELIVERIES, text, (place,))


def is_done(shown: Mapping[str, Any], offset: int) -> bool:  # Any: of JSON
    """Whether a share group is done with a record.

    Args:
        shown: the partition, as the lab shows it (GET /share-partitions).
    """
    if offset < shown["start_offset"]:
        return True
    return any(
        each["state"] in _DONE
        for each in shown["records"]
        if each["first_offset"] <= offset <= each["last_offset"]
    )


def _answers(events: Iterable[Event]) -> Iterator[Answer]:
    return (each for each in events if isinstance(each, Answer) and each.api == "ShareFetch")
