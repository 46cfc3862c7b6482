"""The rebalance of a classic group: its steps, and the timers of the group and of its members.

A rebalance waits for the members to join, then for them to sync. Each wait has a timer, and each
member has a session. The requests are in `groups.py`; both work on a `Turn`, the decision in
progress.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ...protocol.errors import Code
from ..deadlines import Deadlines, Timer, TimerKey
from ..group_records import GroupRecord, GroupStored
from ..moment import Moment
from ..outcome import PARKED, Answer, Effect, Notice, Outcome
from ..volatile import Volatile
from .group import ClassicGroup, InitialDelay, Member, State
from .requests import GroupSettings, JoinedMember, JoinReply, SyncReply

if TYPE_CHECKING:
    from ..group_waits import GroupWaits

_RETRY_MS = 1_000
"""The pause before the next try, after the log refused the record of an empty group."""


Reply = TypeVar("Reply")


class Turn:
    """A decision in progress: its records and effects so far.

    Args:
        now: the time on both clocks.
        ticket: of the request that is decided, if it may be parked.

    Attributes:
        now_ms: the monotonic time, for deadlines.
        wall_ms: the wall time, for records.
        written: the ids of the groups of the records.
        if_refused: see `Outcome.if_refused`.
    """

    __slots__ = ("effects", "if_refused", "now_ms", "records", "ticket", "wall_ms", "written")

    def __init__(self, now: Moment, ticket: int | None = None) -> None:
        self.wall_ms, self.now_ms = now
        self.ticket = ticket
        self.records: list[GroupRecord] = []
        self.effects: list[Effect] = []
        self.written: set[str] = set()
        self.if_refused: Callable[[Code], Outcome[object]] | None = None

    def write(self, group: ClassicGroup, record: GroupStored) -> None:
        """Add the record of the group; once in a turn."""
        assert group.group_id not in self.written, group.group_id
        group.unwritten = record
        self.records.append(record)
        self.written.add(group.group_id)

    def answer(
        self, ticket: int | None, reply: JoinReply | SyncReply, *, once_logged: bool = False
    ) -> None:
        """Answer the request that is parked under the ticket, if there is one.

        Args:
            once_logged: the reply depends on the records, and is sent only if the log takes them.
        """
        if ticket is not None:
            self.effects.append(Answer(ticket, reply, send_even_if_not_logged=not once_logged))

    def removed(self, group: ClassicGroup, member: Member, why: str) -> None:
        """Note in the broker's log that a member is removed from its group."""
        fields = {"member": member.member_id, "client_id": member.client_id, "reason": why}
        self.effects.append(Notice("a member is removed from its group", group.group_id, fields))

    # Any: an `Answer` does not say of which type its reply is.
    def parked(self) -> Outcome[Any]:
        """The outcome of a request that is parked, or that this decision has answered already."""
        for effect in self.effects:
            if isinstance(effect, Answer) and effect.ticket == self.ticket:
                self.effects.remove(effect)
                return self.outcome(effect.reply)
        return self.outcome(PARKED)

    def outcome(self, reply: Reply) -> Outcome[Reply]:
        """The outcome, with the reply to the request."""
        return Outcome(reply, tuple(self.records), tuple(self.effects), if_refused=self.if_refused)


class Rebalances(Volatile):
    """Steps of rebalances, and the timers of all groups of a machine."""

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self.deadlines: Deadlines[TimerKey] = Deadlines()

    def prepare_or_complete(self, group: ClassicGroup, turn: Turn) -> None:
        """Begin a rebalance, or end the joins of the current one if no join is missing.

        Kafka's maybePrepareRebalanceOrCompleteJoin.
        """
        if group.state is State.PREPARING_REBALANCE:
            self.complete_join_if_ready(group, turn)
        else:
            self.prepare_rebalance(group, turn)

    def prepare_rebalance(self, group: ClassicGroup, turn: Turn) -> None:
        """Make all members join again; an empty group first waits for more members."""
        if group.state is State.COMPLETING_REBALANCE:
            for member in tuple(group.members.values()):
                group.put(replace(member, assignment=b"", sync_ticket=None))
                if member.sync_ticket is not None:
                    turn.answer(member.sync_ticket, SyncReply(Code.REBALANCE_IN_PROGRESS))
                    self.extend_session(group, member, turn.now_ms)
        group.pending_syncs.clear()
        self.deadlines.cancel(TimerKey(Timer.SYNC, group.group_id))
        was_empty = group.state is State.EMPTY
        group.enter(State.PREPARING_REBALANCE, turn.wall_ms)
        if was_empty:
            delay_ms = self._settings.initial_rebalance_delay_ms
            remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
            group.initial_delay = InitialDelay(delay_ms, remaining_ms)
            self._wait_for_joins(group, delay_ms, turn)
        elif group.all_have_joined:
            self.complete_join(group, turn)
        else:
            self._wait_for_joins(group, group.rebalance_timeout_ms, turn)

    def _wait_for_joins(self, group: ClassicGroup, delay_ms: int, turn: Turn) -> None:
        self.deadlines.set(TimerKey(Timer.JOIN, group.group_id), turn.now_ms + delay_ms)

    def complete_join_if_ready(self, group: ClassicGroup, turn: Turn) -> None:
        """End the joins if all have joined and the initial delay of an empty group is over."""
        if (
            group.state is State.PREPARING_REBALANCE
            and group.initial_delay is None
            and group.all_have_joined
        ):
            self.complete_join(group, turn)

    def complete_join(self, group: ClassicGroup, turn: Turn) -> None:
        """Begin a generation of the members that joined (completeClassicGroupJoin).

        Static members that have not joined stay in the group; dynamic ones are removed.
        """
        self.deadlines.cancel(TimerKey(Timer.JOIN, group.group_id))
        for member in tuple(group.members.values()):
            if member.join_ticket is None and member.group_instance_id is None:
                turn.removed(group, member, "it has not joined the rebalance in time")
                self.forget(group, member.member_id)
        if not group.members:
            group.initial_delay = None
            empty = replace(
                group.stored({}),
                generation_id=group.generation_id + 1,
                protocol=None,
                leader=None,
                current_state_timestamp_ms=turn.wall_ms,
            )
            turn.write(group, empty)
            self._wait_for_joins(group, _RETRY_MS, turn)  # cancelled when the log takes the record
        elif not group.elect_a_leader():
            self._wait_for_joins(group, group.rebalance_timeout_ms, turn)  # for static members
        else:
            group.begin_generation(turn.wall_ms)
            for member in tuple(group.members.values()):
                turn.answer(member.join_ticket, joined(group, member))
                group.put(replace(member, join_ticket=None, is_new=False))
                self.extend_session(group, member, turn.now_ms)
            due_ms = turn.now_ms + group.rebalance_timeout_ms
            self.deadlines.set(TimerKey(Timer.SYNC, group.group_id), due_ms)

    # ---- time

    def expire(self, groups: Mapping[str, ClassicGroup], now: Moment) -> Generator[Outcome[None]]:
        """Make the decisions of the timers that are due, one by one."""
        for key in self.deadlines.take_due(now.monotonic_ms):
            group, turn = groups[key.group_id], Turn(now)
            if key.timer is Timer.SESSION:
                self._session_expired(group, key.member_id, turn)
            elif key.timer is Timer.JOIN:
                self._end_initial_delay(group, turn)
            else:
                self._syncs_expired(group, turn)
            yield turn.outcome(None)

    def waits_of(self, group: ClassicGroup) -> GroupWaits:
        """The timers of a group and of its members."""
        from ..group_waits import GroupWaits, MemberWaits  # for people who ask why

        joins, syncs = group.state is State.PREPARING_REBALANCE, bool(group.pending_syncs)
        delay, due_ms = group.initial_delay, self.deadlines.due_ms
        timer = Timer.JOIN if joins else Timer.SYNC
        members = tuple(
            MemberWaits(
                each.member_id,
                each.assignment,
                each.session_timeout_ms,
                None
                if each.keeps_its_session
                else due_ms(TimerKey(Timer.SESSION, group.group_id, each.member_id)),
                each.join_ticket is not None if joins else None,
                each.member_id not in group.pending_syncs if syncs and not joins else None,
            )
            for each in group.members.values()
        )
        return GroupWaits(
            members,
            due_ms(TimerKey(timer, group.group_id)),
            group.rebalance_timeout_ms if delay is None else delay.delay_ms,
            delay is not None,
            tuple(sorted(group.pending_members)),
            tuple(sorted(group.subscribed_topics or ())),
        )

    def begin_session(self, group: ClassicGroup, member_id: str, due_ms: int) -> None:
        """Set when the session of a member expires, or of one that has only a member id yet."""
        self.deadlines.set(TimerKey(Timer.SESSION, group.group_id, member_id), due_ms)

    def end_session(self, group: ClassicGroup, member_id: str) -> None:
        """End the session of a member id."""
        self.deadlines.cancel(TimerKey(Timer.SESSION, group.group_id, member_id))

    def synced(self, group: ClassicGroup, member_id: str) -> None:
        """Note that a member has synced."""
        group.pending_syncs.discard(member_id)
        self.cancel_unneeded_timers(group)

    def cancel_unneeded_timers(self, group: ClassicGroup) -> None:
        """Cancel the timers that the group's state does not need."""
        if group.state is State.EMPTY:
            self.deadlines.cancel(TimerKey(Timer.JOIN, group.group_id))
        if group.state is State.STABLE and not group.pending_syncs:
            self.deadlines.cancel(TimerKey(Timer.SYNC, group.group_id))

    def cancel(self, group: ClassicGroup) -> None:
        """Cancel all timers of a group that is removed."""
        for member_id in (*group.members, *group.pending_members):
            self.end_session(group, member_id)
        self.deadlines.cancel(TimerKey(Timer.JOIN, group.group_id))
        self.deadlines.cancel(TimerKey(Timer.SYNC, group.group_id))

    def begin_sessions(self, group: ClassicGroup, turn: Turn) -> None:
        """Begin the sessions of a group that was loaded from the log."""
        for member in group.members.values():
            self.extend_session(group, member, turn.now_ms)
        is_too_large = len(group.members) > self._settings.max_size
        if is_too_large and group.state is not State.PREPARING_REBALANCE:
            self.prepare_rebalance(group, turn)  # group.max.size was lowered

    def extend_session(self, group: ClassicGroup, member: Member, now_ms: int) -> None:
        """Restart the member's session."""
        key = TimerKey(Timer.SESSION, group.group_id, member.member_id)
        self.deadlines.set(key, now_ms + member.session_timeout_ms)

    def forget(self, group: ClassicGroup, member_id: str) -> None:
        """Drop a member or a pending member id, with its session."""
        group.remove(member_id)
        self.end_session(group, member_id)

    def refuse_assignment(self, group: ClassicGroup, error: Code, turn: Turn) -> None:
        """The log refused the assignment: answer the waiting members; all join again."""
        group.unwritten = None
        for member in tuple(group.members.values()):
            group.put(replace(member, assignment=b"", sync_ticket=None))
            if member.sync_ticket is not None:
                turn.answer(member.sync_ticket, SyncReply(error))
                self.extend_session(group, member, turn.now_ms)
        self.prepare_rebalance(group, turn)

    def _session_expired(self, group: ClassicGroup, member_id: str, turn: Turn) -> None:
        member = group.members.get(member_id)
        if member is not None:
            if member.keeps_its_session:
                return  # its session begins again with the answer
            turn.answer(member.join_ticket, JoinReply("", Code.UNKNOWN_MEMBER_ID))
            why = f"no heartbeat for its session timeout, {member.session_timeout_ms} ms"
            turn.removed(group, member, why)
        self.forget(group, member_id)
        if group.state is State.PREPARING_REBALANCE:
            if group.all_have_joined:
                self.complete_join(group, turn)
        elif member is not None:
            self.prepare_rebalance(group, turn)

    def _end_initial_delay(self, group: ClassicGroup, turn: Turn) -> None:
        delay = group.initial_delay
        if delay is not None and delay.member_added:
            again_ms = min(self._settings.initial_rebalance_delay_ms, delay.remaining_ms)
            remaining_ms = max(delay.remaining_ms - delay.delay_ms, 0)
            group.initial_delay = InitialDelay(again_ms, remaining_ms)
            self._wait_for_joins(group, again_ms, turn)
        else:
            self.complete_join(group, turn)

    def _syncs_expired(self, group: ClassicGroup, turn: Turn) -> None:
        for member_id in tuple(group.pending_syncs):
            member = group.members.get(member_id)
            if member is not None:
                turn.removed(group, member, "it has not sent SyncGroup in time")
            self.forget(group, member_id)
        self.prepare_rebalance(group, turn)


def joined(group: ClassicGroup, member: Member) -> JoinReply:
    """The JoinGroup reply to a member of the present generation."""
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
