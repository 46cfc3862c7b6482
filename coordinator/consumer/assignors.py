"""The assignors of the broker (`group.consumer.assignors`): `range` and `uniform`.

Their assignments equal those of Kafka's RangeAssignor and UniformAssignor, also for the odd
partition. `uniform` lets members keep their partitions as far as balance allows; its time grows
with the number of members plus that of partitions.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ..java_order import ids_in_order, partitions_in_order
from .assignment import Assigned, Spec, TopicIds
from .member import NOTHING, Assignment


def assign_range(spec: Spec) -> Assigned:
    """Each subscriber of a topic gets a range of its partitions; static members come first."""
    ordered = sorted(
        spec.members,
        key=lambda member_id: (
            member_id not in spec.instances,
            spec.instances.get(member_id, member_id),
        ),
    )
    subscribers: dict[uuid.UUID, int] = {}
    for topic_ids in spec.members.values():
        for topic_id in topic_ids:
            subscribers[topic_id] = subscribers.get(topic_id, 0) + 1
    progress: dict[uuid.UUID, tuple[int, int]] = {}  # next partition, number of members served
    assigned: Assigned = {}
    for member_id in ordered:
        mine: dict[uuid.UUID, frozenset[int]] = {}
        for topic_id in spec.members[member_id]:
            start, served = progress.get(topic_id, (0, 0))
            least, extra = divmod(spec.partition_counts[topic_id], subscribers[topic_id])
            end = start + least + (served < extra)
            progress[topic_id] = (end, served + 1)
            if start < end:
                mine[topic_id] = frozenset(range(start, end))
        assigned[member_id] = mine
    return assigned


def assign_uniform(spec: Spec) -> Assigned:
    """Balance the number of partitions of the members, with as few moves as possible."""
    if not spec.members:
        return {}
    if spec.is_homogeneous:
        return _homogeneous(spec)
    from .uniform import heterogeneous

    return heterogeneous(spec)


class _Quotas:
    """The number of partitions of each member: the quotient, and one more for some members."""

    def __init__(self, partition_count: int, member_count: int) -> None:
        self._least, self._extra = divmod(partition_count, member_count)
        self._members_left = member_count

    def keep(self, spec: Spec, member_id: str, topics: TopicIds) -> tuple[Assignment, int, _Moved]:
        """The partitions a member keeps, how many it gets, and those it gives up."""
        left = self._least
        with_extra = self._extra > 0
        left += with_extra
        before = spec.targets.get(member_id, NOTHING)
        changed: dict[uuid.UUID, frozenset[int]] = {}
        given_up: _Moved = []
        for topic_id in ids_in_order(before):
            indexes = before[topic_id]
            if topic_id in topics and len(indexes) <= left:
                left -= len(indexes)
                continue
            stay: list[int] = []
            if topic_id in topics:
                ordered = partitions_in_order(indexes)
                stay, go = ordered[:left], ordered[left:]
                left -= len(stay)
                given_up += [(topic_id, index) for index in go]
            changed[topic_id] = frozenset(stay)
        if left and with_extra and self._members_left > self._extra:
            left -= 1  # others can have the extra partition
            with_extra = False
        self._extra -= with_extra
        self._members_left -= 1
        return _with(before, changed), left, given_up


_Moved = list[tuple[uuid.UUID, int]]


def _homogeneous(spec: Spec) -> Assigned:
    topics = next(iter(spec.members.values()))
    if not topics:
        return {}
    free: _Moved = []
    for topic_id in ids_in_order(topics):
        owners = spec.owners.get(topic_id, {})
        free += [
            (topic_id, index)
            for index in range(spec.partition_counts[topic_id])
            if index not in owners
        ]
    quotas = _Quotas(sum(spec.partition_counts[each] for each in topics), len(spec.members))
    assigned: Assigned = {}
    unfilled: list[tuple[str, int]] = []
    for member_id in spec.members:
        assigned[member_id], missing, given_up = quotas.keep(spec, member_id, topics)
        free += given_up
        if missing:
            unfilled.append((member_id, missing))
    position = 0
    for member_id, missing in unfilled:
        taken = free[position : position + missing]
        position += len(taken)
        assigned[member_id] = plus(assigned[member_id], taken)
    assert position == len(free), "partitions were left over"
    return assigned


def plus(assignment: Assignment, partitions: Sequence[tuple[uuid.UUID, int]]) -> Assignment:
    """An assignment with more partitions."""
    if not partitions:
        return assignment
    added: dict[uuid.UUID, set[int]] = {}
    last, indexes = None, set[int]()
    for topic_id, index in partitions:  # mostly many of a topic: its id is looked up once
        if topic_id is not last:
            last, indexes = topic_id, added.setdefault(topic_id, set())
        indexes.add(index)
    new = dict(assignment)
    for topic_id, more in added.items():
        new[topic_id] = new.get(topic_id, frozenset()) | more
    return new


def _with(assignment: Assignment, changed: Assignment) -> Assignment:
    """An assignment with other partitions of some topics; the same one if none changed."""
    if not changed:
        return assignment
    new = {**assignment, **changed}
    return {topic_id: indexes for topic_id, indexes in new.items() if indexes}


ASSIGNORS: Final[Mapping[str, Callable[[Spec], Assigned]]] = MappingProxyType(
    {"uniform": assign_uniform, "range": assign_range}
)
"""By the name in ServerAssignor of ConsumerGroupHeartbeat."""

_CLASSES: Final = "org.apache.kafka.coordinator.group.assignor."
NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {name: name for name in ASSIGNORS}
    | {_CLASSES + "UniformAssignor": "uniform", _CLASSES + "RangeAssignor": "range"}
)
"""The names by the values of `group.consumer.assignors`: names, or Kafka's classes."""
