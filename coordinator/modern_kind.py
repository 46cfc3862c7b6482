"""What consumer groups, share groups and streams groups have alike as kinds of groups.

Kafka calls them modern groups: their members send heartbeats with an epoch, and the coordinator
assigns. Requests of the classic protocol are refused unless a kind serves them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic

from ..protocol.errors import Code, Refused
from .group_kind import ClaimedMember, GroupKind, ListedGroup, PartitionCheck, never_expires
from .modern_groups import Group, ModernGroups, Record, Turn
from .moment import Moment
from .outcome import Outcome, Parked

if TYPE_CHECKING:
    from uuid import UUID

    from .classic.groups import ClassicGroups
    from .classic.requests import LeavingMember, SyncReply, SyncRequest
    from .group_records import GroupRecord, OffsetCommitted
    from .group_waits import GroupWaits


HasHad = Callable[[str, "UUID | None", int], bool]


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

    def check_commit(
        self, group_id: str, committer: ClaimedMember, *, transactional: bool
    ) -> PartitionCheck | None:
        group = self.groups[group_id]
        member_id, epoch = committer.member_id, committer.generation_id
        if epoch < 0 and not group.members:
            return None  # an admin client, or a consumer that manages its partitions itself
        names_none = epoch == -1 and not member_id and committer.group_instance_id is None
        if transactional and names_none:
            return None
        known = group.member(member_id).member_epoch
        if not (transactional or committer.knows_epochs or self._is_classic(group, member_id)):
            raise Refused(Code.UNSUPPORTED_VERSION)
        if epoch > known:
            raise self._wrong_epoch(group, member_id)
        if epoch == known:
            return None
        has_had = self._had_since(group, member_id, epoch)

        def check(topic: str, topic_id: UUID | None, partition: int) -> None:
            """An older epoch is good for what the member has had since (KIP-1251)."""
            if not has_had(topic, topic_id, partition):
                raise self._wrong_epoch(group, member_id)

        return check

    @abstractmethod
    def _had_since(self, group: Group, member_id: str, epoch: int) -> HasHad:
        """Whether a member has had a partition since an epoch: by topic, its id, and index."""

    def _is_classic(self, group: Group, member_id: str) -> bool:
        """Whether a member uses the classic protocol."""
        return False

    def _wrong_epoch(self, group: Group, member_id: str) -> Refused:
        is_classic = self._is_classic(group, member_id)
        return Refused(Code.ILLEGAL_GENERATION if is_classic else Code.STALE_MEMBER_EPOCH)

    def committed(self, group_id: str, member_id: str, *, now: Moment) -> None:
        """A commit does not extend the session of a member."""

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        if member_id is None and member_epoch < 0:
            return
        group, member_id = self.groups[group_id], member_id or ""
        if member_epoch != group.member(member_id).member_epoch:
            raise self._wrong_epoch(group, member_id)

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
