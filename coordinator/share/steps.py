"""The steps of a heartbeat in a share group: epoch, target, assignment, share state.

Follows Kafka's GroupMetadataManager. A step adds records to a turn and returns the state that they
lead to; the group itself changes by their replay.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import ClassVar

from ..consumer.member import NOTHING, Assignment
from ..consumer.topics import TopicMetadata, Topics, metadata_hash
from ..group_kinds import SHARE
from ..java_order import ids_in_order, members_in_order
from ..modern_groups import ModernTurn
from .assignor import Spec, assign
from .effects import InitializeShareState
from .group import ShareGroup
from .member import ShareMember
from .records import GroupEpoch, TargetEpoch, TargetMember, current
from .requests import StatePartition
from .state_topics import missing_state, start_offset, with_initializing


class ShareTurn(ModernTurn):
    """A decision in progress."""

    __slots__ = ()
    kind_name = SHARE

    def raise_epoch(self, group: ShareGroup, epoch: int, hashed: int) -> None:
        """Begin a rebalance: its new assignment has this epoch."""
        self.records.append(GroupEpoch(group.group_id, epoch, hashed))
        self.rebalances(group, epoch)


class ShareSteps:
    """The steps, with the topics that they look at.

    Args:
        retry_interval_ms: an initialization of share state without an end is tried again after
            this time.

    Attributes:
        began_ms: the monotonic time at which the last initialization of a topic began, by the
            group's id and the topic's.
    """

    VOLATILE: ClassVar = frozenset({"began_ms"})

    def __init__(self, topics: Topics, retry_interval_ms: int) -> None:
        self.topics = topics
        self._retry_interval_ms = retry_interval_ms
        self.began_ms: dict[str, dict[uuid.UUID, int]] = {}

    def has_unassigned(self, group: ShareGroup) -> bool:
        """Whether partitions got share state after the last target was made."""
        if group.settled == (self.topics.version, group.revision):
            return False
        if not group.members or not group.initialized:
            return False
        assigned: dict[uuid.UUID, set[int]] = {}
        for target in group.targets.values():
            for topic_id, indexes in target.items():
                assigned.setdefault(topic_id, set()).update(indexes)
        return any(
            topic.name in group.subscribers
            and assigned.get(topic_id, set()) != set(self._assignable(group, topic_id))
            for topic_id, topic in group.initialized.items()
        )

    def _assignable(self, group: ShareGroup, topic_id: uuid.UUID) -> list[int]:
        """The partitions of a topic that exist and have share state, in order."""
        topic, state = self.topics.by_id(topic_id), group.initialized.get(topic_id)
        if topic is None or state is None:
            return []
        return sorted(each for each in state.partitions if each < topic.partition_count)

    def refresh_epoch(
        self,
        group: ShareGroup,
        subscribers: Iterable[str],
        turn: ShareTurn,
        *,
        has_changed: bool,
    ) -> tuple[int, bool]:
        """The group's epoch, and whether it is raised: the members or their topics have changed."""
        version, epoch = self.topics.version, group.epoch
        known = group.checked
        if not has_changed and known is not None and known[0] == version and epoch >= known[1]:
            return epoch, False
        hashed = metadata_hash(subscribers, self.topics)
        has_changed |= hashed != group.metadata_hash
        if has_changed:
            epoch += 1
            turn.raise_epoch(group, epoch, hashed)
        group.checked = (version, epoch)
        return epoch, has_changed

    def target(
        self,
        group: ShareGroup,
        member: ShareMember,
        subscribers: Mapping[str, int],
        turn: ShareTurn,
        *,
        epoch: int,
        interval_ms: int,
    ) -> tuple[int, Assignment]:
        """The epoch of the target, and the member's part of it. A new target is made if the last
        one is of an older epoch, and old enough."""
        last = group.target_epoch, group.targets.get(member.member_id, NOTHING)
        age_ms = turn.now.wall_ms - group.target_timestamp_ms
        # A negative age: the wall clock was set back, so the age is unknown.
        if epoch <= group.target_epoch or (group.target_timestamp_ms and 0 <= age_ms < interval_ms):
            return last
        assigned = assign(self._spec(group, member, subscribers))
        for member_id, partitions in assigned.items():
            if group.targets.get(member_id) != partitions:
                turn.records.append(TargetMember(group.group_id, member_id, partitions))
        turn.records.append(TargetEpoch(group.group_id, epoch, turn.now.wall_ms))
        return epoch, assigned[member.member_id]

    def _spec(
        self, group: ShareGroup, updated: ShareMember, subscribers: Mapping[str, int]
    ) -> Spec:
        """The input of the assignor: the group with the updated member, in Kafka's order."""
        members = {**group.members, updated.member_id: updated}
        new = [updated.member_id] if updated.member_id not in group.members else []
        by_name: dict[str, TopicMetadata] = {}
        for name in subscribers:
            topic = self.topics.by_name(name)
            if topic is not None:
                by_name[name] = topic
        ordered = ids_in_order([topic.topic_id for topic in by_name.values()])
        seen: dict[frozenset[str], list[uuid.UUID]] = {}

        def topic_ids_of(names: frozenset[str]) -> list[uuid.UUID]:
            if names not in seen:
                mine = {by_name[name].topic_id for name in names if name in by_name}
                seen[names] = [each for each in ordered if each in mine]
            return seen[names]

        return Spec(
            {
                each: topic_ids_of(members[each].subscribed_topic_names)
                for each in members_in_order(group.members, new)
            },
            {each: self._assignable(group, each) for each in ordered},
            group.targets,
            all(count == len(members) for count in subscribers.values()),
        )

    def reconcile(
        self,
        group: ShareGroup,
        member: ShareMember,
        target: tuple[int, Assignment],
        turn: ShareTurn,
        *,
        has_changed: bool,
    ) -> ShareMember:
        """Take a member to its target; the member afterwards."""
        if not has_changed and member.is_reconciled_to(target[0]):
            return member

        def is_subscribed_to(topic_id: uuid.UUID) -> bool:
            topic = self.topics.by_id(topic_id)
            return topic is not None and topic.name in member.subscribed_topic_names

        updated = member.reconciled(*target, is_subscribed_to=is_subscribed_to)
        if updated != member:
            turn.records.append(current(group.group_id, updated))
        return updated

    def initialize(
        self, group: ShareGroup, subscribers: Collection[str], epoch: int, turn: ShareTurn
    ) -> None:
        """Have share state initialized for subscribed partitions without it."""
        state = (self.topics.version, group.revision)
        if group.settled == state and not turn.records:
            return
        now_ms = turn.now.monotonic_ms
        recent = {
            topic_id
            for topic_id, began_ms in self.began_ms.get(group.group_id, {}).items()
            if now_ms - began_ms < self._retry_interval_ms
        }
        missing = missing_state(group, subscribers, self.topics, recent=recent)
        if not missing:
            is_under_way = any(each in recent for each in group.initializing)
            if not turn.records and not is_under_way and not self.has_unassigned(group):
                group.settled = state
                self.began_ms.pop(group.group_id, None)
            return
        turn.records.append(with_initializing(group, missing))
        partitions = tuple(
            StatePartition(topic_id, index, start_offset(group, topic_id, index))
            for topic_id, topic in missing.items()
            for index in sorted(topic.partitions)
        )
        self.began_ms.setdefault(group.group_id, {}).update(dict.fromkeys(missing, now_ms))
        turn.effects.append(InitializeShareState(group.group_id, epoch, partitions))
