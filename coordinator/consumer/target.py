"""A new target assignment: run the assignor, and write records for the members that it changes."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from ..java_order import members_in_order
from .assignment import Spec, TopicIds
from .assignors import ASSIGNORS
from .group import ConsumerGroup, Subscribers
from .member import NOTHING, Assignment, ConsumerMember
from .records import ConsumerRecord, TargetEpoch, TargetMember
from .topics import Topics

Owners = Mapping[uuid.UUID, Mapping[int, str]]
"""Member ids by topic id and partition."""


def is_homogeneous(
    subscribers: Mapping[str, Subscribers], regexes: Mapping[str, int], member_count: int
) -> bool:
    """Whether all members are subscribed to the same topics (SubscriptionType)."""
    if not regexes:
        return all(each.by_name == member_count for each in subscribers.values())
    if next(iter(regexes.values())) != member_count:
        return False
    return all(each.by_regex == 1 and each.by_name <= 0 for each in subscribers.values())


def new_target(
    group: ConsumerGroup,
    updated: ConsumerMember,
    topics: Topics,
    *,
    epoch: int,
    assignor: str,
    homogeneous: bool,
    now_ms: int,
) -> tuple[list[ConsumerRecord], Assignment]:
    """Run the assignor.

    Args:
        updated: the member after the request; a new one, or one that replaces a static member.
        topics: the topics of the cluster.
        epoch: the group's epoch that the target is for.
        assignor: a name in `ASSIGNORS`.
        homogeneous: whether all members are subscribed to the same topics.
        now_ms: the wall time, from which the interval to the next target counts.

    Returns:
        The records of the members that get another target and of the epoch, and the updated
        member's target.
    """
    spec = _spec(group, updated, topics, homogeneous=homogeneous)
    assigned = ASSIGNORS[assignor](spec)
    records: list[ConsumerRecord] = []
    for member_id in spec.members:
        target = assigned.get(member_id, NOTHING)
        if group.targets.get(member_id) != target:
            records.append(TargetMember(group.group_id, member_id, target))
    records.append(TargetEpoch(group.group_id, epoch, now_ms))
    return records, assigned.get(updated.member_id, NOTHING)


def _spec(
    group: ConsumerGroup, updated: ConsumerMember, topics: Topics, *, homogeneous: bool
) -> Spec:
    """The input of the assignor: the group with the updated member, in Kafka's order."""
    members = {**group.members, updated.member_id: updated}
    replaced = group.static_member(updated.instance_id)
    targets: Mapping[str, Assignment] = group.targets
    if replaced is not None and replaced.member_id != updated.member_id:
        del members[replaced.member_id]
        targets = {**targets, updated.member_id: targets.get(replaced.member_id, NOTHING)}
    new = [updated.member_id] if updated.member_id not in group.members else []
    ordered = [each for each in members_in_order(group.members, new) if each in members]
    subscribed = _Subscribed(group, topics)
    subscriptions = {member_id: subscribed.to(members[member_id]) for member_id in ordered}
    targets, owners = _existing(targets, group.owners, subscribed.partition_counts)
    instances = {
        member_id: member.instance_id
        for member_id, member in members.items()
        if member.instance_id is not None
    }
    return Spec(subscriptions, subscribed.partition_counts, homogeneous, targets, owners, instances)


def _existing(
    targets: Mapping[str, Assignment], owners: Owners, counts: Mapping[uuid.UUID, int]
) -> tuple[Mapping[str, Assignment], Owners]:
    """The target and its owners, without partitions that do not exist.

    A log of Apache Kafka may have some: there the upgrade of a classic group takes the members'
    partitions by the names of topics, also of a topic recreated with fewer partitions.
    """
    strays = {
        topic_id
        for topic_id, by_index in owners.items()
        if topic_id in counts and max(by_index, default=-1) >= counts[topic_id]
    }
    if not strays:
        return targets, owners

    def existing_part(target: Assignment) -> Assignment:
        kept = {
            topic_id: frozenset(each for each in indexes if each < counts[topic_id])
            if topic_id in strays
            else indexes
            for topic_id, indexes in target.items()
        }
        return {topic_id: indexes for topic_id, indexes in kept.items() if indexes}

    existing: dict[uuid.UUID, Mapping[int, str]] = dict(owners)
    for topic_id in strays:
        count = counts[topic_id]
        existing[topic_id] = {i: owner for i, owner in owners[topic_id].items() if i < count}
    return {member_id: existing_part(target) for member_id, target in targets.items()}, existing


class _Subscribed:
    """The existing topics that members are subscribed to; the same for the same subscription."""

    def __init__(self, group: ConsumerGroup, topics: Topics) -> None:
        self._group = group
        self._topics = topics
        self._seen: dict[tuple[frozenset[str], str], TopicIds] = {}
        self.partition_counts: dict[uuid.UUID, int] = {}

    def to(self, member: ConsumerMember) -> TopicIds:
        subscription = (member.subscribed_topic_names, member.subscribed_topic_regex)
        found = self._seen.get(subscription)
        if found is None:
            found = self._seen[subscription] = self._resolve(*subscription)
        return found

    def _resolve(self, names: frozenset[str], regex: str) -> TopicIds:
        if regex in self._group.resolved:
            names |= self._group.resolved[regex].topics
        found = [topic for topic in map(self._topics.by_name, names) if topic is not None]
        self.partition_counts |= {each.topic_id: each.partition_count for each in found}
        return frozenset(each.topic_id for each in found)
