"""One consumer group (KIP-848): members, target and current assignment, epochs, subscriptions.

Durable state changes by replay alone, in any order that compaction may leave. The group also counts
subscribers and the epochs of owned partitions, so that a heartbeat need not visit all members.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import ClassVar, NamedTuple

from ..java_order import in_timeline_table
from ..modern_groups import LEAVING_EPOCH, MemberState, ModernGroup
from .member import NO_EPOCH_OF, NO_EPOCHS, NOTHING, Assignment, ConsumerMember
from .records import (
    ConsumerRecord,
    ConsumerRemoved,
    CurrentMember,
    GroupEpoch,
    Kind,
    MemberSubscription,
    ResolvedRegex,
    SubscriptionMetadata,
    TargetEpoch,
    TargetMember,
)

NO_EPOCH = -1
_LONG_AGO = -(1 << 63)


class State(Enum):
    """The state of a consumer group (ConsumerGroupState); the values are Kafka's names."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class Subscribers(NamedTuple):
    """The number of members that name a topic, and of regular expressions that match it."""

    by_name: int = 0
    by_regex: int = 0


class ConsumerGroup(ModernGroup[ConsumerMember]):
    """The state of one group.

    Attributes:
        epoch: raised whenever members, subscriptions or topics change; it begins with that of the
            argument, which is the one before the first member.
        target_epoch: the group's epoch that the target was made for.
        target_timestamp_ms: when, by the wall time; 0 if the next one may be made at once.
        targets: the target assignment of each member, by member id.
        owners: the inverse of `targets`: member ids by topic id and partition.
        subscribers: by topic name.
        regexes: the number of members subscribed by each regular expression.
        resolved: the topics that each regular expression matched.
        checked: the version of the topics, and the group's epoch, at the last comparison of
            `metadata_hash`. In memory only.
    """

    VOLATILE: ClassVar = frozenset({"checked"})

    def __init__(self, group_id: str, epoch: int = 1) -> None:
        super().__init__(group_id)
        self.epoch = epoch
        self.metadata_hash = 0
        self.target_epoch = 0
        self.target_timestamp_ms = 0
        self.targets: dict[str, Assignment] = {}
        self.owners: dict[uuid.UUID, dict[int, str]] = {}
        self.subscribers: dict[str, Subscribers] = {}
        self.regexes: dict[str, int] = {}
        self.resolved: dict[str, ResolvedRegex] = {}
        self.has_subscription_metadata = False
        self.checked: tuple[int, int] | None = None
        self._partition_epochs: dict[uuid.UUID, dict[int, int]] = {}
        self._assignors: dict[str, int] = {}
        self._classic_count = 0
        self._classic_protocols: dict[str, int] = {}

    # ---- queries

    @property
    def state(self) -> State:
        if not self.members:
            return State.EMPTY
        if self.epoch > self.target_epoch:
            return State.ASSIGNING
        if all(member.is_reconciled_to(self.target_epoch) for member in self.members.values()):
            return State.STABLE
        return State.RECONCILING

    def target_of(self, member: ConsumerMember) -> Assignment:
        """The target of a member, or of the static member that it replaces."""
        if member.instance_id is None:
            return self.targets.get(member.member_id, NOTHING)
        member_id = self._static_members.get(member.instance_id)
        return NOTHING if member_id is None else self.targets.get(member_id, NOTHING)

    def partition_epochs(self, topic_id: uuid.UUID) -> Mapping[int, int]:
        """The epochs of the members that own partitions of a topic, by index."""
        return self._partition_epochs.get(topic_id, NO_EPOCH_OF)

    def partition_epoch(self, topic_id: uuid.UUID, partition: int) -> int:
        """The epoch of the member that owns the partition; -1 if it is free."""
        return self._partition_epochs.get(topic_id, {}).get(partition, NO_EPOCH)

    def waits_for_partitions(self, member: ConsumerMember) -> bool:
        """Whether other members still own partitions of a member's target."""
        return any(
            index not in member.assigned.get(topic_id, ())
            and self.partition_epoch(topic_id, index) != NO_EPOCH
            for topic_id, indexes in self.targets.get(member.member_id, NOTHING).items()
            for index in indexes
        )

    def is_stale(self, topics_version: int) -> bool:
        """Whether topics may have changed since `metadata_hash` was compared."""
        checked = self.checked
        return checked is None or checked[0] != topics_version or self.epoch < checked[1]

    def is_settled(self, member: ConsumerMember, topics_version: int) -> bool:
        """Whether a heartbeat that changes nothing of a member needs no step.

        It needs none if the target is of the group's epoch and of the current topics, the member
        has all of it, and no regular expression or assignor makes the group look again.
        """
        return (
            self.epoch <= self.target_epoch == member.member_epoch
            and member.state is MemberState.STABLE
            and not self.regexes
            and len(self._assignors) <= 1
            and not self.is_stale(topics_version)
        )

    @property
    def has_many_assignors(self) -> bool:
        """Whether members name different assignors."""
        return len(self._assignors) > 1

    def assignor(
        self, default: str, old: ConsumerMember | None = None, new: ConsumerMember | None = None
    ) -> str:
        """The assignor that most members name, if the member `old` becomes `new`."""
        counts = {name: self._assignors[name] for name in in_timeline_table(self._assignors)}
        _count(counts, None if old is None else old.server_assignor, -1)
        named = None if new is None else new.server_assignor
        if named is not None and named not in counts:
            counts = {named: 0, **counts}  # with equal counts Kafka takes this one
        _count(counts, named, 1)
        return max(counts, key=counts.__getitem__, default=default)

    @property
    def last_resolved_ms(self) -> int:
        """The wall time, in ms, of the last matching of regular expressions."""
        return next((each.timestamp_ms for each in self.resolved.values()), _LONG_AGO)

    @property
    def last_resolved_version(self) -> int:
        return next((each.version for each in self.resolved.values()), 0)

    # ---- queries about classic members

    def supports_classic(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Whether all classic members support one of these protocols."""
        return protocol_type == "consumer" and any(
            self._classic_protocols.get(name, 0) == self._classic_count for name in protocols
        )

    def is_classic_without(self, gone: Iterable[ConsumerMember]) -> bool:
        """Whether all members but `gone` are of the classic protocol."""
        gone = list(gone)
        classic_gone = sum(member.classic is not None for member in gone)
        return self._classic_count - classic_gone == len(self.members) - len(gone)

    # ---- the group after a change, for decisions

    def subscribers_after(
        self,
        old: Iterable[ConsumerMember],
        new: Iterable[ConsumerMember] = (),
        *,
        gone_regexes: Iterable[str] = (),
    ) -> dict[str, Subscribers]:
        """The subscribers by topic, if `old` members become `new` ones."""
        counts = dict(self.subscribers)
        for member in old:
            _change(counts, member.subscribed_topic_names, by_name=-1)
        for member in new:
            _change(counts, member.subscribed_topic_names, by_name=1)
        for regex in gone_regexes:
            if regex in self.resolved:
                _change(counts, self.resolved[regex].topics, by_regex=-1)
        return counts

    def regexes_after(self, old: ConsumerMember, new: ConsumerMember) -> Mapping[str, int]:
        """The subscribers by regular expression, if the member `old` becomes `new`."""
        if old.subscribed_topic_regex == new.subscribed_topic_regex:
            return self.regexes
        counts = dict(self.regexes)
        _count(counts, old.subscribed_topic_regex, -1)
        _count(counts, new.subscribed_topic_regex, 1)
        return counts

    def removal(self, replaced: Mapping[str, str] | None = None) -> list[ConsumerRecord]:
        """Tombstones for all records of the group.

        Args:
            replaced: new ids, by the old, of members that records before these replace.
        """
        new_ids = replaced or {}
        ids = [new_ids.get(member_id, member_id) for member_id in self.members]
        removed = ConsumerRemoved
        return [
            *(removed(Kind.CURRENT_MEMBER, self.group_id, each) for each in ids),
            *(removed(Kind.TARGET_MEMBER, self.group_id, each) for each in ids),
            removed(Kind.TARGET, self.group_id),
            *(removed(Kind.MEMBER, self.group_id, each) for each in ids),
            *(removed(Kind.REGEX, self.group_id, regex) for regex in self.resolved),
            removed(Kind.SUBSCRIPTION_METADATA, self.group_id),
            removed(Kind.GROUP, self.group_id),
        ]

    # ---- replay

    def replay(self, record: ConsumerRecord) -> None:
        """Apply a record of this group, except the tombstone of the whole group."""
        match record:
            case GroupEpoch():
                self.epoch, self.metadata_hash = record.epoch, record.metadata_hash
            case TargetEpoch():
                self.target_epoch = record.epoch
                self.target_timestamp_ms = record.timestamp_ms
            case TargetMember():
                self._set_target(record.member_id, record.partitions)
                self.targets[record.member_id] = record.partitions
            case MemberSubscription():
                self._apply_subscription(record.member)
            case CurrentMember():
                self._apply_current(record)
            case ResolvedRegex():
                self._forget_regex(record.regex)
                self.resolved[record.regex] = record
                _change(self.subscribers, record.topics, by_regex=1)
            case SubscriptionMetadata():
                self.has_subscription_metadata = True
            case ConsumerRemoved():
                self._remove(record.kind, record.name)

    def _remove(self, kind: Kind, name: str) -> None:
        match kind:
            case Kind.MEMBER:
                old = self.members.pop(name, None)
                if old is not None:
                    self._forget(old)
                    _change(self.subscribers, old.subscribed_topic_names, by_name=-1)
            case Kind.CURRENT_MEMBER:
                if name in self.members:
                    gone = CurrentMember(
                        self.group_id, name, LEAVING_EPOCH, LEAVING_EPOCH,
                        self.members[name].state, NOTHING, NOTHING, NO_EPOCHS,
                    )  # fmt: skip
                    self._apply_current(gone)
            case Kind.TARGET_MEMBER:
                self._set_target(name, NOTHING)
                self.targets.pop(name, None)
            case Kind.TARGET:
                self.target_epoch, self.target_timestamp_ms = NO_EPOCH, 0
            case Kind.REGEX:
                self._forget_regex(name)
                self.checked = None  # the group may have fewer topics now
            case Kind.SUBSCRIPTION_METADATA:
                self.has_subscription_metadata = False

    def _apply_subscription(self, subscription: ConsumerMember) -> None:
        """Apply the record of a subscription; it leaves epochs, state and partitions alone."""
        old = self.members.get(subscription.member_id)
        self._put(old, subscription if old is None else subscription.with_current(old))

    def _apply_current(self, record: CurrentMember) -> None:
        """Apply the record of epochs, state and partitions; it leaves the subscription alone."""
        old = self.members.get(record.member_id)
        self._put(old, (old or ConsumerMember(record.member_id)).with_current(record))

    def _put(self, old: ConsumerMember | None, new: ConsumerMember) -> None:
        before: frozenset[str] = frozenset()
        if old is not None:
            self._forget(old)
            before = old.subscribed_topic_names
        self.members[new.member_id] = new
        if before is not new.subscribed_topic_names:  # it is, unless the subscription changes
            _change(self.subscribers, before, by_name=-1)
            _change(self.subscribers, new.subscribed_topic_names, by_name=1)
        _count(self.regexes, new.subscribed_topic_regex, 1)
        _count(self._assignors, new.server_assignor, 1)
        for owned in (new.assigned, new.pending_revocation):
            for topic_id, indexes in owned.items():
                epochs = self._partition_epochs.setdefault(topic_id, {})
                epochs.update(dict.fromkeys(indexes, new.member_epoch))
        if new.instance_id is not None:
            self._static_members[new.instance_id] = new.member_id
        if new.classic is not None:
            self._classic_count += 1
            for protocol, _ in new.classic.protocols:
                _count(self._classic_protocols, protocol, 1)

    def _forget(self, old: ConsumerMember) -> None:
        """Remove a member from all counts but that of subscribers."""
        _count(self.regexes, old.subscribed_topic_regex, -1)
        _count(self._assignors, old.server_assignor, -1)
        for owned in (old.assigned, old.pending_revocation):
            for topic_id, indexes in owned.items():
                epochs = self._partition_epochs.get(topic_id, {})
                for index in indexes:
                    if epochs.get(index) == old.member_epoch:
                        del epochs[index]
                if not epochs:
                    self._partition_epochs.pop(topic_id, None)
        if self._static_members.get(old.instance_id or "") == old.member_id:
            del self._static_members[old.instance_id or ""]
        if old.classic is not None:
            self._classic_count -= 1
            for protocol, _ in old.classic.protocols:
                _count(self._classic_protocols, protocol, -1)

    def _forget_regex(self, regex: str) -> None:
        known = self.resolved.pop(regex, None)
        if known is not None:
            _change(self.subscribers, known.topics, by_regex=-1)

    def _set_target(self, member_id: str, target: Assignment) -> None:
        """Update `owners`; a partition that another member got meanwhile stays with that one."""
        before = self.targets.get(member_id, NOTHING)
        for topic_id, indexes in before.items():
            owners = self.owners.get(topic_id, {})
            for index in indexes - target.get(topic_id, frozenset()):
                if owners.get(index) == member_id:
                    del owners[index]
            if not owners:
                self.owners.pop(topic_id, None)
        for topic_id, indexes in target.items():
            owners = self.owners.setdefault(topic_id, {})
            owners.update(dict.fromkeys(indexes - before.get(topic_id, frozenset()), member_id))


def _count(counts: dict[str, int], name: str | None, by: int) -> None:
    if not name:
        return
    left = counts.get(name, 0) + by
    if left:
        counts[name] = left
    else:
        counts.pop(name, None)


def _change(
    counts: dict[str, Subscribers], topics: Iterable[str], *, by_name: int = 0, by_regex: int = 0
) -> None:
    """Change the subscribers of many topics; most have none before, or none afterwards."""
    first, last = Subscribers(by_name, by_regex), Subscribers(-by_name, -by_regex)
    for topic in topics:
        before = counts.get(topic)
        if before is None:
            counts[topic] = first
        elif before == last:
            del counts[topic]
        else:
            counts[topic] = Subscribers(before.by_name + by_name, before.by_regex + by_regex)
