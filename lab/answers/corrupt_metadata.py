"""Changes of answers to Metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .corrupt_answer import Answered, Body, Change

EPOCHS_SINCE: Final = 7
_MOST_BEYOND: Final = 1000


def _of_one_topic(change: Callable[[Answered, list[Body]], bool]) -> Change:
    """A change of the partitions of one topic, drawn among those that have a place for it.

    Args:
        change: changes the list or its elements; returns whether there is a place for that.
    """

    def changed(answered: Answered) -> Body | None:
        topics: list[Body] = []
        lists: list[list[Body]] = []
        for topic in answered.body["topics"]:
            partitions = [dict(each) for each in topic["partitions"]]
            topics.append({**topic, "partitions": partitions})
            name = topic["name"] or answered.topic_name(topic["topic_id"]) or ""
            if any(answered.is_chosen(name, each["partition_index"]) for each in partitions):
                lists.append(partitions)
        answered.random.shuffle(lists)
        if not any(change(answered, each) for each in lists):
            return None
        return {**answered.body, "topics": topics}

    return changed


@_of_one_topic
def unknown_leader(answered: Answered, partitions: list[Body]) -> bool:
    """A partition is led by a node that is not among the brokers."""
    highest = max((each["node_id"] for each in answered.body["brokers"]), default=0)
    partition = answered.random.choice(partitions)
    partition["leader_id"] = highest + answered.random.randint(1, _MOST_BEYOND)
    return True


@_of_one_topic
def missing_partition(answered: Answered, partitions: list[Body]) -> bool:
    """One partition less."""
    del partitions[answered.random.randrange(len(partitions))]
    return True


@_of_one_topic
def older_leader_epoch(answered: Answered, partitions: list[Body]) -> bool:
    """A leader epoch of a partition that has passed."""
    if answered.version < EPOCHS_SINCE:
        return False
    later = [each for each in partitions if each["leader_epoch"] > 0]
    if not later:
        return False
    partition = answered.random.choice(later)
    partition["leader_epoch"] = answered.random.randrange(partition["leader_epoch"])
    return True
