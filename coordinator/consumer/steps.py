"""The steps of a heartbeat and of a JoinGroup in a consumer group, and the timers of its members.

Follows Kafka's GroupMetadataManager. A step adds records to a turn and returns the state that they
lead to; the group itself changes by their replay.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import ClassVar

from ..deadlines import Deadlines, Timer, TimerKey
from ..group_kinds import CONSUMER
from ..modern_groups import JOINING_EPOCH, MemberState, ModernTurn, check_room, fenced
from .group import ConsumerGroup
from .member import Assignment, ConsumerMember
from .reconcile import reconciled
from .records import ConsumerRemoved, GroupEpoch, Kind, TargetMember, current, subscription
from .regexes import compiled
from .requests import ConsumerGroupSettings, GroupLimits
from .target import is_homogeneous, new_target
from .topics import Topics, metadata_hash

REGEX_PAUSE_MS = 10_000
"""The minimum time between two matchings of a group's regular expressions."""


class ConsumerTurn(ModernTurn):
    """A decision in progress."""

    __slots__ = ()
    kind_name = CONSUMER

    def raise_epoch(self, group: ConsumerGroup, epoch: int, metadata_hash: int) -> None:
        """Begin a rebalance: its new assignment has this epoch."""
        self.records.append(GroupEpoch(group.group_id, epoch, metadata_hash))
        self.rebalances(group, epoch)


class Steps:
    """The steps, with the limits, topics and timers that they use."""

    VOLATILE: ClassVar = frozenset({"matching", "may_see"})

    def __init__(
        self,
        settings: ConsumerGroupSettings,
        topics: Topics,
        limits_of: Callable[[str], GroupLimits],
        deadlines: Deadlines[TimerKey],
    ) -> None:
        self.settings = settings
        self.topics = topics
        self.limits_of = limits_of
        self.deadlines = deadlines
        # By group id: the topics that a regular expression may match, see `HeartbeatRequest`.
        self.may_see: dict[str, Callable[[str], bool] | None] = {}
        self.matching: set[str] = set()  # ids of groups whose regular expressions are matched now

    # ---- the member

    def check_room(self, group: ConsumerGroup) -> None:
        """Check that there is room for one more member; raises Refused(GROUP_MAX_SIZE_REACHED)."""
        check_room(CONSUMER, group, self.settings.max_size)

    def replace_static(
        self, group: ConsumerGroup, old: ConsumerMember, member_id: str, turn: ConsumerTurn
    ) -> ConsumerMember:
        """Replace a static member by a new one of the same instance, with its partitions."""
        new = replace(old, member_id=member_id, member_epoch=JOINING_EPOCH, previous_member_epoch=0)
        if member_id != old.member_id:  # else the tombstones would end the session that begins now
            turn.records += removal(group, old.member_id)
            turn.removed(group, old, f"a new member has its group.instance.id, {old.instance_id}")
        turn.records += [
            subscription(group.group_id, new),
            TargetMember(group.group_id, member_id, group.target_of(old)),
            current(group.group_id, new),
        ]
        return new

    # ---- its subscription

    def subscribe(
        self, group: ConsumerGroup, old: ConsumerMember, new: ConsumerMember, turn: ConsumerTurn
    ) -> bool:
        """Log the subscription if it has changed; whether its topic names have changed."""
        if new is old or new == old:
            return False
        turn.records.append(subscription(group.group_id, new))
        return new.subscribed_topic_names != old.subscribed_topic_names

    def has_other_assignor(
        self, group: ConsumerGroup, old: ConsumerMember, new: ConsumerMember
    ) -> bool:
        """Whether the assignor that most members name changes with this member.

        As in Kafka, it also changes by a heartbeat that changes nothing, if as many members name
        one assignor as another: the count takes the member out and in again, and of equal ones
        the last named wins. Each heartbeat of that member then raises the group's epoch.
        """
        is_same = old.server_assignor == new.server_assignor and old.member_id in group.members
        if is_same and not group.has_many_assignors:
            return False
        default = self.settings.assignors[0]
        return group.assignor(default) != group.assignor(default, old, new)

    def update_regexes(
        self,
        group: ConsumerGroup,
        old: ConsumerMember,
        new: ConsumerMember,
        may_see: Callable[[str], bool] | None,
        turn: ConsumerTurn,
    ) -> bool:
        """Set the timer that matches regular expressions; whether the group needs a new target.

        A new one is matched right after this decision. All are matched again when topics were
        created, and after `regex_refresh_interval_ms`.

        Args:
            may_see: see `HeartbeatRequest`.

        Raises:
            Refused: INVALID_REGULAR_EXPRESSION.
        """
        bump = is_new = False
        before, after = old.subscribed_topic_regex, new.subscribed_topic_regex
        if before != after:
            if before and group.regexes.get(before) == 1:
                turn.records.append(ConsumerRemoved(Kind.REGEX, group.group_id, before))
            if after and after not in group.regexes:
                compiled(after)
                is_new = True
            else:  # without one, the member keeps nothing that its old one matched
                bump = not after or after in group.resolved
        elif not group.regexes:
            return False
        key = TimerKey(Timer.REGEX, group.group_id)
        age_ms = turn.now.wall_ms - group.last_resolved_ms
        # A negative age: the wall clock was set back, so the age is unknown.
        is_under_way = self.deadlines.is_set(key) or group.group_id in self.matching
        if is_under_way or 0 <= age_ms <= REGEX_PAUSE_MS:
            return bump
        regexes = group.regexes_after(old, new)
        if regexes and (
            is_new
            or len(regexes) != len(group.resolved)
            or group.last_resolved_version < self.topics.newest_version
            or not 0 <= age_ms <= self.settings.regex_refresh_interval_ms
        ):
            self.deadlines.set(key, turn.now_ms)
            self.may_see[group.group_id] = may_see
        return bump

    # ---- its assignment

    def advance(
        self,
        group: ConsumerGroup,
        members: tuple[ConsumerMember, ConsumerMember],
        turn: ConsumerTurn,
        *,
        bump: bool,
    ) -> tuple[int, Assignment]:
        """Raise the group's epoch if needed, and make a target for it.

        Args:
            members: the member before and after the request.
            bump: whether the subscriptions have changed.

        Returns:
            The epoch of the target, and the member's part of it.
        """
        old, new = members
        epoch = group.epoch
        if bump or group.is_stale(self.topics.version):
            epoch = self.refresh_metadata(group, members, turn, bump=bump)
        if epoch <= group.target_epoch or self._must_wait(group, turn.now.wall_ms):
            return group.target_epoch, group.target_of(new)
        is_known = new.member_id in group.members or group.static_member(new.instance_id)
        count = len(group.members) + (not is_known)
        gone = self._regexes_gone(group, old, new)
        assignor = group.assignor(self.settings.assignors[0], old, new)
        records, target = new_target(
            group,
            new,
            self.topics,
            epoch=epoch,
            assignor=assignor
            if assignor in self.settings.assignors
            else self.settings.assignors[0],
            homogeneous=is_homogeneous(
                group.subscribers_after([old], [new], gone_regexes=gone),
                group.regexes_after(old, new),
                count,
            ),
            now_ms=turn.now.wall_ms,
        )
        turn.records += records
        return epoch, target

    def _must_wait(self, group: ConsumerGroup, now_ms: int) -> bool:
        """Whether the last target is too new for another one (KIP-1263).

        A negative age, of a wall clock that was set back, makes no group wait.
        """
        since_ms = group.target_timestamp_ms
        interval_ms = self.limits_of(group.group_id).assignment_interval_ms
        return since_ms != 0 and 0 <= now_ms - since_ms < interval_ms

    def refresh_metadata(
        self,
        group: ConsumerGroup,
        members: tuple[ConsumerMember, ConsumerMember],
        turn: ConsumerTurn,
        *,
        bump: bool,
    ) -> int:
        """Compare the topics' hash; the group's epoch, raised if the hash or `bump` requires it."""
        old, new = members
        gone = self._regexes_gone(group, old, new)
        subscribed = group.subscribers_after([old], [new], gone_regexes=gone)
        hashed = metadata_hash(subscribed, self.topics)
        epoch = group.epoch
        if bump or hashed != group.metadata_hash:
            epoch += 1
            turn.raise_epoch(group, epoch, hashed)
        group.checked = (self.topics.version, epoch)
        if group.has_subscription_metadata:
            turn.records.append(ConsumerRemoved(Kind.SUBSCRIPTION_METADATA, group.group_id))
        return epoch

    def _regexes_gone(
        self, group: ConsumerGroup, old: ConsumerMember, new: ConsumerMember
    ) -> Iterable[str]:
        before = old.subscribed_topic_regex
        is_gone = before != new.subscribed_topic_regex and group.regexes.get(before) == 1
        return (before,) if is_gone else ()

    def reconcile(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        target: tuple[int, Assignment],
        owned: Assignment | None,
        turn: ConsumerTurn,
        *,
        has_changed: bool,
    ) -> ConsumerMember:
        """Take a member one step towards its target; the member after the step.

        Args:
            has_changed: its subscription has changed. It loses the partitions of other topics at
                once, even if the next target is not made yet.
            target: the epoch of the target, and the member's part of it.
            owned: the partitions that the member reports; None if it reports none.

        Raises:
            Refused: FENCED_MEMBER_EPOCH; see `reconciled`.
        """
        target_epoch, partitions = target
        if member.is_reconciled_to(target_epoch) and not has_changed:
            return member
        updated = reconciled(
            member,
            partitions,
            target_epoch,
            owned=owned,
            partition_epochs=group.partition_epochs,
            is_subscribed=self._subscribed(group, member),
            has_changed=has_changed,
        )
        if updated == member:
            return member
        turn.records.append(current(group.group_id, updated))
        if updated.classic is None:
            key = TimerKey(Timer.REBALANCE, group.group_id, member.member_id)
            if updated.state is MemberState.UNREVOKED:
                self.deadlines.set(key, turn.now_ms + updated.rebalance_timeout_ms)
            else:
                self.deadlines.cancel(key)
        return updated

    def _subscribed(
        self, group: ConsumerGroup, member: ConsumerMember
    ) -> Callable[[uuid.UUID], bool]:
        """Whether a member is subscribed to a topic, by its id; a deleted one is none."""
        resolved = group.resolved.get(member.subscribed_topic_regex)
        matched = frozenset[str]() if resolved is None else resolved.topics

        def is_subscribed(topic_id: uuid.UUID) -> bool:
            topic = self.topics.by_id(topic_id)
            return topic is not None and (
                topic.name in member.subscribed_topic_names or topic.name in matched
            )

        return is_subscribed


def removal(group: ConsumerGroup, member_id: str) -> list[ConsumerRemoved]:
    """Tombstones for a member, in the order that Kafka's replay requires."""
    return [
        ConsumerRemoved(kind, group.group_id, member_id)
        for kind in (Kind.CURRENT_MEMBER, Kind.TARGET_MEMBER, Kind.MEMBER)
    ]


def check_epoch(member: ConsumerMember, epoch: int, owned: Assignment | None) -> None:
    """Check that a heartbeat is of the member's epoch.

    The previous epoch is valid too while the member owns no more than its assignment: the answer
    with the new epoch may be lost. A member may join again at any time.

    Raises:
        Refused: FENCED_MEMBER_EPOCH.
    """
    if epoch in (member.member_epoch, JOINING_EPOCH):
        return
    if (
        epoch < member.member_epoch
        and epoch == member.previous_member_epoch
        and owned is not None
        and _is_within(owned, member.assigned)
    ):
        return
    raise fenced(CONSUMER, epoch, member.member_epoch)


def _is_within(owned: Assignment, assigned: Assignment) -> bool:
    return all(
        topic_id in assigned and indexes <= assigned[topic_id]
        for topic_id, indexes in owned.items()
    )
