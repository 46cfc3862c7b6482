"""Streams groups (KIP-1071) as a kind of group: see `GroupKind`.

A streams group has no requests of the classic protocol. Without members it gives way to a classic
group when a member joins by JoinGroup.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ...protocol.errors import Code, Refused
from ..classic.requests import (
    GroupSettings,
    JoinReply,
    JoinRequest,
    LeavingMember,
    SyncReply,
    SyncRequest,
)
from ..group_kind import (
    ClaimedMember,
    GroupKind,
    ListedGroup,
    PartitionCheck,
    check_group_id,
    never_expires,
)
from ..group_kinds import STREAMS
from ..moment import Moment
from ..outcome import Outcome, Parked
from .group import StreamsGroup
from .groups import StreamsGroups, StreamsSetup
from .records import StreamsRecord
from .requests import DescribedStreamsGroup, HeartbeatReply, HeartbeatRequest

if TYPE_CHECKING:
    from uuid import UUID

    from ..classic.groups import ClassicGroups
    from ..group_records import OffsetCommitted
    from ..group_waits import GroupWaits


def make_kind(
    settings: GroupSettings, classic: ClassicGroups, setup: StreamsSetup | None
) -> StreamsKind:
    """The streams groups of a partition, none so far. `GROUP_KINDS` names this function."""
    return StreamsKind(StreamsGroups(setup or StreamsSetup()), classic)


class StreamsKind(GroupKind):
    """The streams groups of one partition of `__consumer_offsets`.

    Args:
        groups: decides for them.
        classic: the classic groups of the same partition; an empty one may become a streams group.
    """

    name = STREAMS

    def __init__(self, groups: StreamsGroups, classic: ClassicGroups) -> None:
        self.groups: Mapping[str, StreamsGroup] = groups.groups
        self.streams_groups = groups
        self._classic = classic

    # ---- requests of the streams protocol

    def streams_heartbeat(
        self, request: HeartbeatRequest, *, now: Moment
    ) -> Outcome[HeartbeatReply]:
        """StreamsGroupHeartbeat (88); see `StreamsGroups.heartbeat`."""
        classic = self._classic.get(request.group_id)
        return self.streams_groups.heartbeat(request, classic=classic, now=now)

    def describe(self, group_id: str) -> DescribedStreamsGroup:
        """StreamsGroupDescribe (89). Raises Refused INVALID_GROUP_ID, GROUP_ID_NOT_FOUND."""
        check_group_id(group_id)
        is_classic = self._classic.get(group_id) is not None
        return self.streams_groups.describe(group_id, is_classic=is_classic)

    # ---- requests of the classic protocol

    def join(
        self, request: JoinRequest, *, ticket: int, now: Moment
    ) -> Outcome[JoinReply | Parked]:
        group = self.groups[request.group_id]
        if group.members:
            return Outcome(JoinReply("", Code.INCONSISTENT_GROUP_PROTOCOL))
        outcome = self._classic.join(request, ticket=ticket, now=now)
        return outcome._replace(records=(*group.removal(), *outcome.records))

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
        if committer.generation_id < 0 and not group.members:
            return None  # an admin client
        names_none = committer.generation_id == -1 and not committer.member_id
        if transactional and names_none and committer.group_instance_id is None:
            return None
        member = group.member(committer.member_id)
        if not transactional and not committer.knows_epochs:
            raise Refused(Code.UNSUPPORTED_VERSION)
        epoch = committer.generation_id
        if epoch > member.member_epoch:
            raise Refused(Code.STALE_MEMBER_EPOCH)
        if epoch == member.member_epoch:
            return None

        def check(topic: str, topic_id: UUID | None, partition: int) -> None:
            """An older epoch is good for a task that the member has had since (KIP-1251)."""
            if not group.has_had(member, topic, partition, epoch):
                raise Refused(Code.STALE_MEMBER_EPOCH)

        return check

    def committed(self, group_id: str, member_id: str, *, now: Moment) -> None:
        """A commit does not extend the session of a member."""

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        if member_id is None and member_epoch < 0:
            return
        if member_epoch != self.groups[group_id].member(member_id or "").member_epoch:
            raise Refused(Code.STALE_MEMBER_EPOCH)

    def subscriptions(self, group_id: str) -> Callable[[str], bool]:
        return self.groups[group_id].subscriptions().__contains__

    def expiry(
        self, group_id: str, *, now_ms: int, retention_ms: int
    ) -> Callable[[OffsetCommitted], bool]:
        """An offset expires by its age, once the group does not read its topic."""
        group = self.groups.get(group_id)
        if group is None:
            return never_expires
        subscribed = group.subscriptions()

        def is_expired(record: OffsetCommitted) -> bool:
            if record.topic in subscribed:
                return False
            if record.expire_timestamp_ms is not None:
                return now_ms >= record.expire_timestamp_ms
            return now_ms - record.commit_timestamp_ms >= retention_ms

        return is_expired

    # ---- views and deletion

    def listed(self) -> Iterable[ListedGroup]:
        return (
            ListedGroup(group.group_id, STREAMS, group.state.value, self.name)
            for group in self.groups.values()
        )

    def state_of(self, group_id: str) -> str:
        return self.groups[group_id].state.value

    def waits_of(self, group_id: str) -> GroupWaits:
        return self.streams_groups.waits_of(self.groups[group_id])

    def removal(self, group_id: str) -> Sequence[StreamsRecord]:
        group = self.groups[group_id]
        if group.members:
            raise Refused(Code.NON_EMPTY_GROUP)
        return group.removal()

    # ---- the log and time

    def replay(self, record: StreamsRecord) -> None:
        self.streams_groups.replay(record)

    def forget(self, group_id: str) -> None:
        self.streams_groups.forget(group_id)

    def next_deadline(self) -> int | None:
        return self.streams_groups.next_deadline()

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        return self.streams_groups.tick(now)
