"""Share groups (KIP-932): ShareGroupHeartbeat, leaving, replay and timers.

Follows Kafka's GroupMetadataManager. A decision changes volatile state only (`../volatile.py`); the
group changes by replay. A heartbeat without changes costs a few look-ups.

Members are assigned only partitions with share state. A heartbeat that finds others logs them as
initializing and has the broker initialize their state; the next heartbeat then raises the epoch.
"""

from __future__ import annotations

from dataclasses import field, replace

from ...protocol.errors import Code, Refused
from ...protocol.lazy_dataclass import dataclass
from ..consumer.requests import HeartbeatReply
from ..consumer.topics import NoTopics, Topics, metadata_hash
from ..deadlines import Timer, TimerKey
from ..group_kinds import SHARE
from ..modern_groups import JOINING_EPOCH, LEAVING_EPOCH, ModernGroups, check_room, fenced
from ..moment import Moment
from ..outcome import Outcome
from .group import FIRST_EPOCH, ShareGroup
from .member import ShareMember
from .records import Kind, ShareRecord, ShareRemoved, StateTopics, TargetEpoch, subscription
from .requests import (
    DescribedShareGroup,
    HeartbeatRequest,
    LimitsOf,
    ShareGroupLimits,
)
from .state_topics import without_gone
from .steps import ShareSteps, ShareTurn


def _usual_limits(group_id: str) -> ShareGroupLimits:
    return ShareGroupLimits()


@dataclass(frozen=True, slots=True)
class ShareSetup:
    """The services and settings that share groups get from their broker.

    Attributes:
        topics: the topics of the cluster, as a live view.
        limits_of: the limits of a group, by its id.
        max_size: the most members of a group.
        retry_interval_ms: see `ShareSteps`.
        first_epoch: of a group before its first member; 0 before Kafka 4.3.
    """

    topics: Topics = field(default_factory=NoTopics)
    limits_of: LimitsOf = _usual_limits
    max_size: int = 200
    retry_interval_ms: int = 30_000
    first_epoch: int = FIRST_EPOCH


class ShareGroups(ModernGroups[ShareGroup, ShareRecord, ShareTurn]):
    """The share groups of one partition of `__consumer_offsets`."""

    kind_name = SHARE
    group_key = Kind.GROUP
    member_key = Kind.MEMBER

    def __init__(self, setup: ShareSetup) -> None:
        super().__init__(ShareGroup, ShareTurn)
        self.topics = setup.topics
        self._steps = ShareSteps(setup.topics, setup.retry_interval_ms)
        self._limits_of = setup.limits_of
        self.first_epoch = setup.first_epoch
        self._max_size = setup.max_size

    # ---- ShareGroupHeartbeat

    def heartbeat(
        self, request: HeartbeatRequest, *, is_other: bool, now: Moment
    ) -> Outcome[HeartbeatReply]:
        """ShareGroupHeartbeat (76): join, stay in the group, or leave.

        Args:
            request: has passed `check_request`.
            is_other: whether a group of another kind has the id.
            now: the time on both clocks.

        Raises:
            Refused: GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH,
                GROUP_MAX_SIZE_REACHED.
        """
        turn = ShareTurn(now)
        if request.member_epoch == LEAVING_EPOCH:
            return self._leave(request, turn, is_other=is_other)
        group = self._group_for(request, is_other=is_other)
        if request.member_id not in group.members:
            check_room(SHARE, group, self._max_size)
        old = self._member_for(group, request)
        new = _updated(old, request)
        if new != old:
            turn.records.append(subscription(group.group_id, new))
        has_changed = new.subscribed_topic_names != old.subscribed_topic_names
        if group.target_epoch >= group.epoch:
            has_changed |= self._steps.has_unassigned(group)
        subscribers = group.subscribers_after(old, new) if has_changed else group.subscribers
        epoch, has_changed = self._steps.refresh_epoch(
            group, subscribers, turn, has_changed=has_changed
        )
        limits = self._limits_of(group.group_id)
        interval_ms = limits.assignment_interval_ms
        target = self._steps.target(
            group, new, subscribers, turn, epoch=epoch, interval_ms=interval_ms
        )
        new = self._steps.reconcile(group, new, target, turn, has_changed=has_changed)
        session = TimerKey(Timer.SESSION, group.group_id, new.member_id)
        self.deadlines.set(session, now.monotonic_ms + limits.session_timeout_ms)
        self._steps.initialize(group, subscribers, epoch, turn)
        is_wanted = request.member_epoch == JOINING_EPOCH
        is_wanted |= request.subscribed_topic_names is not None
        assignment = new.assigned if is_wanted or new.assigned != old.assigned else None
        reply = HeartbeatReply(
            new.member_id, new.member_epoch, limits.heartbeat_interval_ms, assignment
        )
        return Outcome(reply, tuple(turn.records), tuple(turn.effects))

    def _group_for(self, request: HeartbeatRequest, *, is_other: bool) -> ShareGroup:
        group = self.groups.get(request.group_id)
        if group is not None:
            return group
        if is_other:
            raise self.not_found(request.group_id, is_other=True)
        if request.member_epoch != JOINING_EPOCH:
            why = f"Share group {request.group_id} not found."
            raise Refused(Code.GROUP_ID_NOT_FOUND, why)
        return ShareGroup(request.group_id, self.first_epoch)

    def _member_for(self, group: ShareGroup, request: HeartbeatRequest) -> ShareMember:
        """The member that sent the request, or a new one if it joins.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH.
        """
        if request.member_epoch == JOINING_EPOCH:
            return group.members.get(request.member_id) or ShareMember(request.member_id)
        member = group.member(request.member_id)
        epoch, known = request.member_epoch, member.member_epoch
        if epoch > known:
            raise fenced(SHARE, epoch, known)
        previous = member.previous_member_epoch
        if epoch < known and epoch != previous:
            besides = f", and it does not match the previous member epoch ({previous})"
            raise fenced(SHARE, epoch, known, besides)
        return member

    # ---- leaving

    def _leave(
        self, request: HeartbeatRequest, turn: ShareTurn, *, is_other: bool
    ) -> Outcome[HeartbeatReply]:
        group = self.find(request.group_id, is_other=is_other)
        self._remove(group, group.member(request.member_id), turn)
        reply = HeartbeatReply(request.member_id, request.member_epoch)
        return Outcome(reply, tuple(turn.records), tuple(turn.effects))

    def _remove(self, group: ShareGroup, member: ShareMember, turn: ShareTurn) -> None:
        """Remove a member: tombstones in the order that Kafka's replay requires, a new epoch."""
        turn.records += [
            ShareRemoved(kind, group.group_id, member.member_id)
            for kind in (Kind.CURRENT_MEMBER, Kind.TARGET_MEMBER, Kind.MEMBER)
        ]
        left = group.subscribers_after(member, None)
        epoch = group.epoch + 1
        turn.raise_epoch(group, epoch, metadata_hash(left, self.topics))
        if len(group.members) == 1:
            turn.records.append(TargetEpoch(group.group_id, epoch))

    # ---- views

    def describe(self, group_id: str, *, is_other: bool) -> DescribedShareGroup:
        """ShareGroupDescribe (77). Raises Refused(GROUP_ID_NOT_FOUND)."""
        group = self.find(group_id, is_other=is_other)
        members = tuple(group.members.values())
        return DescribedShareGroup(
            group_id, group.state.value, group.epoch, group.target_epoch, members
        )

    # ---- replay

    def _drop(self, group: ShareGroup) -> None:
        super()._drop(group)
        self._steps.began_ms.pop(group.group_id, None)

    def removal_of_topic(self, name: str) -> list[StateTopics]:
        """Records of groups that knew a topic of this name which exists no more."""
        return [
            record
            for group in self.groups.values()
            if group.state_topics is not None
            and (record := without_gone(group.state_topics, name, self.topics)) is not None
        ]

    # ---- time

    def _session_timeout_ms(self, group_id: str) -> int:
        return self._limits_of(group_id).session_timeout_ms

    def _expired(self, group: ShareGroup, key: TimerKey, turn: ShareTurn) -> bool:
        member = group.members.get(key.member_id)
        if member is None:
            return False
        self._remove(group, member, turn)
        turn.removed(group, member, "no heartbeat for its session timeout")
        return True


def check_request(request: HeartbeatRequest) -> None:
    """Check the fields that a heartbeat of its epoch must have. Raises Refused(INVALID_REQUEST)."""
    epoch = request.member_epoch
    for wrong, why in (
        (not request.member_id.strip(), "MemberId can't be empty."),
        (not request.group_id.strip(), "GroupId can't be empty."),
        (request.rack_id is not None and not request.rack_id.strip(), "RackId can't be empty."),
        (
            epoch == JOINING_EPOCH and not request.subscribed_topic_names,
            "SubscribedTopicNames must be set in first request.",
        ),
        (epoch < LEAVING_EPOCH, "MemberEpoch is invalid."),
    ):
        if wrong:
            raise Refused(Code.INVALID_REQUEST, why)


def _updated(member: ShareMember, request: HeartbeatRequest) -> ShareMember:
    """The member with the fields of the heartbeat."""
    names = request.subscribed_topic_names
    return replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        subscribed_topic_names=member.subscribed_topic_names if names is None else names,
    )
