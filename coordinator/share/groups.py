"""Share groups (KIP-932): ShareGroupHeartbeat, leaving, replay and timers.

Follows Kafka's GroupMetadataManager. A decision changes volatile state only (`../volatile.py`); the
group changes by replay. A heartbeat without changes costs a few look-ups.

Members are assigned only partitions with share state. A heartbeat that finds others logs them as
initializing and has the broker initialize their state; the next heartbeat then raises the epoch.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from ...protocol.errors import Code, Refused
from ...protocol.lazy_dataclass import dataclass
from ..consumer.member import JOINING_EPOCH, LEAVING_EPOCH
from ..consumer.topics import NoTopics, Topics, metadata_hash
from ..deadlines import Deadlines
from ..moment import Moment
from ..outcome import Notice, Outcome
from .group import FIRST_EPOCH, ShareGroup
from .member import ShareMember
from .records import Kind, ShareRecord, ShareRemoved, StateTopics, TargetEpoch, subscription
from .requests import (
    DescribedShareGroup,
    HeartbeatReply,
    HeartbeatRequest,
    LimitsOf,
    ShareGroupLimits,
)
from .state_topics import without_gone
from .steps import ShareSteps, ShareTurn

if TYPE_CHECKING:
    from ..group_waits import GroupWaits

_RETRY_MS: Final = 500
"""The pause before the next try, after the log refused the records of a timer."""


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


class SessionKey(NamedTuple):
    """The timer of a member's session."""

    group_id: str
    member_id: str


class ShareGroups:
    """The share groups of one partition of `__consumer_offsets`."""

    VOLATILE: ClassVar = frozenset({"loaded"})

    def __init__(self, setup: ShareSetup) -> None:
        self.topics = setup.topics
        self._steps = ShareSteps(setup.topics, setup.retry_interval_ms)
        self._limits_of = setup.limits_of
        self.first_epoch = setup.first_epoch
        self._max_size = setup.max_size
        self.groups: dict[str, ShareGroup] = {}
        self.deadlines: Deadlines[SessionKey] = Deadlines()
        self.loaded: dict[str, None] = {}

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
        self._check_room(group, request.member_id)
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
        session = SessionKey(group.group_id, new.member_id)
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
            raise not_found(request.group_id, is_other=True)
        if request.member_epoch != JOINING_EPOCH:
            why = f"Share group {request.group_id} not found."
            raise Refused(Code.GROUP_ID_NOT_FOUND, why)
        return ShareGroup(request.group_id, self.first_epoch)

    def _check_room(self, group: ShareGroup, member_id: str) -> None:
        if len(group.members) >= self._max_size and member_id not in group.members:
            raise Refused(
                Code.GROUP_MAX_SIZE_REACHED,
                f"The share group has reached its maximum capacity of {self._max_size} members.",
            )

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
            raise _fenced(f"greater member epoch ({epoch})", f"({known}).")
        previous = member.previous_member_epoch
        if epoch < known and epoch != previous:
            raise _fenced(
                f"smaller member epoch ({epoch})",
                f"({known}), and it does not match the previous member epoch ({previous}).",
            )
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

    def find(self, group_id: str, *, is_other: bool) -> ShareGroup:
        """Raises Refused(GROUP_ID_NOT_FOUND)."""
        group = self.groups.get(group_id)
        if group is None:
            raise not_found(group_id, is_other=is_other)
        return group

    def describe(self, group_id: str, *, is_other: bool) -> DescribedShareGroup:
        """ShareGroupDescribe (77). Raises Refused(GROUP_ID_NOT_FOUND)."""
        group = self.find(group_id, is_other=is_other)
        members = tuple(group.members.values())
        return DescribedShareGroup(
            group_id, group.state.value, group.epoch, group.target_epoch, members
        )

    # ---- replay

    def replay(self, record: ShareRecord) -> None:
        """Apply a record. A tombstone may name something unknown, because of compaction."""
        group_id = record.group_id
        group = self.groups.get(group_id)
        if isinstance(record, ShareRemoved):
            if group is None:
                return
            if record.kind is Kind.GROUP:
                self._drop(group)
                return
            if record.kind is Kind.MEMBER:
                self.deadlines.cancel(SessionKey(group_id, record.member_id))
        elif group is None:
            group = self.groups[group_id] = ShareGroup(group_id)
            self.loaded[group_id] = None
        group.replay(record)

    def forget(self, group_id: str) -> None:
        """Drop a group: a record says that it is of another kind."""
        group = self.groups.get(group_id)
        if group is not None:
            self._drop(group)

    def _drop(self, group: ShareGroup) -> None:
        for member_id in group.members:
            self.deadlines.cancel(SessionKey(group.group_id, member_id))
        del self.groups[group.group_id]
        self._steps.began_ms.pop(group.group_id, None)
        self.loaded.pop(group.group_id, None)

    def removal_of_topic(self, name: str) -> list[StateTopics]:
        """Records of groups that knew a topic of this name which exists no more."""
        return [
            record
            for group in self.groups.values()
            if group.state_topics is not None
            and (record := without_gone(group.state_topics, name, self.topics)) is not None
        ]

    # ---- time

    def waits_of(self, group: ShareGroup) -> GroupWaits:
        """The timers of the members."""
        from ..group_waits import GroupWaits, MemberWaits  # for people who ask why

        session_ms = self._limits_of(group.group_id).session_timeout_ms
        due_ms = self.deadlines.due_ms
        return GroupWaits(
            tuple(
                MemberWaits(name, b"", session_ms, due_ms(SessionKey(group.group_id, name)))
                for name in group.members
            )
        )

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        """Begin the sessions of loaded members; expire sessions.

        One decision for each that is due, see `Machine.tick`.
        """
        while self.loaded:
            group_id = next(iter(self.loaded))
            del self.loaded[group_id]
            session_ms = self._limits_of(group_id).session_timeout_ms
            for member_id in self.groups[group_id].members:
                key = SessionKey(group_id, member_id)
                if not self.deadlines.is_set(key):
                    self.deadlines.set(key, now.monotonic_ms + session_ms)
            yield Outcome(None)
        for key in self.deadlines.take_due(now.monotonic_ms):
            group = self.groups.get(key.group_id)
            member = None if group is None else group.members.get(key.member_id)
            if group is None or member is None:
                continue
            turn = ShareTurn(now)
            self._remove(group, member, turn)
            fields = {
                "member": member.member_id,
                "client_id": member.client_id,
                "reason": "no heartbeat for its session timeout",
            }
            notice = Notice("a member is removed from its group", group.group_id, fields)
            # The replay cancels it, unless the log does not take the records.
            self.deadlines.set(key, now.monotonic_ms + _RETRY_MS)
            yield Outcome(None, tuple(turn.records), (*turn.effects, notice))


def not_found(group_id: str, *, is_other: bool) -> Refused:
    """The refusal of a request to a group that is no share group."""
    what = "is not a share group" if is_other else "not found"
    return Refused(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")


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


def _fenced(sent: str, known: str) -> Refused:
    return Refused(
        Code.FENCED_MEMBER_EPOCH,
        f"The share group member has a {sent} than the one known by the group coordinator {known} "
        "The member must abandon all its partitions and rejoin.",
    )


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
