"""The classic group protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

Follows Kafka's GroupMetadataManager. A method decides and returns an `Outcome`: the group's record
if it changes, and answers to parked requests. Members that join or wait are volatile state and
change at once (see `group.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ...protocol.errors import Code, Refused
from ..deadlines import Deadlines, Timer, TimerKey
from ..group_kind import ClaimedMember, GroupKind, ListedGroup, never_expires
from ..group_kinds import CLASSIC
from ..group_records import GroupRemoved, GroupStored, OffsetCommitted
from ..moment import Moment
from ..outcome import Outcome, Parked
from .group import ClassicGroup, Member, OnTransition, State
from .rebalance import Rebalances, Turn, joined
from .requests import GroupSettings, JoinReply, JoinRequest, LeavingMember, SyncReply, SyncRequest

if TYPE_CHECKING:
    from ..group_waits import GroupWaits


class _Adopted(NamedTuple):
    """A consumer group that becomes a classic one."""

    group: ClassicGroup
    record: GroupStored
    now: Moment
    rebalance: bool


class ClassicGroups(GroupKind):
    """The classic groups of one partition of `__consumer_offsets`."""

    name = CLASSIC
    VOLATILE: ClassVar = frozenset({"groups", "loaded", "_adopted"})  # see `ClassicGroup`

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self.on_transition: OnTransition | None = None  # of groups created from now on
        self.groups: dict[str, ClassicGroup] = {}
        self._rebalances = Rebalances(settings)
        self.deadlines: Deadlines[TimerKey] = self._rebalances.deadlines
        self.loaded: dict[str, None] = {}
        self._adopted: dict[
            str, _Adopted
        ] = {}  # consumer groups whose record as classic groups is not in the log yet

    def get(self, group_id: str) -> ClassicGroup | None:
        return self.groups.get(group_id)

    # ---- JoinGroup

    def join(
        self, request: JoinRequest, *, ticket: int, now: Moment
    ) -> Outcome[JoinReply | Parked]:
        """JoinGroup (11): become a member, or take part in a rebalance.

        Args:
            ticket: the number of the request, for the `Answer` at the end of the rebalance.
            now: the time on both clocks.

        Raises:
            Refused: INVALID_SESSION_TIMEOUT, INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID,
                FENCED_INSTANCE_ID, UNKNOWN_SERVER_ERROR.
        """
        self.check_session_timeout(request)
        member_id = request.member_id or request.new_member_id
        settings = self._settings
        turn = Turn(now, ticket)
        group = self.groups.get(request.group_id)
        if group is None:
            if request.member_id:
                raise Refused(Code.UNKNOWN_MEMBER_ID)
            return self._join_new_group(request, member_id, turn)
        if not group.has_room(request.member_id, settings.max_size):
            self._rebalances.forget(group, request.member_id)
            return Outcome(JoinReply("", Code.GROUP_MAX_SIZE_REACHED))
        if not group.supports(request.protocol_type, request.protocols):
            raise Refused(Code.INCONSISTENT_GROUP_PROTOCOL)
        if not request.member_id:
            return self._join_without_id(group, request, member_id, turn)
        return self._join_with_id(group, request, turn)

    def check_session_timeout(self, request: JoinRequest) -> None:
        """Raises Refused(INVALID_SESSION_TIMEOUT)."""
        lowest = self._settings.min_session_timeout_ms
        highest = self._settings.max_session_timeout_ms
        if not lowest <= request.session_timeout_ms <= highest:
            raise Refused(Code.INVALID_SESSION_TIMEOUT)

    def _join_new_group(
        self, request: JoinRequest, member_id: str, turn: Turn
    ) -> Outcome[JoinReply | Parked]:
        """Create the group and its record, even if the member is refused."""
        group = self._add(ClassicGroup(request.group_id))
        group.state_timestamp_ms = turn.wall_ms
        turn.write(group, group.stored({}))
        if not group.supports(request.protocol_type, request.protocols):
            return turn.outcome(JoinReply("", Code.INCONSISTENT_GROUP_PROTOCOL))
        return self._join_without_id(group, request, member_id, turn)

    def _join_without_id(
        self, group: ClassicGroup, request: JoinRequest, member_id: str, turn: Turn
    ) -> Outcome[JoinReply | Parked]:
        """A member without an id: it gets one, or takes the place of its static member."""
        instance = request.group_instance_id
        if instance is not None:
            old_member_id = group.static_member_id(instance)
            if old_member_id is not None:
                return self._replace_static(group, request, old_member_id, member_id, turn)
        elif request.requires_known_member_id:
            group.pending_members.add(member_id)
            due_ms = turn.now_ms + request.session_timeout_ms
            self._rebalances.begin_session(group, member_id, due_ms)
            return turn.outcome(JoinReply(member_id, Code.MEMBER_ID_REQUIRED))
        self._add_member(group, request, member_id, turn)
        return turn.parked()

    def _join_with_id(
        self, group: ClassicGroup, request: JoinRequest, turn: Turn
    ) -> Outcome[JoinReply | Parked]:
        """A member that has its id: its first join with it, or one of a rebalance."""
        member_id = request.member_id
        if member_id in group.pending_members:
            if request.group_instance_id is not None:  # an IllegalStateException of Kafka's
                return turn.outcome(JoinReply("", Code.UNKNOWN_SERVER_ERROR))
            self._add_member(group, request, member_id, turn)
            return turn.parked()
        member = group.check_member(member_id, request.group_instance_id)
        same = member.protocols == request.protocols
        match group.state:
            case State.COMPLETING_REBALANCE if same:
                # A retry: the answer of this generation was lost.
                return turn.outcome(joined(group, member))
            case State.STABLE if same and group.leader != member_id:
                return turn.outcome(joined(group, member))
            case _:
                # A leader that joins again wants a new assignment (its metadata changed).
                group.put(_rejoined(member, request, turn))
                self._rebalances.prepare_or_complete(group, turn)
                return turn.parked()

    def _add_member(
        self, group: ClassicGroup, request: JoinRequest, member_id: str, turn: Turn
    ) -> None:
        member = Member(
            member_id,
            request.group_instance_id,
            request.client_id,
            request.client_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocols,
            join_ticket=turn.ticket,
            is_new=True,
        )
        if group.initial_delay is not None:
            group.initial_delay = replace(group.initial_delay, member_added=True)
        if not group.members:
            group.protocol_type = request.protocol_type
        group.put(member)
        due_ms = turn.now_ms + self._settings.new_member_join_timeout_ms
        self._rebalances.begin_session(group, member_id, due_ms)
        self._rebalances.prepare_or_complete(group, turn)

    def _replace_static(
        self,
        group: ClassicGroup,
        request: JoinRequest,
        old_member_id: str,
        member_id: str,
        turn: Turn,
    ) -> Outcome[JoinReply | Parked]:
        """A static member joins again under a new id, which fences the old one (KIP-345)."""
        old = group.members[old_member_id]
        why = f"a new member has its group.instance.id, {request.group_instance_id}"
        turn.removed(group, old, why)
        turn.answer(old.join_ticket, JoinReply(old_member_id, Code.FENCED_INSTANCE_ID))
        turn.answer(old.sync_ticket, SyncReply(Code.FENCED_INSTANCE_ID))
        was_leader = group.leader or ""
        member = replace(
            _rejoined(old, request, turn), member_id=member_id, sync_ticket=None, is_new=False
        )
        group.replace(old_member_id, member)
        self._rebalances.end_session(group, old_member_id)
        self._rebalances.extend_session(group, member, turn.now_ms)
        if group.state is not State.STABLE:
            if group.state is State.COMPLETING_REBALANCE:
                self._rebalances.prepare_rebalance(group, turn)
            else:
                self._rebalances.complete_join_if_ready(group, turn)
            return turn.parked()
        if group.voted_protocol() != group.protocol:
            self._rebalances.prepare_or_complete(group, turn)
            return turn.parked()
        return self._replace_in_stable(group, request, (old, member), was_leader, turn)

    def _replace_in_stable(
        self,
        group: ClassicGroup,
        request: JoinRequest,
        members: tuple[Member, Member],
        old_leader: str,
        turn: Turn,
    ) -> Outcome[JoinReply | Parked]:
        """The assignment stays, because the protocol does: the other members need not rejoin.

        The answer must keep a leader from assigning: version 9 has a field for that, in older
        versions the answer names the old leader. If the log refuses the record, the old member
        stays.

        Args:
            members: the static member under its old and its new id.
        """
        old, member = members
        member_id = member.member_id
        answered = group.members[member_id] = replace(member, join_ticket=None)
        group.learn_subscriptions()
        assignments = {m.member_id: m.assignment for m in group.members.values()}
        turn.write(group, group.stored(assignments))

        def refused(error: Code) -> Outcome[object]:
            group.unwritten = None
            group.replace(member_id, replace(old, join_ticket=None, sync_ticket=None))
            group.learn_subscriptions()
            self._rebalances.end_session(group, member_id)
            self._rebalances.extend_session(group, old, turn.now_ms)
            reply = replace(joined(group, old), member_id="", members=(), error=error)
            return Outcome(replace(reply, leader=old_leader))

        turn.if_refused = refused
        reply = joined(group, answered)
        if request.may_skip_assignment:
            reply = replace(reply, skip_assignment=group.leader == member_id)
        else:
            reply = replace(reply, leader=old_leader, members=())
        return turn.outcome(reply)

    # ---- SyncGroup

    def sync(
        self, request: SyncRequest, *, ticket: int, now: Moment
    ) -> Outcome[SyncReply | Parked]:
        """SyncGroup (14): the leader sends the assignment, the others wait for it.

        Args:
            ticket: the number of the request, for the `Answer` with the assignment.
            now: the time on both clocks.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
                INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
        """
        group = self.groups.get(request.group_id)
        if group is None or group.state is State.EMPTY:
            raise Refused(Code.UNKNOWN_MEMBER_ID)
        member = group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation_id:
            raise Refused(Code.ILLEGAL_GENERATION)
        for requested, chosen in (
            (request.protocol_type, group.protocol_type),
            (request.protocol, group.protocol),
        ):
            if requested is not None and chosen is not None and requested != chosen:
                raise Refused(Code.INCONSISTENT_GROUP_PROTOCOL)
        if group.state is State.PREPARING_REBALANCE:
            raise Refused(Code.REBALANCE_IN_PROGRESS)
        turn = Turn(now, ticket)
        self._rebalances.synced(group, member.member_id)
        if group.state is State.STABLE:
            return turn.outcome(_assigned(group, member.assignment))
        group.put(replace(member, sync_ticket=ticket))
        if member.member_id == group.leader:
            self._assign(group, request.assignments, turn)
        return turn.parked()

    def _assign(self, group: ClassicGroup, assignments: Mapping[str, bytes], turn: Turn) -> None:
        """Log the assignment, and answer the waiting members once it is in the log.

        If the log refuses it, they get the error and the group rebalances.
        """
        turn.write(group, group.stored(assignments))

        def refused(error: Code) -> Outcome[object]:
            after = Turn(Moment(turn.wall_ms, turn.now_ms), turn.ticket)
            self._rebalances.refuse_assignment(group, error, after)
            return after.parked()

        turn.if_refused = refused
        for member in tuple(group.members.values()):
            if member.sync_ticket is not None:
                assignment = assignments.get(member.member_id, b"")
                turn.answer(member.sync_ticket, _assigned(group, assignment), once_logged=True)
                self._rebalances.extend_session(group, member, turn.now_ms)

    # ---- Heartbeat, LeaveGroup

    def heartbeat(self, group_id: str, member: ClaimedMember, *, now: Moment) -> Outcome[Code]:
        """Heartbeat (12): extend the session; REBALANCE_IN_PROGRESS: the member has to rejoin.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
        """
        group = self.groups.get(group_id)
        if group is None:
            raise Refused(Code.UNKNOWN_MEMBER_ID)
        known = group.check_member(member.member_id, member.group_instance_id)
        if member.generation_id != group.generation_id:
            raise Refused(Code.ILLEGAL_GENERATION)
        session = TimerKey(Timer.SESSION, group_id, known.member_id)
        self.deadlines.set(session, now.monotonic_ms + known.session_timeout_ms)
        if group.state is State.PREPARING_REBALANCE:
            return Outcome(Code.REBALANCE_IN_PROGRESS)
        return Outcome(Code.NONE)

    def leave(
        self, group_id: str, leaving: Iterable[LeavingMember], *, now: Moment
    ) -> Outcome[tuple[Code, ...]]:
        """LeaveGroup (13): the reply has a code for each leaving member, in order.

        Raises:
            Refused: UNKNOWN_MEMBER_ID when there is no such group.
        """
        group = self.groups.get(group_id)
        if group is None:
            raise Refused(Code.UNKNOWN_MEMBER_ID)
        turn = Turn(now)
        codes = tuple(self._leave(group, identity, turn) for identity in leaving)
        if Code.NONE in codes and group.state is not State.EMPTY:
            self._rebalances.prepare_or_complete(group, turn)
        return turn.outcome(codes)

    def _leave(self, group: ClassicGroup, identity: LeavingMember, turn: Turn) -> Code:
        member_id, instance = identity
        if not member_id:
            member_id = group.static_member_id(instance) or ""
        if member_id not in group.pending_members:
            try:
                member = group.check_member(member_id, instance)
            except Refused as refused:
                return refused.code
            turn.answer(member.join_ticket, JoinReply("", Code.UNKNOWN_MEMBER_ID))
            turn.answer(member.sync_ticket, SyncReply(Code.UNKNOWN_MEMBER_ID))
        self._rebalances.forget(group, member_id)
        return Code.NONE

    # ---- offsets

    def check_commit(self, group_id: str, committer: ClaimedMember, *, transactional: bool) -> None:
        """Check that a commit is from a member of the current generation, or from no member.

        Raises:
            Refused: GROUP_ID_NOT_FOUND (a generation of an unknown group),
                UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS.
        """
        group = self.groups.get(group_id)
        generation_id = committer.generation_id
        if group is None:
            if generation_id >= 0:
                raise Refused(Code.GROUP_ID_NOT_FOUND)
            return
        if generation_id < 0 and group.state is State.EMPTY:
            return  # an admin client, or a consumer that manages its partitions itself
        instance_id = committer.group_instance_id
        if generation_id >= 0 or committer.member_id or instance_id is not None:
            group.check_member(committer.member_id, instance_id)
            if generation_id != group.generation_id:
                raise Refused(Code.ILLEGAL_GENERATION)
        elif not transactional:
            raise Refused(Code.UNKNOWN_MEMBER_ID)
        if not transactional and group.state is State.COMPLETING_REBALANCE:
            raise Refused(Code.REBALANCE_IN_PROGRESS)

    def committed(self, group_id: str, member_id: str, *, now: Moment) -> None:
        """Extend the member's session: a commit counts as a heartbeat."""
        group = self.groups.get(group_id)
        if group is not None and group.state in (State.STABLE, State.PREPARING_REBALANCE):
            self._rebalances.extend_session(group, group.members[member_id], now.monotonic_ms)

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        """Pass: the sender need not be a member to fetch the offsets of a classic group."""

    def subscriptions(self, group_id: str) -> Callable[[str], bool]:
        group = self._existing(group_id)
        if group.state is not State.EMPTY and not group.uses_consumer_protocol:
            raise Refused(Code.NON_EMPTY_GROUP)
        return group.is_subscribed_to

    def expiry(
        self, group_id: str, *, now_ms: int, retention_ms: int
    ) -> Callable[[OffsetCommitted], bool]:
        group = self.groups.get(group_id)
        return (
            never_expires
            if group is None
            else group.expiry(now_ms=now_ms, retention_ms=retention_ms)
        )

    # ---- views and deletion

    def listed(self) -> Iterable[ListedGroup]:
        return (
            ListedGroup(group.group_id, group.protocol_type or "", group.state.value, self.name)
            for group in self.groups.values()
        )

    def state_of(self, group_id: str) -> str:
        return self.groups[group_id].state.value

    def waits_of(self, group_id: str) -> GroupWaits:
        return self._rebalances.waits_of(self.groups[group_id])

    def removal(self, group_id: str) -> Sequence[GroupRemoved]:
        if self._existing(group_id).state is not State.EMPTY:
            raise Refused(Code.NON_EMPTY_GROUP)
        return (GroupRemoved(group_id),)

    def _existing(self, group_id: str) -> ClassicGroup:
        group = self.groups.get(group_id)
        if group is None:
            raise Refused(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    # ---- replay

    def replay(self, record: GroupStored | GroupRemoved) -> None:
        """Apply a record."""
        group = self.groups.get(record.group_id)
        adopted = self._adopted.pop(record.group_id, None)
        if isinstance(record, GroupRemoved):
            if group is not None:
                self._drop(group)
        elif adopted is not None and adopted.record == record:
            self._take_over(adopted)
        elif group is not None and group.unwritten == record:
            group.apply_written(record)
            self._rebalances.cancel_unneeded_timers(group)
        else:
            if group is not None:
                self._drop(group)
            self._add(ClassicGroup.from_stored(record))
            self.loaded[record.group_id] = None

    def replay_offset(self, group_id: str) -> None:
        """Create an empty group for offsets whose group has no record."""
        if group_id not in self.groups:
            self._add(ClassicGroup(group_id))

    def adopt(self, group: ClassicGroup, record: GroupStored, now: Moment, rebalance: bool) -> None:
        """Take over a consumer group that becomes a classic one by the replay of its record.

        Args:
            group: its new state.
            record: of that state; in the decision's outcome.
            now: the time on both clocks.
            rebalance: whether its members have to join again.
        """
        self._adopted[group.group_id] = _Adopted(group, record, now, rebalance)

    def _add(self, group: ClassicGroup) -> ClassicGroup:
        self.groups[group.group_id] = group
        group.on_transition = self.on_transition
        return group

    def _take_over(self, adopted: _Adopted) -> None:
        group, turn = adopted.group, Turn(adopted.now)
        self._add(group)
        for member in group.members.values():
            self._rebalances.extend_session(group, member, turn.now_ms)
        if adopted.rebalance:
            self._rebalances.prepare_rebalance(group, turn)
            assert not turn.records, "no member has joined yet"

    def forget(self, group_id: str) -> None:
        """Drop a group: a record says that it is of another kind."""
        group = self.groups.get(group_id)
        if group is not None:
            self._drop(group)

    def _drop(self, group: ClassicGroup) -> None:
        self._rebalances.cancel(group)
        del self.groups[group.group_id]
        self.loaded.pop(group.group_id, None)

    # ---- time

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        """Begin the sessions of loaded members; expire timers.

        One decision for each that is due, see `Machine.tick`.
        """
        while self.loaded:
            group_id = next(iter(self.loaded))
            del self.loaded[group_id]
            turn = Turn(now)
            self._rebalances.begin_sessions(self.groups[group_id], turn)
            yield turn.outcome(None)
        yield from self._rebalances.expire(self.groups, now)


def _rejoined(member: Member, request: JoinRequest, turn: Turn) -> Member:
    return replace(
        member,
        protocols=request.protocols,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        join_ticket=turn.ticket,
    )


def _assigned(group: ClassicGroup, assignment: bytes) -> SyncReply:
    return SyncReply(Code.NONE, group.protocol_type, group.protocol, assignment)
