"""Streams groups (KIP-1071) as a kind of group: see `GroupKind`.

A streams group has no requests of the classic protocol. Without members it gives way to a classic
group when a member joins by JoinGroup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...protocol.errors import Code
from ..classic.requests import GroupSettings, JoinReply, JoinRequest
from ..group_kind import check_group_id
from ..group_kinds import STREAMS
from ..modern_kind import HasHad, ModernKind
from ..moment import Moment
from ..outcome import Outcome, Parked
from .group import StreamsGroup
from .groups import StreamsGroups, StreamsSetup
from .records import StreamsRecord
from .requests import DescribedStreamsGroup, HeartbeatReply, HeartbeatRequest
from .steps import StreamsTurn

if TYPE_CHECKING:
    from ..classic.groups import ClassicGroups


def make_kind(
    settings: GroupSettings, classic: ClassicGroups, setup: StreamsSetup | None
) -> StreamsKind:
    """The streams groups of a partition, none so far. `GROUP_KINDS` names this function."""
    return StreamsKind(StreamsGroups(setup or StreamsSetup()), classic)


class StreamsKind(ModernKind[StreamsGroup, StreamsRecord, StreamsTurn]):
    """The streams groups of one partition of `__consumer_offsets`.

    Args:
        groups: decides for them.
        classic: the classic groups of the same partition; an empty one may become a streams group.
    """

    name = STREAMS

    def __init__(self, groups: StreamsGroups, classic: ClassicGroups) -> None:
        super().__init__(groups, classic)
        self.streams_groups = groups

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

    # ---- offsets

    def _had_since(self, group: StreamsGroup, member_id: str, epoch: int) -> HasHad:
        member = group.member(member_id)
        return lambda topic, topic_id, partition: group.has_had(member, topic, partition, epoch)

    def subscriptions(self, group_id: str) -> Callable[[str], bool]:
        return self.groups[group_id].subscriptions().__contains__
