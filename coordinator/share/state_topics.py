"""The partitions of a share group with share state: which to initialize, which have it, which lose
it (ShareGroupStatePartitionMetadata).

Pure functions of a group: each returns the group's next record.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping

from ..consumer.topics import Topics
from .group import ShareGroup
from .records import StateTopic, StateTopics, StateTopicsById
from .requests import StatePartitions

_NONE: frozenset[int] = frozenset()


def missing_state(
    group: ShareGroup, names: Iterable[str], topics: Topics, *, recent: Collection[uuid.UUID]
) -> dict[uuid.UUID, StateTopic]:
    """Partitions of topics whose share state has to be initialized.

    Args:
        names: of the subscribed topics.
        topics: the topics of the cluster.
        recent: topics whose initialization is under way.
    """
    missing: dict[uuid.UUID, StateTopic] = {}
    for name in names:
        topic = topics.by_name(name)
        if topic is None:
            continue
        topic_id = topic.topic_id
        known = _partitions(group.initialized, topic_id)
        if topic_id in recent:
            known |= _partitions(group.initializing, topic_id)
        if len(known) < topic.partition_count:
            wanted = frozenset(range(topic.partition_count)) - known
            if wanted:
                missing[topic_id] = StateTopic(name, wanted)
    return missing


def with_initializing(group: ShareGroup, added: StateTopicsById) -> StateTopics:
    """The record after the initialization of partitions has begun."""
    return StateTopics(
        group.group_id,
        _merged(group.initializing, added),
        dict(group.initialized),
        {each: name for each, name in group.deleting.items() if each not in added},
    )


def with_initialized(group: ShareGroup, added: StatePartitions, topics: Topics) -> StateTopics:
    """The record after the share state of partitions is initialized.

    Args:
        topics: have the names of topics that the group does not know.
    """
    named: dict[uuid.UUID, StateTopic] = {}
    for topic_id, indexes in added.items():
        known = group.initializing.get(topic_id) or group.initialized.get(topic_id)
        topic = topics.by_id(topic_id)
        name = topic.name if topic is not None else "" if known is None else known.name
        named[topic_id] = StateTopic(name, indexes)
    return StateTopics(
        group.group_id,
        _without(group.initializing, added),
        _merged(group.initialized, named),
        dict(group.deleting),
    )


def without_initializing(group: ShareGroup, gone: StatePartitions) -> StateTopics:
    """The record after the share state of partitions could not be initialized."""
    return StateTopics(
        group.group_id,
        _without(group.initializing, gone),
        dict(group.initialized),
        dict(group.deleting),
    )


def with_deleting(group: ShareGroup, names: Mapping[uuid.UUID, str]) -> StateTopics:
    """The record after the deletion of the share state of topics has begun."""
    return StateTopics(
        group.group_id,
        dict(group.initializing),
        {each: topic for each, topic in group.initialized.items() if each not in names},
        {**group.deleting, **names},
    )


def without_deleting(group: ShareGroup, topic_ids: Collection[uuid.UUID]) -> StateTopics:
    """The record after the share state of topics is deleted."""
    return StateTopics(
        group.group_id,
        dict(group.initializing),
        dict(group.initialized),
        {each: name for each, name in group.deleting.items() if each not in topic_ids},
    )


def all_deleting(group: ShareGroup, topics: Topics) -> tuple[StateTopics, StatePartitions]:
    """The record after the deletion of a group has begun, and the partitions that lose their state.

    An earlier deletion may have stopped half-way: its topics are deleted with all partitions.
    """
    going = _merged(group.initialized, group.initializing)
    for topic_id in group.deleting:
        topic = topics.by_id(topic_id)
        if topic is not None:
            whole = StateTopic(topic.name, frozenset(range(topic.partition_count)))
            going = _merged(going, {topic_id: whole})
    record = StateTopics(
        group.group_id, {}, {}, {topic_id: topic.name for topic_id, topic in going.items()}
    )
    return record, {topic_id: topic.partitions for topic_id, topic in going.items()}


def without_gone(state: StateTopics, name: str, topics: Topics) -> StateTopics | None:
    """The record without topics of a name that exist no more; None if it has none of them."""

    def is_gone(topic_id: uuid.UUID, known_as: str) -> bool:
        return known_as == name and topics.by_id(topic_id) is None

    def kept(by_id: StateTopicsById) -> dict[uuid.UUID, StateTopic]:
        return {each: topic for each, topic in by_id.items() if not is_gone(each, topic.name)}

    deleting = {each: old for each, old in state.deleting.items() if not is_gone(each, old)}
    left = StateTopics(state.group_id, kept(state.initializing), kept(state.initialized), deleting)
    return None if left == state else left


def start_offset(group: ShareGroup, topic_id: uuid.UUID, partition: int) -> int:
    """Where a group begins to read a partition: a later partition of a known topic is read whole.

    -1: the group's settings decide.
    """
    known = group.initializing.get(topic_id)
    is_later = topic_id in group.initialized or known is not None
    is_tried_again = known is not None and partition in known.partitions
    return 0 if is_later and not is_tried_again else -1


def _partitions(topics: StateTopicsById, topic_id: uuid.UUID) -> frozenset[int]:
    topic = topics.get(topic_id)
    return _NONE if topic is None else topic.partitions


def _merged(first: StateTopicsById, second: StateTopicsById) -> dict[uuid.UUID, StateTopic]:
    merged = dict(first)
    for topic_id, topic in second.items():
        merged[topic_id] = StateTopic(topic.name, topic.partitions | _partitions(first, topic_id))
    return merged


def _without(topics: StateTopicsById, gone: StatePartitions) -> dict[uuid.UUID, StateTopic]:
    left = {}
    for topic_id, topic in topics.items():
        partitions = topic.partitions - gone.get(topic_id, _NONE)
        if partitions:
            left[topic_id] = StateTopic(topic.name, partitions)
    return left
