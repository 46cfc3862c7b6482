"""The classic group protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup and their timers.

Follows Kafka's GroupMetadataManager. A method decides and returns an `Outcome`: records when what
is stored of a group changes, and answers to requests that were parked. Who joins and waits is kept
in memory only and changes at once (see `classic_group.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from enum import Enum
from typing import Any, NamedTuple

from ..protocol.errors import Code, Refused
from .classic_group import ClassicGroup, InitialDelay, Member, State
from .classic_requests import (
    GroupSettings,
    JoinedMember,
    JoinReply,
    JoinRequest,
    LeavingMember,
    SyncReply,
    SyncRequest,
)
from .deadlines import Deadlines
from .group_records import GroupRecord, GroupRemoved, GroupStored
from .outcome import PARKED, Answer, Effect, Outcome, Parked


class Timer(Enum):
    """What a group waits for."""

    SESSION = "the heartbeat of a member"
    JOIN = "the members to rejoin"
    SYNC = "the members to sync"


class TimerKey(NamedTuple):
    timer: Timer
    group_id: str
    member_id: str = ""


class _Turn:
    """What one decision asks for, while it is being made."""

    __slots__ = ("effects", "now_ms", "records", "written")

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.records: list[GroupRecord] = []
        self.effects: list[Effect] = []
        self.written: set[str] = set()  # the groups of the records

    def write(self, group: ClassicGroup, record: GroupStored) -> None:
        assert group.group_id not in self.written, group.group_id
        group.unwritten = record
        self.records.append(record)
        self.written.add(group.group_id)

    def answer(self, ticket: int | None, reply: JoinReply | SyncReply) -> None:
        if ticket is not None:
            self.effects.append(Answer(ticket, reply))

    def parked(self, ticket: int) -> Outcome[Any]:
        """The outcome of a request that waits, or need not wait as it turned out."""
        for effect in self.effects:
            if isinstance(effect, Answer) and effect.ticket == ticket:
                self.effects.remove(effect)
                return self.outcome(effect.reply)
        return self.outcome(PARKED)

    def outcome(self, reply: Any) -> Outcome[Any]:
        return Outcome(reply, tuple(self.records), tuple(self.effects))


class ClassicGroups:
    """The classic groups of one partition of `__consumer_offsets`."""

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self._groups: dict[str, ClassicGroup] = {}
        self._deadlines: Deadlines[TimerKey] = Deadlines()
        self._loaded: dict[str, None] = {}  # from the log, and their sessions have not begun yet

    def get(self, group_id: str) -> ClassicGroup | None:
        return self._groups.get(group_id)

    def groups(self) -> Collection[ClassicGroup]:
        return self._groups.values()

    # ---- JoinGroup

    def join(
        self, request: JoinRequest, *, ticket: int, now_ms: int
    ) -> Outcome[JoinReply | Parked]:
        """JoinGroup (11): become a member, or take part in a rebalance.

        Raises:
            Refused: INVALID_SESSION_TIMEOUT, INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID,
                FENCED_INSTANCE_ID.
        """
        settings = self._settings
        lowest, highest = settings.min_session_timeout_ms, settings.max_session_timeout_ms
        if not lowest <= request.session_timeout_ms <= highest:
            raise Refused(Code.INVALID_SESSION_TIMEOUT)
        turn = _Turn(now_ms)
        group = self._groups.get(request.group_id)
        if group is None:
            if request.member_id:
                raise Refused(Code.UNKNOWN_MEMBER_ID)
            return self._join_first(request, ticket, turn)
        if not group.has_room(request.member_id, settings.max_size):
            self._forget(group, request.member_id)
            return Outcome(JoinReply("", Code.GROUP_MAX_SIZE_REACHED))
        if not group.supports(request.protocol_type, request.protocols):
            raise Refused(Code.INCONSISTENT_GROUP_PROTOCOL)
        if not request.member_id:
            return self._join_anew(group, request, ticket, turn)
        return self._join_known(group, request, ticket, turn)

    def _join_first(
        self, request: JoinRequest, ticket: int, turn: _Turn
    ) -> Outcome[JoinReply | Parked]:
        """The group is born by this request, even if it is refused; the log is told so."""
        group = self._groups[request.group_id] = ClassicGroup(request.group_id)
        group.state_timestamp_ms = turn.now_ms
        turn.write(group, group.stored({}))
        if not group.supports(request.protocol_type, request.protocols):
            return turn.outcome(JoinReply("", Code.INCONSISTENT_GROUP_PROTOCOL))
        return self._join_anew(group, request, ticket, turn)

    def _join_anew(
        self, group: ClassicGroup, request: JoinRequest, ticket: int, turn: _Turn
    ) -> Outcome[JoinReply | Parked]:
        """A member without an id: it is given one."""
        instance = request.group_instance_id
        prefix = request.client_id if instance is None else instance
        member_id = f"{prefix}-{request.fresh_id}"
        if instance is not None:
            old_member_id = group.static_member_id(instance)
            if old_member_id is not None:
                return self._replace_static(group, request, old_member_id, member_id, ticket, turn)
        elif request.must_know_its_id:
            group.pending_members.add(member_id)
            due_ms = turn.now_ms + request.session_timeout_ms
            self._deadlines.set(TimerKey(Timer.SESSION, group.group_id, member_id), due_ms)
            return turn.outcome(JoinReply(member_id, Code.MEMBER_ID_REQUIRED))
        self._add_member(group, request, member_id, ticket, turn)
        return turn.parked(ticket)

    def _join_known(
        self, group: ClassicGroup, request: JoinRequest, ticket: int, turn: _Turn
    ) -> Outcome[JoinReply | Parked]:
        """A member that has its id: its first join with it, or one of a rebalance."""
        member_id = request.member_id
        if member_id in group.pending_members:
            if request.group_instance_id is not None:  # Kafka: an IllegalStateException
                raise Refused(Code.UNKNOWN_SERVER_ERROR, "a member id of a dynamic member")
            self._add_member(group, request, member_id, ticket, turn)
            return turn.parked(ticket)
        member = group.check_member(member_id, request.group_instance_id)
        same = member.protocols == request.protocols
        match group.state:
            case State.COMPLETING_REBALANCE if same:
                # It did not get the answer: that one is still true.
                return turn.outcome(_joined(group, member))
            case State.STABLE if same and group.leader != member_id:
                return turn.outcome(_joined(group, member))
            case _:
                # A leader that joins again asks for a new assignment (its metadata changed).
                group.put(_rejoined(member, request, ticket))
                self._rebalance(group, turn)
                return turn.parked(ticket)

    def _add_member(
        self, group: ClassicGroup, request: JoinRequest, member_id: str, ticket: int, turn: _Turn
    ) -> None:
        member = Member(
            member_id,
            request.group_instance_id,
            request.client_id,
            request.client_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocols,
            join_ticket=ticket,
            is_new=True,
        )
        if group.initial_delay is not None:
            group.initial_delay = replace(group.initial_delay, member_added=True)
        if not group.members:
            group.protocol_type = request.protocol_type
        group.put(member)
        due_ms = turn.now_ms + self._settings.new_member_join_timeout_ms
        self._deadlines.set(TimerKey(Timer.SESSION, group.group_id, member_id), due_ms)
        self._rebalance(group, turn)

    def _replace_static(
        self,
        group: ClassicGroup,
        request: JoinRequest,
        old_member_id: str,
        member_id: str,
        ticket: int,
        turn: _Turn,
    ) -> Outcome[JoinReply | Parked]:
        """A static member is back under a new id: the old one is fenced (KIP-345)."""
        old = group.members[old_member_id]
        turn.answer(old.join_ticket, JoinReply(old_member_id, Code.FENCED_INSTANCE_ID))
        turn.answer(old.sync_ticket, SyncReply(Code.FENCED_INSTANCE_ID))
        was_leader = group.leader or ""
        member = replace(
            _rejoined(old, request, ticket), member_id=member_id, sync_ticket=None, is_new=False
        )
        group.replace(old_member_id, member)
        self._deadlines.cancel(TimerKey(Timer.SESSION, group.group_id, old_member_id))
        self._extend_session(group, member, turn.now_ms)
        if group.state is not State.STABLE:
            if group.state is State.COMPLETING_REBALANCE:
                self._prepare_rebalance(group, turn)
            else:
                self._complete_join_if_all_are_here(group, turn)
            return turn.parked(ticket)
        if group.voted_protocol() != group.protocol:
            self._rebalance(group, turn)
            return turn.parked(ticket)
        # The same protocol: nothing to assign anew, so nobody else is disturbed. The answer to a
        # leader must keep it from assigning: version 9 says so, older ones name the old leader.
        answered = group.members[member_id] = replace(member, join_ticket=None)
        assignments = {m.member_id: m.assignment for m in group.members.values()}
        turn.write(group, group.stored(assignments))
        reply = _joined(group, answered)
        if request.may_skip_assignment:
            reply = replace(reply, skip_assignment=group.leader == member_id)
        else:
            reply = replace(reply, leader=was_leader, members=())
        return turn.outcome(reply)

    # ---- the way of a rebalance

    def _rebalance(self, group: ClassicGroup, turn: _Turn) -> None:
        """Begin a rebalance, or let the one under way end if this was the last it waited for."""
        if group.state is State.PREPARING_REBALANCE:
            self._complete_join_if_all_are_here(group, turn)
        else:
            self._prepare_rebalance(group, turn)

    def _prepare_rebalance(self, group: ClassicGroup, turn: _Turn) -> None:
        if group.state is State.COMPLETING_REBALANCE:
            for member in tuple(group.members.values()):
                group.put(replace(member, assignment=b"", sync_ticket=None))
                if member.sync_ticket is not None:
                    turn.answer(member.sync_ticket, SyncReply(Code.REBALANCE_IN_PROGRESS))
                    self._extend_session(group, member, turn.now_ms)
        group.pending_syncs.clear()
        self._deadlines.cancel(TimerKey(Timer.SYNC, group.group_id))
        was_empty = group.state is State.EMPTY
        group.enter(State.PREPARING_REBALANCE, turn.now_ms)
        if was_empty:
            delay_ms = self._settings.initial_rebalance_delay_ms
            remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
            group.initial_delay = InitialDelay(delay_ms, remaining_ms)
            self._wait_for_joins(group, delay_ms, turn)
        elif group.all_have_joined:
            self._complete_join(group, turn)
        else:
            self._wait_for_joins(group, group.rebalance_timeout_ms, turn)

    def _wait_for_joins(self, group: ClassicGroup, delay_ms: int, turn: _Turn) -> None:
        self._deadlines.set(TimerKey(Timer.JOIN, group.group_id), turn.now_ms + delay_ms)

    def _complete_join_if_all_are_here(self, group: ClassicGroup, turn: _Turn) -> None:
        if (
            group.state is State.PREPARING_REBALANCE
            and group.initial_delay is None
            and group.all_have_joined
        ):
            self._complete_join(group, turn)

    def _complete_join(self, group: ClassicGroup, turn: _Turn) -> None:
        """Go on with those who joined; static members may be late, dynamic ones are dropped."""
        self._deadlines.cancel(TimerKey(Timer.JOIN, group.group_id))
        for member in tuple(group.members.values()):
            if member.join_ticket is None and member.group_instance_id is None:
                self._forget(group, member.member_id)
        if not group.members:
            group.initial_delay = None
            empty = replace(
                group.stored({}),
                generation_id=group.generation_id + 1,
                protocol=None,
                leader=None,
                current_state_timestamp_ms=turn.now_ms,
            )
            turn.write(group, empty)
        elif not group.elect_a_leader():
            self._wait_for_joins(group, group.rebalance_timeout_ms, turn)  # for static members
        else:
            group.begin_generation(turn.now_ms)
            for member in tuple(group.members.values()):
                turn.answer(member.join_ticket, _joined(group, member))
                group.put(replace(member, join_ticket=None, is_new=False))
                self._extend_session(group, member, turn.now_ms)
            due_ms = turn.now_ms + group.rebalance_timeout_ms
            self._deadlines.set(TimerKey(Timer.SYNC, group.group_id), due_ms)

    # ---- SyncGroup

    def sync(
        self, request: SyncRequest, *, ticket: int, now_ms: int
    ) -> Outcome[SyncReply | Parked]:
        """SyncGroup (14): the leader brings the assignment, the others wait for it.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
                INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
        """
        group = self._groups.get(request.group_id)
        if group is None or group.state is State.EMPTY:
            raise Refused(Code.UNKNOWN_MEMBER_ID)
        member = group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation_id:
            raise Refused(Code.ILLEGAL_GENERATION)
        for asked, chosen in (
            (request.protocol_type, group.protocol_type),
            (request.protocol, group.protocol),
        ):
            if asked is not None and chosen is not None and asked != chosen:
                raise Refused(Code.INCONSISTENT_GROUP_PROTOCOL)
        if group.state is State.PREPARING_REBALANCE:
            raise Refused(Code.REBALANCE_IN_PROGRESS)
        turn = _Turn(now_ms)
        group.pending_syncs.discard(member.member_id)
        if not group.pending_syncs:
            self._deadlines.cancel(TimerKey(Timer.SYNC, group.group_id))
        if group.state is State.STABLE:
            return turn.outcome(_assigned(group, member.assignment))
        group.put(replace(member, sync_ticket=ticket))
        if member.member_id == group.leader:
            self._assign(group, request.assignments, turn)
        return turn.parked(ticket)

    def _assign(self, group: ClassicGroup, assignments: Mapping[str, bytes], turn: _Turn) -> None:
        """Log the assignment; whoever waits for it is answered once it is in the log."""
        turn.write(group, group.stored(assignments))
        for member in tuple(group.members.values()):
            if member.sync_ticket is not None:
                assignment = assignments.get(member.member_id, b"")
                turn.answer(member.sync_ticket, _assigned(group, assignment))
                group.put(replace(member, sync_ticket=None))
                self._extend_session(group, member, turn.now_ms)

    # ---- Heartbeat, LeaveGroup

    def heartbeat(
        self,
        group_id: str,
        member_id: str,
        *,
        generation_id: int,
        group_instance_id: str | None,
        now_ms: int,
    ) -> Outcome[Code]:
        """Heartbeat (12): extend the session; REBALANCE_IN_PROGRESS asks the member to rejoin.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
        """
        group = self._groups.get(group_id)
        if group is None:
            raise Refused(Code.UNKNOWN_MEMBER_ID)
        member = group.check_member(member_id, group_instance_id)
        if generation_id != group.generation_id:
            raise Refused(Code.ILLEGAL_GENERATION)
        self._extend_session(group, member, now_ms)
        if group.state is State.PREPARING_REBALANCE:
            return Outcome(Code.REBALANCE_IN_PROGRESS)
        return Outcome(Code.NONE)

    def leave(
        self, group_id: str, leaving: Iterable[LeavingMember], *, now_ms: int
    ) -> Outcome[tuple[Code, ...]]:
        """LeaveGroup (13): the reply has a code for each who leaves, in their order.

        Raises:
            Refused: UNKNOWN_MEMBER_ID when there is no such group.
        """
        group = self._groups.get(group_id)
        if group is None:
            raise Refused(Code.UNKNOWN_MEMBER_ID)
        turn = _Turn(now_ms)
        codes = tuple(self._leave(group, identity, turn) for identity in leaving)
        if Code.NONE in codes and group.state is not State.EMPTY:
            self._rebalance(group, turn)
        return turn.outcome(codes)

    def _leave(self, group: ClassicGroup, identity: LeavingMember, turn: _Turn) -> Code:
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
        self._forget(group, member_id)
        return Code.NONE

    # ---- what the offsets ask of a group

    def check_commit(
        self,
        group_id: str,
        member_id: str,
        *,
        generation_id: int,
        group_instance_id: str | None,
        transactional: bool,
    ) -> None:
        """Whether a commit is from a member of the present generation, or of no member at all.

        Raises:
            Refused: GROUP_ID_NOT_FOUND (a generation of a group that is not there),
                UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS.
        """
        group = self._groups.get(group_id)
        if group is None:
            if generation_id >= 0:
                raise Refused(Code.GROUP_ID_NOT_FOUND)
            return
        if generation_id < 0 and group.state is State.EMPTY:
            return  # an admin client, or a consumer that manages its partitions itself
        if generation_id >= 0 or member_id or group_instance_id is not None:
            group.check_member(member_id, group_instance_id)
            if generation_id != group.generation_id:
                raise Refused(Code.ILLEGAL_GENERATION)
        elif not transactional:
            raise Refused(Code.UNKNOWN_MEMBER_ID)
        if not transactional and group.state is State.COMPLETING_REBALANCE:
            raise Refused(Code.REBALANCE_IN_PROGRESS)

    def saw_commit(self, group_id: str, member_id: str, *, now_ms: int) -> None:
        """A commit is as good as a heartbeat, but for the time between join and sync."""
        group = self._groups.get(group_id)
        if group is not None and group.state in (State.STABLE, State.PREPARING_REBALANCE):
            member = group.members.get(member_id)
            if member is not None:
                self._extend_session(group, member, now_ms)

    # ---- replay

    def replay(self, record: GroupStored | GroupRemoved) -> None:
        """Make true what the log says."""
        group = self._groups.get(record.group_id)
        if isinstance(record, GroupRemoved):
            if group is not None:
                self._drop(group)
        elif group is not None and group.unwritten == record:
            group.settle(record)
        else:
            if group is not None:
                self._drop(group)
            self._groups[record.group_id] = ClassicGroup.from_stored(record)
            self._loaded[record.group_id] = None

    def replay_offset(self, group_id: str) -> None:
        """A group of which only offsets are known is an empty one."""
        if group_id not in self._groups:
            self._groups[group_id] = ClassicGroup(group_id)

    def _drop(self, group: ClassicGroup) -> None:
        for member_id in (*group.members, *group.pending_members):
            self._deadlines.cancel(TimerKey(Timer.SESSION, group.group_id, member_id))
        self._deadlines.cancel(TimerKey(Timer.JOIN, group.group_id))
        self._deadlines.cancel(TimerKey(Timer.SYNC, group.group_id))
        del self._groups[group.group_id]
        self._loaded.pop(group.group_id, None)

    # ---- time

    def next_deadline(self) -> int | None:
        """When `tick` has something to do; 0, at once, for groups that were just loaded."""
        return 0 if self._loaded else self._deadlines.next()

    def tick(self, now_ms: int) -> Outcome[None]:
        """Begin the sessions of loaded members; end what was waited for in vain.

        A group has at most one record in an outcome: what else it is due for waits until that is
        replayed, and is due again at once.
        """
        turn = _Turn(now_ms)
        for group_id in tuple(self._loaded):
            self._begin_sessions(self._groups[group_id], turn)
        self._loaded.clear()
        put_off = []
        for key in self._deadlines.take_due(now_ms):
            group = self._groups[key.group_id]
            if key.group_id in turn.written:
                put_off.append(key)
            elif key.timer is Timer.SESSION:
                self._session_expired(group, key.member_id, turn)
            elif key.timer is Timer.JOIN:
                self._joins_expired(group, turn)
            else:
                self._syncs_expired(group, turn)
        for key in put_off:
            self._deadlines.set(key, now_ms)
        return turn.outcome(None)

    def _begin_sessions(self, group: ClassicGroup, turn: _Turn) -> None:
        for member in group.members.values():
            self._extend_session(group, member, turn.now_ms)
        if len(group.members) > self._settings.max_size:
            self._prepare_rebalance(group, turn)  # the limit was lowered: some must go

    def _extend_session(self, group: ClassicGroup, member: Member, now_ms: int) -> None:
        key = TimerKey(Timer.SESSION, group.group_id, member.member_id)
        self._deadlines.set(key, now_ms + member.session_timeout_ms)

    def _forget(self, group: ClassicGroup, member_id: str) -> None:
        group.remove(member_id)
        self._deadlines.cancel(TimerKey(Timer.SESSION, group.group_id, member_id))

    def _session_expired(self, group: ClassicGroup, member_id: str, turn: _Turn) -> None:
        member = group.members.get(member_id)
        if member is not None:
            if member.keeps_its_session:
                return  # its session begins again with the answer
            turn.answer(member.join_ticket, JoinReply("", Code.UNKNOWN_MEMBER_ID))
        self._forget(group, member_id)
        if group.state is State.PREPARING_REBALANCE:
            if group.all_have_joined:
                self._complete_join(group, turn)
        elif member is not None:
            self._prepare_rebalance(group, turn)

    def _joins_expired(self, group: ClassicGroup, turn: _Turn) -> None:
        delay = group.initial_delay
        if delay is not None and delay.member_added and delay.remaining_ms > 0:
            again_ms = min(self._settings.initial_rebalance_delay_ms, delay.remaining_ms)
            remaining_ms = max(delay.remaining_ms - delay.delay_ms, 0)
            group.initial_delay = InitialDelay(again_ms, remaining_ms)
            self._wait_for_joins(group, again_ms, turn)
        else:
            self._complete_join(group, turn)

    def _syncs_expired(self, group: ClassicGroup, turn: _Turn) -> None:
        for member_id in tuple(group.pending_syncs):
            self._forget(group, member_id)
        self._prepare_rebalance(group, turn)


def _rejoined(member: Member, request: JoinRequest, ticket: int) -> Member:
    return replace(
        member,
        protocols=request.protocols,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        join_ticket=ticket,
    )


def _joined(group: ClassicGroup, member: Member) -> JoinReply:
    """What a member of the present generation is told."""
    members: tuple[JoinedMember, ...] = ()
    if group.leader == member.member_id:
        protocol = group.protocol or ""
        members = tuple(
            JoinedMember(m.member_id, m.group_instance_id, m.metadata(protocol))
            for m in group.members.values()
        )
    return JoinReply(
        member.member_id,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        leader=group.leader or "",
        members=members,
    )


def _assigned(group: ClassicGroup, assignment: bytes) -> SyncReply:
    return SyncReply(Code.NONE, group.protocol_type, group.protocol, assignment)
