"""The `uniform` assignor where members are subscribed to different topics.

Follows Kafka's UniformHeterogeneousAssignmentBuilder. Members keep partitions of topics that they
are still subscribed to. The subscribers with the fewest partitions get the rest. Then partitions
move, topic by topic, from the members with the most to those with the fewest, in at most 16 rounds.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Final

from .assignment import Assigned, Spec
from .member import NOTHING

_MAX_ROUNDS: Final = 16
_UNASSIGNED: Final = -1


def heterogeneous(spec: Spec) -> Assigned:
    """Assign; see the module."""
    assignment = _Uniform(spec)
    assignment.keep()
    assignment.assign_free()
    assignment.balance()
    return assignment.result()


class _Range:
    """Subscribers of a topic by load: the next to receive a partition, and the next to lose one.

    The least loaded come from the left, the most loaded from the right; members with equal load
    take turns before the next load.
    """

    def __init__(self, members: Sequence[int], loads: list[int]) -> None:
        self._loads = loads
        self._sorted = sorted(members, key=lambda member: (loads[member], member))
        self._least_end = self._next_least = 0
        self._least_load = loads[self._sorted[0]] - 1
        self._most_start = self._most_end = len(self._sorted)
        self._most_load = loads[self._sorted[-1]] + 1
        self._next_most = len(self._sorted) - 1

    @property
    def imbalance(self) -> int:
        """The difference of the loads; valid only before a partition has moved."""
        return self._loads[self._sorted[-1]] - self._loads[self._sorted[0]]

    @property
    def is_balanced(self) -> bool:
        return self._most_load - self._least_load <= 1

    def least_loaded(self) -> int:
        """The member to give a partition to."""
        if self._next_least >= self._least_end:
            self._least_load += 1
            while (
                self._least_end < len(self._sorted)
                and self._loads[self._sorted[self._least_end]] == self._least_load
            ):
                self._least_end += 1
            self._next_least = 0
        member = self._sorted[self._next_least]
        self._next_least += 1
        return member

    def most_loaded(self) -> int:
        """The member to take a partition from; -1 if there is none."""
        if self._next_most < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                self._most_load = self._loads[self._sorted[self._most_start - 1]]
            else:
                self._most_load -= 1
            while (
                self._most_start > 0
                and self._loads[self._sorted[self._most_start - 1]] == self._most_load
            ):
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return _UNASSIGNED
        member = self._sorted[self._next_most]
        self._next_most -= 1
        return member

    def exclude_last(self) -> None:
        """Exclude the last result of `most_loaded`: it has no partition to give up."""
        at, last = self._next_most + 1, self._most_end - 1
        self._sorted[at], self._sorted[last] = self._sorted[last], self._sorted[at]
        self._most_end -= 1


class _Uniform:
    """The assignment while it is being made. Members are numbers, in their order."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._ids = list(spec.members)
        self._subscribers: dict[uuid.UUID, list[int]] = {}
        for member, member_id in enumerate(self._ids):
            for topic_id in spec.members[member_id]:
                self._subscribers.setdefault(topic_id, []).append(member)
        self._loads = [0] * len(self._ids)
        self._owners = {
            topic_id: [_UNASSIGNED] * spec.partition_counts[topic_id]
            for topic_id in self._subscribers
        }

    def keep(self) -> None:
        """Let members keep their partitions of topics that they are still subscribed to."""
        for member, member_id in enumerate(self._ids):
            for topic_id, indexes in self._spec.targets.get(member_id, NOTHING).items():
                if topic_id in self._spec.members[member_id]:
                    self._loads[member] += len(indexes)
                    for index in indexes:
                        self._owners[topic_id][index] = member

    def assign_free(self) -> None:
        """Assign the partitions without an owner."""
        free = {
            topic_id: [index for index, owner in enumerate(owners) if owner == _UNASSIGNED]
            for topic_id, owners in self._owners.items()
        }
        for topic_id in self._by_weight([each for each, indexes in free.items() if indexes]):
            members = _Range(self._subscribers[topic_id], self._loads)
            for index in free[topic_id]:
                self._give(topic_id, index, members.least_loaded())

    def balance(self) -> None:
        """Move partitions, round after round through the topics, until no topic changes."""
        shared = [each for each, members in self._subscribers.items() if len(members) > 1]
        ordered = self._by_weight(shared)
        last_moved = None
        for _ in range(_MAX_ROUNDS):
            for position, topic_id in enumerate(ordered):
                if position == last_moved:
                    return
                if self._balance_topic(topic_id) or last_moved is None:
                    last_moved = position

    def result(self) -> Assigned:
        assigned: list[dict[uuid.UUID, set[int]]] = [{} for _ in self._ids]
        for topic_id, owners in self._owners.items():
            for index, member in enumerate(owners):
                if member != _UNASSIGNED:
                    assigned[member].setdefault(topic_id, set()).add(index)
        return {
            member_id: {topic_id: frozenset(indexes) for topic_id, indexes in mine.items()}
            for member_id, mine in zip(self._ids, assigned, strict=True)
        }

    def _by_weight(self, topic_ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
        """Most partitions for each subscriber first, then fewest subscribers, then by id."""

        def weight(topic_id: uuid.UUID) -> tuple[float, int, int, int]:
            count = len(self._subscribers[topic_id])
            # Java compares the halves of an id as signed numbers.
            high, low = topic_id.int >> 64, topic_id.int & ((1 << 64) - 1)
            return (
                -self._spec.partition_counts[topic_id] / count,
                count,
                (high ^ (1 << 63)),
                (low ^ (1 << 63)),
            )

        return sorted(topic_ids, key=weight)

    def _give(self, topic_id: uuid.UUID, index: int, member: int) -> None:
        owners = self._owners[topic_id]
        if owners[index] != _UNASSIGNED:
            self._loads[owners[index]] -= 1
        owners[index] = member
        self._loads[member] += 1

    def _balance_topic(self, topic_id: uuid.UUID) -> int:
        """Move partitions of one topic among its subscribers; the number of moves."""
        members = _Range(self._subscribers[topic_id], self._loads)
        if members.imbalance <= 1:
            return 0
        movable: dict[int, list[int]] = {}
        for index, owner in enumerate(self._owners[topic_id]):
            movable.setdefault(owner, []).append(index)
        moved = 0
        while not members.is_balanced:
            source = members.most_loaded()
            while source != _UNASSIGNED and not movable.get(source):
                members.exclude_last()
                source = members.most_loaded()
            if source == _UNASSIGNED:
                break
            index = movable[source].pop()
            target = members.least_loaded()
            if members.is_balanced:
                break
            self._give(topic_id, index, target)
            moved += 1
        return moved
