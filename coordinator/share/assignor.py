"""The `simple` assignor: each partition has as many members as the others, and each member as many
partitions, as far as that is possible (SimpleAssignor of Kafka 4.4).

If there are more members than partitions, several members share a partition. Balance comes first;
then members keep what they have. Where members are subscribed to different topics, each topic is
balanced by itself among its subscribers.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from ...protocol.lazy_dataclass import dataclass
from ..consumer.member import NOTHING, Assignment

Partition = tuple[uuid.UUID, int]


@dataclass(frozen=True, slots=True)
class Spec:
    """The input of the assignor (GroupSpec).

    Attributes:
        members: the ids of the subscribed topics that exist, by member id; members get partitions
            in this order.
        partitions: those that may be assigned, by topic id, in order: their share state is
            initialized.
        targets: the previous assignment of each member, by member id.
        is_homogeneous: whether all members are subscribed to the same topics.
    """

    members: Mapping[str, Sequence[uuid.UUID]]
    partitions: Mapping[uuid.UUID, Sequence[int]]
    targets: Mapping[str, Assignment] = field(default_factory=dict)
    is_homogeneous: bool = True


def assign(spec: Spec) -> dict[str, Assignment]:
    """The partitions of each member, by member id."""
    assigned: dict[str, dict[uuid.UUID, frozenset[int]]] = {each: {} for each in spec.members}
    for topic_ids in _balanced_together(spec):
        subscribed = [each for each, topics in spec.members.items() if topic_ids[0] in topics]
        balance = _Balance(
            subscribed, [(each, index) for each in topic_ids for index in spec.partitions[each]]
        )
        balance.keep(spec.targets, topic_ids)
        if spec.is_homogeneous:
            balance.take_from_oversharing(prefer_overfull=True)
            balance.take_from_overfull()
        else:
            balance.take_from_overfull()
            balance.take_from_oversharing(prefer_overfull=False)
        balance.give()
        for member_id, partitions in balance.by_member.items():
            by_topic: dict[uuid.UUID, set[int]] = {}
            for topic_id, index in partitions:
                by_topic.setdefault(topic_id, set()).add(index)
            for topic_id, indexes in by_topic.items():
                assigned[member_id][topic_id] = frozenset(indexes)
    return dict(assigned)


def _balanced_together(spec: Spec) -> Iterable[Sequence[uuid.UUID]]:
    """The groups of topics whose partitions are balanced as one."""
    topic_ids = list(dict.fromkeys(each for topics in spec.members.values() for each in topics))
    if not spec.is_homogeneous:
        return [[each] for each in topic_ids]
    return [topic_ids] if topic_ids else []


class _Balance:
    """The partitions of some topics and the members that are subscribed to them.

    Attributes:
        by_member: the partitions of each member so far. Their order is that of the topics.
    """

    def __init__(self, member_ids: Sequence[str], partitions: Sequence[Partition]) -> None:
        self._partitions = partitions
        count, members = len(partitions), len(member_ids)
        self._sharing = -(-members // count) if count else 0
        precise = self._sharing * count / members
        self._wanted = {
            member_id: math.ceil(precise * (place + 1)) - math.ceil(precise * place)
            for place, member_id in enumerate(member_ids)
        }
        self.by_member: dict[str, dict[Partition, None]] = {each: {} for each in member_ids}
        self._by_partition: dict[Partition, dict[str, None]] = {each: {} for each in partitions}
        self._overfull: set[str] = set()
        self._unfilled: set[str] = set()

    def keep(self, targets: Mapping[str, Assignment], topic_ids: Sequence[uuid.UUID]) -> None:
        """Let members keep what they have of these topics."""
        for member_id, mine in self.by_member.items():
            target = targets.get(member_id, NOTHING)
            for topic_id in topic_ids:
                for index in sorted(target.get(topic_id, ())):
                    holders = self._by_partition.get((topic_id, index))
                    if holders is not None:
                        mine[topic_id, index] = None
                        holders[member_id] = None
            if len(mine) > self._wanted[member_id]:
                self._overfull.add(member_id)
            elif len(mine) < self._wanted[member_id]:
                self._unfilled.add(member_id)

    def take_from_oversharing(self, *, prefer_overfull: bool) -> None:
        """Take partitions from members where more share one than have to."""
        for partition, holders in self._by_partition.items():
            if len(holders) <= self._sharing:
                continue
            ordered = list(holders)
            if prefer_overfull:
                ordered.sort(key=lambda each: each not in self._overfull)
            for member_id in ordered[: len(holders) - self._sharing]:
                self._take(member_id, partition)
                self._unfilled.add(member_id)

    def take_from_overfull(self) -> None:
        """Take partitions from members that have more than they should have."""
        for member_id, mine in self.by_member.items():
            for partition in list(mine)[: max(0, len(mine) - self._wanted[member_id])]:
                self._take(member_id, partition)

    def give(self) -> None:
        """Give partitions with too few members to members with too few partitions, in turns.

        A partition stays short of members if those that have room have it already.
        """
        unfilled = [each for each, mine in self.by_member.items() if self._has_room(each, mine)]
        at, gave = 0, False
        for partition, holders in self._by_partition.items():
            missing = self._sharing - len(holders)
            while missing > 0 and unfilled:
                if at >= len(unfilled):
                    if not gave:
                        break
                    at, gave = 0, False
                member_id = unfilled[at]
                if member_id in holders:
                    at += 1
                    continue
                mine = self.by_member[member_id]
                mine[partition] = holders[member_id] = None
                missing -= 1
                gave = True
                if len(mine) >= self._wanted[member_id]:
                    del unfilled[at]
                else:
                    at += 1

    def _has_room(self, member_id: str, mine: Mapping[Partition, None]) -> bool:
        return member_id in self._unfilled or len(mine) < self._wanted[member_id]

    def _take(self, member_id: str, partition: Partition) -> None:
        del self.by_member[member_id][partition]
        del self._by_partition[partition][member_id]
