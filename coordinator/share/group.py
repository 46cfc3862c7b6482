"""One share group (KIP-932): members, target and current assignment, epochs, share state.

Durable state changes by replay alone, in any order that compaction may leave.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import ClassVar, Final

from ...protocol.errors import Code, Refused
from ..consumer.member import NOTHING, Assignment
from ..modern_groups import ModernGroup
from .member import NO_EPOCH, ShareMember
from .records import (
    CurrentMember,
    GroupEpoch,
    Kind,
    MemberSubscription,
    ShareRecord,
    ShareRemoved,
    StateTopics,
    StateTopicsById,
    TargetEpoch,
    TargetMember,
)

FIRST_EPOCH: Final = 1
"""Of a group without a record of its epoch (ModernGroup)."""


class State(Enum):
    """The state of a group (ShareGroupState); the values are Kafka's names."""

    EMPTY = "Empty"
    STABLE = "Stable"


class ShareGroup(ModernGroup[ShareMember]):
    """The state of one group.

    Attributes:
        epoch: raised whenever members, subscriptions, topics or their share state change; it begins
            with that of the argument.
        target_epoch: the group's epoch that the target was made for.
        target_timestamp_ms: the wall time when it was made; 0 for none.
        targets: the target assignment of each member, by member id.
        subscribers: the number of members by topic name.
        state_topics: the partitions with share state; None without a record of them.
        revision: counts the changes.
        checked: the version of the topics, and the group's epoch, at the last comparison of
            `metadata_hash`.
        settled: the version of the topics and the revision at which all partitions had share state
            and were assigned.
    """

    VOLATILE: ClassVar = frozenset({"checked", "settled"})

    def __init__(self, group_id: str, epoch: int = FIRST_EPOCH) -> None:
        super().__init__(group_id)
        self.epoch = epoch
        self.metadata_hash = 0
        self.target_epoch = 0
        self.target_timestamp_ms = 0
        self.targets: dict[str, Assignment] = {}
        self.subscribers: dict[str, int] = {}
        self.state_topics: StateTopics | None = None
        self.revision = 0
        self.checked: tuple[int, int] | None = None
        self.settled: tuple[int, int] | None = None

    # ---- queries

    @property
    def state(self) -> State:
        return State.STABLE if self.members else State.EMPTY

    @property
    def initialized(self) -> StateTopicsById:
        """The partitions that members may be assigned."""
        return {} if self.state_topics is None else self.state_topics.initialized

    @property
    def initializing(self) -> StateTopicsById:
        return {} if self.state_topics is None else self.state_topics.initializing

    @property
    def deleting(self) -> Mapping[uuid.UUID, str]:
        """Topics whose share state is being deleted."""
        return {} if self.state_topics is None else self.state_topics.deleting

    def check_empty(self) -> None:
        """Raises Refused(NON_EMPTY_GROUP)."""
        if self.members:
            raise Refused(Code.NON_EMPTY_GROUP, "The group is not empty.")

    def subscribers_after(self, old: ShareMember | None, new: ShareMember | None) -> dict[str, int]:
        """The subscribers by topic name, if the member `old` becomes `new`."""
        counts = dict(self.subscribers)
        if old is not None and old.member_id in self.members:
            _count(counts, old.subscribed_topic_names, -1)
        if new is not None:
            _count(counts, new.subscribed_topic_names, 1)
        return counts

    def removal(self) -> list[ShareRemoved]:
        """Tombstones for all records of the group."""
        removed = ShareRemoved
        return [
            *(removed(Kind.CURRENT_MEMBER, self.group_id, each) for each in self.members),
            *(removed(Kind.TARGET_MEMBER, self.group_id, each) for each in self.members),
            removed(Kind.TARGET, self.group_id),
            *(removed(Kind.MEMBER, self.group_id, each) for each in self.members),
            removed(Kind.STATE_TOPICS, self.group_id),
            removed(Kind.GROUP, self.group_id),
        ]

    # ---- replay

    def replay(self, record: ShareRecord) -> None:
        """Apply a record of this group, except the tombstone of the whole group."""
        self.revision += 1
        match record:
            case GroupEpoch():
                self.epoch, self.metadata_hash = record.epoch, record.metadata_hash
            case TargetEpoch():
                self.target_epoch = record.epoch
                self.target_timestamp_ms = record.timestamp_ms
            case TargetMember():
                self.targets[record.member_id] = record.partitions
            case MemberSubscription():
                self._apply_subscription(record)
            case CurrentMember():
                self._apply_current(record)
            case StateTopics():
                self.state_topics = record
            case ShareRemoved():
                self._remove(record.kind, record.member_id)

    def _remove(self, kind: Kind, member_id: str) -> None:
        match kind:
            case Kind.MEMBER:
                old = self.members.pop(member_id, None)
                if old is not None:
                    _count(self.subscribers, old.subscribed_topic_names, -1)
            case Kind.CURRENT_MEMBER:
                old = self.members.get(member_id)
                if old is not None:
                    self.members[member_id] = replace(
                        old, member_epoch=NO_EPOCH, previous_member_epoch=NO_EPOCH, assigned=NOTHING
                    )
            case Kind.TARGET_MEMBER:
                self.targets.pop(member_id, None)
            case Kind.TARGET:
                self.target_epoch, self.target_timestamp_ms = NO_EPOCH, 0
            case Kind.STATE_TOPICS:
                self.state_topics = None

    def _apply_subscription(self, record: MemberSubscription) -> None:
        """Apply the record of a subscription; it leaves epochs, state and partitions alone."""
        old = self.members.get(record.member_id)
        if old is not None:
            _count(self.subscribers, old.subscribed_topic_names, -1)
        self.members[record.member_id] = replace(
            old or ShareMember(record.member_id),
            rack_id=record.rack_id,
            client_id=record.client_id,
            client_host=record.client_host,
            subscribed_topic_names=record.subscribed_topic_names,
        )
        _count(self.subscribers, record.subscribed_topic_names, 1)

    def _apply_current(self, record: CurrentMember) -> None:
        """Apply the record of epochs, state and partitions; it leaves the subscription alone."""
        old = self.members.get(record.member_id) or ShareMember(record.member_id)
        self.members[record.member_id] = replace(
            old,
            member_epoch=record.member_epoch,
            previous_member_epoch=record.previous_member_epoch,
            state=record.state,
            assigned=record.assigned,
        )


def _count(counts: dict[str, int], names: frozenset[str], by: int) -> None:
    for name in names:
        left = counts.get(name, 0) + by
        if left:
            counts[name] = left
        else:
            counts.pop(name, None)
