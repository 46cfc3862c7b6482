"""What consumer groups, share groups and streams groups do alike: members, timers, replay.

Kafka calls them modern groups: their members send heartbeats with an epoch, and the coordinator
assigns. `modern_kind.py` has what they have alike as kinds of groups.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Protocol, TypeVar

from ..protocol.errors import Code, Refused
from .deadlines import Deadlines, Timer, TimerKey
from .group_kinds import KindRecord, Tombstone
from .moment import Moment
from .outcome import Effect, Notice, Outcome

if TYPE_CHECKING:
    from .group_waits import GroupWaits

JOINING_EPOCH: Final = 0
LEAVING_EPOCH: Final = -1
STATIC_LEAVING_EPOCH: Final = -2
"""Of a static member that leaves for a while: it keeps what it has until its session ends."""

RETRY_MS: Final = 500
"""The pause before the next try, after the log refused the records of a timer."""


class MemberState(IntEnum):
    """The state of a member's reconciliation (MemberState); the numbers are those in the log.

    Attributes:
        UNREVOKED: it still has to give up partitions or tasks.
        UNRELEASED: it waits for partitions or tasks that others have to give up.
    """

    STABLE = 0
    UNREVOKED = 1
    UNRELEASED = 2
    UNKNOWN = 127

    @classmethod
    def _missing_(cls, value: object) -> MemberState:
        return cls.UNKNOWN  # of a newer coordinator


class Reconciled:
    """A member that is taken to its target, step by step."""

    __slots__ = ()
    member_epoch: int
    state: MemberState

    def is_reconciled_to(self, target_epoch: int) -> bool:
        """Whether it has all of its target of that epoch."""
        return self.state is MemberState.STABLE and self.member_epoch == target_epoch


Owned = TypeVar("Owned", covariant=True)


class ReconciledState(Protocol[Owned]):
    """How far a member is, and what it has: fields of a member, or of a record about it."""

    @property
    def member_epoch(self) -> int: ...
    @property
    def previous_member_epoch(self) -> int: ...
    @property
    def state(self) -> MemberState: ...
    @property
    def assigned(self) -> Owned: ...
    @property
    def pending_revocation(self) -> Owned: ...


class ModernMember(Protocol):
    """A member of one of these groups."""

    @property
    def member_id(self) -> str: ...
    @property
    def member_epoch(self) -> int: ...
    @property
    def client_id(self) -> str: ...


Member = TypeVar("Member", bound=ModernMember, covariant=True)
Group = TypeVar("Group", bound="ModernGroup[ModernMember]")
Record = TypeVar("Record", bound=KindRecord)
Reply = TypeVar("Reply")


class ModernGroup(ABC, Generic[Member]):
    """The members of a group of one of these kinds.

    Attributes:
        members: by id, in the order in which they joined.
        replay: applies a record of this group, except the tombstone of the whole group.
    """

    replay: Callable[..., None]

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.members: dict[str, Member] = {}
        self._static_members: dict[str, str] = {}  # member ids by instance id

    @property
    @abstractmethod
    def state(self) -> Enum:
        """The state of the group; the value is Kafka's name."""

    @abstractmethod
    def removal(self) -> Sequence[KindRecord]:
        """Tombstones for all records of the group."""

    def member(self, member_id: str) -> Member:
        """Raises Refused(UNKNOWN_MEMBER_ID)."""
        member = self.members.get(member_id)
        if member is None:
            why = f"Member {member_id} is not a member of group {self.group_id}."
            raise Refused(Code.UNKNOWN_MEMBER_ID, why)
        return member

    def static_member(self, instance_id: str | None) -> Member | None:
        """The current member of an instance id; None if there is none."""
        if instance_id is None:
            return None
        member_id = self._static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def check_member(self, member_id: str, instance_id: str | None) -> Member:
        """The member that a request comes from.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
        """
        if instance_id is None:
            return self.members.get(member_id) or self.member(member_id)
        member = self.static_member(instance_id)
        if member is None:
            raise Refused(Code.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if member.member_id != member_id:
            raise Refused(
                Code.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member "
                f"{member.member_id}.",
            )
        return member


class ModernTurn:
    """A decision in progress: its records and effects so far.

    Attributes:
        kind_name: of the groups, as in `GROUP_KINDS`.
        now: both times.
        now_ms: the monotonic one, for deadlines.
    """

    __slots__ = ("effects", "now", "now_ms", "records")
    kind_name: ClassVar[str]

    def __init__(self, now: Moment) -> None:
        self.now = now
        self.now_ms = now.monotonic_ms
        self.records: list[object] = []
        self.effects: list[Effect] = []

    def rebalances(self, group: ModernGroup[ModernMember], epoch: int) -> None:
        """Note in the broker's log that a group gets a new assignment, of this epoch."""
        fields = {
            "group_epoch": epoch,
            "group_type": self.kind_name,
            "members_before": len(group.members),
        }
        self.effects.append(Notice("the group rebalances", group.group_id, fields))

    def removed(self, group: ModernGroup[ModernMember], member: ModernMember, why: str) -> None:
        """Note in the broker's log that a member is removed from its group."""
        fields = {"member": member.member_id, "client_id": member.client_id, "reason": why}
        self.effects.append(Notice("a member is removed from its group", group.group_id, fields))

    def outcome(self, reply: Reply) -> Outcome[Reply]:
        return Outcome(reply, tuple(self.records), tuple(self.effects))


Turn = TypeVar("Turn", bound=ModernTurn)


class ModernGroups(ABC, Generic[Group, Record, Turn]):
    """The state machine of the groups of one kind, in one partition of `__consumer_offsets`.

    Args:
        new_group: makes a group, by its id, as it is before its first record is replayed.
        new_turn: begins a decision.

    Attributes:
        kind_name: of the groups, as in `GROUP_KINDS`.
        group_key: the kind of record that every group has.
        member_key: the kind of record that every member has.
        member_timers: the timers that a member may have.
        loaded: the ids of groups that were replayed: their sessions begin with the next `tick`.
    """

    VOLATILE: ClassVar = frozenset({"loaded"})
    kind_name: ClassVar[str]
    group_key: ClassVar[IntEnum]
    member_key: ClassVar[IntEnum]
    member_timers: ClassVar[tuple[Timer, ...]] = (Timer.SESSION,)

    def __init__(
        self, new_group: Callable[[str], Group], new_turn: Callable[[Moment], Turn]
    ) -> None:
        self._new_group = new_group
        self._new_turn = new_turn
        self.groups: dict[str, Group] = {}
        self.deadlines: Deadlines[TimerKey] = Deadlines()
        self.loaded: dict[str, None] = {}

    @abstractmethod
    def _session_timeout_ms(self, group_id: str) -> int:
        """How long a member of the group may be silent."""

    @abstractmethod
    def _expired(self, group: Group, key: TimerKey, turn: Turn) -> bool:
        """Decide what follows from a timer; whether it is set again if the log refuses that."""

    # ---- queries

    def find(self, group_id: str, *, is_other: bool) -> Group:
        """A group; `not_found` if there is none of this kind."""
        group = self.groups.get(group_id)
        if group is None:
            raise self.not_found(group_id, is_other=is_other)
        return group

    def not_found(self, group_id: str, *, is_other: bool) -> Refused:
        """The refusal (GROUP_ID_NOT_FOUND) of a request to a group that is none of this kind.

        Args:
            is_other: whether a group of another kind has the id.
        """
        what = f"is not a {self.kind_name} group" if is_other else "not found"
        return Refused(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")

    # ---- replay

    def replay(self, record: Record) -> None:
        """Apply a record. A tombstone may name something unknown, because of compaction."""
        group_id = record.group_id
        group = self.groups.get(group_id)
        if isinstance(record, Tombstone):
            if group is None:
                return
            if record.kind is self.group_key:
                self._drop(group)
                return
            if record.kind is self.member_key:
                self._cancel_timers(group_id, record.name)
        elif group is None:
            group = self.groups[group_id] = self._new_group(group_id)
            self.loaded[group_id] = None
        group.replay(record)

    def forget(self, group_id: str) -> None:
        """Drop a group: a record says that it is of another kind."""
        group = self.groups.get(group_id)
        if group is not None:
            self._drop(group)

    def _drop(self, group: Group) -> None:
        for member_id in group.members:
            self._cancel_timers(group.group_id, member_id)
        del self.groups[group.group_id]
        self.loaded.pop(group.group_id, None)

    def _cancel_timers(self, group_id: str, member_id: str) -> None:
        """Cancel all timers of a member that was removed."""
        for timer in self.member_timers:
            self.deadlines.cancel(TimerKey(timer, group_id, member_id))

    # ---- time

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        """Begin the sessions of loaded members; expire timers.

        One decision for each that is due, see `Machine.tick`.
        """
        while self.loaded:
            group_id = next(iter(self.loaded))
            del self.loaded[group_id]
            self._begin_sessions(self.groups[group_id], now.monotonic_ms)
            yield Outcome(None)
        for key in self.deadlines.take_due(now.monotonic_ms):
            group = self.groups.get(key.group_id)
            if group is None:
                continue
            turn = self._new_turn(now)
            if self._expired(group, key, turn) and turn.records:
                # The replay cancels it, unless the log does not take the records.
                self.deadlines.set(key, turn.now_ms + RETRY_MS)
            yield turn.outcome(None)

    def _begin_sessions(self, group: Group, now_ms: int) -> None:
        """Begin the sessions of members without one: those of a group loaded from the log."""
        session_ms = self._session_timeout_ms(group.group_id)
        for member_id in group.members:
            session = TimerKey(Timer.SESSION, group.group_id, member_id)
            if self.deadlines.is_set(session):
                continue
            self.deadlines.set(session, now_ms + session_ms)
            revocation_ms = self._revocation_ms(group, member_id)
            if revocation_ms is not None:
                rebalance = TimerKey(Timer.REBALANCE, group.group_id, member_id)
                self.deadlines.set(rebalance, now_ms + revocation_ms)

    def _revocation_ms(self, group: Group, member_id: str) -> int | None:
        """How long a member may take to give up what it has to; None if that is nothing."""
        return None

    def waits_of(self, group: Group) -> GroupWaits:
        """The timers of the members."""
        from .group_waits import GroupWaits, MemberWaits  # for people who ask why

        due_ms, name = self.deadlines.due_ms, group.group_id
        return GroupWaits(
            tuple(
                MemberWaits(
                    each,
                    session_ms=self._session_ms_of(group, each),
                    session_due_ms=due_ms(TimerKey(Timer.SESSION, name, each)),
                    revocation_due_ms=due_ms(TimerKey(Timer.REBALANCE, name, each)),
                )
                for each in group.members
            )
        )

    def _session_ms_of(self, group: Group, member_id: str) -> int:
        """The session timeout of a member: that of its group, unless it has one of its own."""
        return self._session_timeout_ms(group.group_id)


def check_released(member: ModernMember, member_id: str, instance_id: str | None) -> None:
    """Check that a static member has left for a while, so that its instance may join again.

    Args:
        member: it has the instance id.
        member_id: of the one that joins.

    Raises:
        Refused: UNRELEASED_INSTANCE_ID.
    """
    if member.member_epoch != STATIC_LEAVING_EPOCH:
        raise Refused(
            Code.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the "
            f"group because the instance id is owned by {member.member_id} member.",
        )


def check_room(kind_name: str, group: ModernGroup[ModernMember], max_size: int) -> None:
    """Check that there is room for one more member; raises Refused(GROUP_MAX_SIZE_REACHED)."""
    if len(group.members) >= max_size:
        why = f"The {kind_name} group has reached its maximum capacity of {max_size} members."
        raise Refused(Code.GROUP_MAX_SIZE_REACHED, why)


def fenced(kind_name: str, epoch: int, known: int, besides: str = "") -> Refused:
    """The refusal of a heartbeat of another epoch than the one that the group knows.

    Args:
        besides: what is also wrong with the epoch.
    """
    size = "smaller" if epoch < known else "greater"
    return Refused(
        Code.FENCED_MEMBER_EPOCH,
        f"The {kind_name} group member has a {size} member epoch ({epoch}) than the one known by "
        f"the group coordinator ({known}){besides}. The member must abandon all its partitions and "
        "rejoin.",
    )
