"""Members of the classic protocol in a consumer group: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

They are reconciled like the others (KIP-848): JoinGroup reports the member's partitions and takes
the next step, SyncGroup answers the assignment, and Heartbeat demands the next JoinGroup.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...protocol.errors import Code, Malformed, Refused
from ..classic.requests import JoinReply, JoinRequest, LeavingMember, SyncReply, SyncRequest
from ..deadlines import Timer, TimerKey
from ..group_kind import ClaimedMember
from ..modern_groups import MemberState
from ..moment import Moment
from ..outcome import Outcome, Parked
from .classic_protocol import Subscription, by_id, read_subscription, version_of, write_assignment
from .group import ConsumerGroup
from .groups import ConsumerGroups
from .member import Assignment, ClassicMember, ConsumerMember
from .steps import ConsumerTurn

CONSUMER = "consumer"


class ClassicMembers:
    """The requests of members of the classic protocol to consumer groups."""

    def __init__(self, groups: ConsumerGroups) -> None:
        self._groups = groups
        self._steps = groups.steps
        self._topics = groups.steps.topics

    def join(
        self, group: ConsumerGroup, request: JoinRequest, *, now: Moment
    ) -> Outcome[JoinReply | Parked]:
        """JoinGroup (11): answered at once, without a leader: the coordinator assigns.

        Raises:
            Refused: GROUP_MAX_SIZE_REACHED, INCONSISTENT_GROUP_PROTOCOL (also for an unreadable
                subscription), UNKNOWN_MEMBER_ID,
                FENCED_INSTANCE_ID.
        """
        turn = ConsumerTurn(now)
        instance_id = request.group_instance_id
        member_id = request.member_id or request.random_consumer_id or request.random_id
        if member_id not in group.members:
            self._steps.check_room(group)
        names = [name for name, _ in request.protocols]
        if not group.supports_classic(request.protocol_type, names):
            raise Refused(Code.INCONSISTENT_GROUP_PROTOCOL)
        if not request.member_id and instance_id is None and request.requires_known_member_id:
            return turn.outcome(JoinReply(member_id, Code.MEMBER_ID_REQUIRED))
        before = group.static_member(instance_id)
        old = self._member_for(group, request, member_id, turn)
        becomes_classic = before is not None and self._groups.may_become_classic(group, before)
        try:
            subscription = read_subscription(request.protocols[0][1])
        except Malformed as wrong:
            why = f"no subscription: {wrong}"
            raise Refused(Code.INCONSISTENT_GROUP_PROTOCOL, why) from None
        new = _updated(old, request, subscription)
        owned = by_id(subscription.owned, self._topics)
        if becomes_classic:
            new = self._join_last(group, (old, new), owned, turn)
        else:
            bump = self._steps.subscribe(group, old, new, turn)
            target = self._steps.advance(group, (old, new), turn, bump=bump)
            new = self._steps.reconcile(group, new, target, owned, turn, has_changed=bump)
            self._await_sync(group, new, request, turn.now_ms)
        reply = JoinReply(
            new.member_id,
            generation_id=new.member_epoch,
            protocol_type=CONSUMER,
            protocol=request.protocols[0][0],
        )
        return turn.outcome(reply)

    def _join_last(
        self,
        group: ConsumerGroup,
        members: tuple[ConsumerMember, ConsumerMember],
        owned: Assignment,
        turn: ConsumerTurn,
    ) -> ConsumerMember:
        """Turn the group into a classic one: this member replaces the last of the new protocol.

        Args:
            members: the member before and after the request.
        """
        old, new = members
        bump = self._steps.subscribe(group, old, new, turn)
        if bump or group.is_stale(self._topics.version):
            self._steps.refresh_metadata(group, members, turn, bump=bump)
        if not bump:
            target = (group.target_epoch, group.target_of(new))
            new = self._steps.reconcile(group, new, target, owned, turn, has_changed=False)
        self._groups.become_classic(group, (), new, turn, rebalance=bump)
        return new

    def _member_for(
        self, group: ConsumerGroup, request: JoinRequest, member_id: str, turn: ConsumerTurn
    ) -> ConsumerMember:
        """The member that joins; its static predecessor is replaced."""
        instance_id = request.group_instance_id
        if instance_id is None:
            return group.members.get(member_id) or ConsumerMember(member_id)
        if request.member_id:
            return group.check_member(member_id, instance_id)
        known = group.static_member(instance_id)
        if known is None:
            return ConsumerMember(member_id)
        return self._steps.replace_static(group, known, member_id, turn)

    def _await_sync(
        self, group: ConsumerGroup, member: ConsumerMember, request: JoinRequest, now_ms: int
    ) -> None:
        """Begin the session, and set the deadline of the member's SyncGroup."""
        deadlines = self._steps.deadlines
        group_id, member_id = group.group_id, member.member_id
        deadlines.cancel(TimerKey(Timer.JOIN, group_id, member_id))
        session = TimerKey(Timer.SESSION, group_id, member_id)
        deadlines.set(session, now_ms + request.session_timeout_ms)
        sync = TimerKey(Timer.SYNC, group_id, member_id)
        deadlines.set(sync, now_ms + request.rebalance_timeout_ms)

    def sync(
        self, group: ConsumerGroup, request: SyncRequest, *, now: Moment
    ) -> Outcome[SyncReply | Parked]:
        """SyncGroup (14): the member's partitions, as the classic protocol writes them.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
                INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
        """
        member, classic = _checked(
            group, request.member_id, request.group_instance_id, request.generation_id
        )
        protocol, metadata = classic.protocols[0]
        if (request.protocol_type is not None and request.protocol_type != CONSUMER) or (
            request.protocol is not None and request.protocol != protocol
        ):
            raise Refused(Code.INCONSISTENT_GROUP_PROTOCOL)
        is_behind = group.target_epoch > member.member_epoch
        if is_behind and member.state is not MemberState.UNREVOKED:
            self._await_join(group, member, now.monotonic_ms)
            raise Refused(Code.REBALANCE_IN_PROGRESS)
        self._steps.deadlines.cancel(TimerKey(Timer.SYNC, group.group_id, member.member_id))
        session = TimerKey(Timer.SESSION, group.group_id, member.member_id)
        self._steps.deadlines.set(session, now.monotonic_ms + classic.session_timeout_ms)
        assignment = write_assignment(member.assigned, self._topics, version=version_of(metadata))
        return Outcome(SyncReply(Code.NONE, request.protocol_type, request.protocol, assignment))

    def _await_join(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
        """Set the deadline of the member's next JoinGroup, unless it is set."""
        key = TimerKey(Timer.JOIN, group.group_id, member.member_id)
        if not self._steps.deadlines.is_set(key):
            self._steps.deadlines.set(key, now_ms + member.rebalance_timeout_ms)

    def heartbeat(
        self, group: ConsumerGroup, claimed: ClaimedMember, *, now: Moment
    ) -> Outcome[Code]:
        """Heartbeat (12): REBALANCE_IN_PROGRESS if a JoinGroup would take the member further.

        It would not before a heartbeat of another member has made the next target.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
        """
        member, classic = _checked(
            group, claimed.member_id, claimed.group_instance_id, claimed.generation_id
        )
        session = TimerKey(Timer.SESSION, group.group_id, member.member_id)
        self._steps.deadlines.set(session, now.monotonic_ms + classic.session_timeout_ms)
        must_rejoin = (
            member.member_epoch < group.target_epoch
            or member.state is MemberState.UNREVOKED
            or (member.state is MemberState.UNRELEASED and not group.waits_for_partitions(member))
        )
        if not must_rejoin:
            return Outcome(Code.NONE)
        self._await_join(group, member, now.monotonic_ms)
        return Outcome(Code.REBALANCE_IN_PROGRESS)

    def leave(
        self, group: ConsumerGroup, leaving: Iterable[LeavingMember], *, now: Moment
    ) -> Outcome[tuple[Code, ...]]:
        """LeaveGroup (13): members of either protocol; a code for each."""
        turn = ConsumerTurn(now)
        codes: list[Code] = []
        gone: dict[str, ConsumerMember] = {}
        for identity in leaving:
            try:
                member = _leaving(group, identity)
            except Refused as refused:
                codes.append(refused.code)
            else:
                codes.append(Code.NONE)
                gone[member.member_id] = member
        self._groups.fence(group, list(gone.values()), turn)
        return turn.outcome(tuple(codes))


def _updated(
    member: ConsumerMember, request: JoinRequest, subscription: Subscription
) -> ConsumerMember:
    """The member with the fields of its JoinGroup."""
    instance_id, rack_id = request.group_instance_id, subscription.rack_id
    return replace(
        member,
        instance_id=member.instance_id if instance_id is None else instance_id,
        rack_id=member.rack_id if rack_id is None else rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        subscribed_topic_names=subscription.topics,
        client_id=request.client_id,
        client_host=request.client_host,
        classic=ClassicMember(request.session_timeout_ms, request.protocols),
    )


def _leaving(group: ConsumerGroup, identity: LeavingMember) -> ConsumerMember:
    """The member; a static one may be named by its instance alone."""
    member_id, instance_id = identity
    if instance_id is not None and not member_id:
        known = group.static_member(instance_id)
        member_id = "" if known is None else known.member_id
    return group.check_member(member_id, instance_id)


def _checked(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
) -> tuple[ConsumerMember, ClassicMember]:
    """The member that a request comes from, and its data of the classic protocol.

    Raises:
        Refused: UNKNOWN_MEMBER_ID (also for a member of the new protocol), FENCED_INSTANCE_ID,
            ILLEGAL_GENERATION.
    """
    member = group.check_member(member_id, instance_id)
    if member.classic is None:
        raise Refused(Code.UNKNOWN_MEMBER_ID)
    if generation_id != member.member_epoch:
        raise Refused(Code.ILLEGAL_GENERATION)
    return member, member.classic
