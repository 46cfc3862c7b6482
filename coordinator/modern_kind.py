"""What consumer groups, share groups and streams groups have alike as kinds of groups.

Kafka calls them modern groups: their members send heartbeats with an epoch, and the coordinator
assigns. Requests of the classic protocol are refused unless a kind serves them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic

from ..protocol.errors import Code, Refused
from .group_kind import ClaimedMember, GroupKind, ListedGroup, never_expires
from .modern_groups import Group, ModernGroups, Record, Turn
from .moment import Moment
from .outcome import Outcome, Parked

if TYPE_CHECKING:
    from .classic.groups import ClassicGroups
    from .classic.requests import LeavingMember, SyncReply, SyncRequest
    from .group_records import GroupRecord, OffsetCommitted
    from .group_waits import GroupWaits


class ModernKind(GroupKind, Generic[Group, Record, Turn]):
    """The groups of one of these kinds in one partition of `__consumer_offsets`.

    Args:
        groups: decides for them.
        classic: the classic groups of the same partition.
    """

    VOLATILE: ClassVar = frozenset({"loaded"})
    groups: Mapping[str, Group]

    def __init__(self, groups: ModernGroups[Group, Record, Turn], classic: ClassicGroups) -> None:
        self.groups = groups.groups
        self.deadlines = groups.deadlines
        self.loaded = groups.loaded
        self._machine = groups
        self._classic = classic

    # ---- requests of the classic protocol

    def sync(
        self, request: SyncRequest, *, ticket: int, now: Moment
    ) -> Outcome[SyncReply | Parked]:
        raise Refused(Code.UNKNOWN_MEMBER_ID)

    def heartbeat(self, group_id: str, member: ClaimedMember, *, now: Moment) -> Outcome[Code]:
        raise Refused(Code.UNKNOWN_MEMBER_ID)

    def leave(
        self, group_id: str, leaving: Iterable[LeavingMember], *, now: Moment
    ) -> Outcome[tuple[Code, ...]]:
        raise Refused(Code.UNKNOWN_MEMBER_ID)

    # ---- offsets

    def expiry(
        self, group_id: str, *, now_ms: int, retention_ms: int
    ) -> Callable[[OffsetCommitted], bool]:
        """An offset expires by its age, once the group is not subscribed to its topic."""
        if group_id not in self.groups:
            return never_expires
        is_subscribed = self.subscriptions(group_id)

        def is_expired(record: OffsetCommitted) -> bool:
            if is_subscribed(record.topic):
                return False
            if record.expire_timestamp_ms is not None:
                return now_ms >= record.expire_timestamp_ms
            return now_ms - record.commit_timestamp_ms >= retention_ms

        return is_expired

    # ---- views and deletion

    def listed(self) -> Iterable[ListedGroup]:
        return (
            ListedGroup(group.group_id, self.name, group.state.value, self.name)
            for group in self.groups.values()
        )

    def state_of(self, group_id: str) -> str:
        state: str = self.groups[group_id].state.value
        return state

    def waits_of(self, group_id: str) -> GroupWaits:
        return self._machine.waits_of(self.groups[group_id])

    def removal(self, group_id: str) -> Sequence[GroupRecord]:
        group = self.groups[group_id]
        if group.members:
            raise Refused(Code.NON_EMPTY_GROUP)
        return group.removal()

    # ---- the log and time

    def replay(self, record: Record) -> None:
        self._machine.replay(record)

    def forget(self, group_id: str) -> None:
        self._machine.forget(group_id)

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        return self._machine.tick(now)
