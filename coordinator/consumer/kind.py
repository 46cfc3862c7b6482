"""Consumer groups (KIP-848) as a kind of group: see `GroupKind`.

Requests of the classic protocol to a consumer group go to `classic_members.py`, all others to
`groups.py`. A consumer group without members gives way to a classic group when a member joins by
JoinGroup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from ..group_kind import ClaimedMember, check_group_id
from ..group_kinds import CONSUMER
from ..modern_kind import HasHad, ModernKind
from ..moment import Moment
from ..outcome import Outcome, Parked
from .classic_members import ClassicMembers
from .group import ConsumerGroup
from .groups import ConsumerGroups, ConsumerSetup
from .records import ConsumerRecord
from .requests import DescribedConsumerGroup
from .steps import ConsumerTurn

if TYPE_CHECKING:
    from ..classic.groups import ClassicGroups
    from .regexes import Found, MatchTopics


def make_kind(
    settings: GroupSettings, classic: ClassicGroups, setup: ConsumerSetup | None
) -> ConsumerKind:
    """The consumer groups of a partition, none so far. `GROUP_KINDS` names this function."""
    groups = ConsumerGroups(
        setup or ConsumerSetup(), classic=classic, max_classic_size=settings.max_size
    )
    return ConsumerKind(groups, classic)


class ConsumerKind(ModernKind[ConsumerGroup, ConsumerRecord, ConsumerTurn]):
    """The consumer groups of one partition of `__consumer_offsets`.

    Args:
        groups: decides for them.
        classic: the classic groups of the same partition; a group may change its kind.

    Attributes:
        consumer_heartbeat: decides on ConsumerGroupHeartbeat (68); see `ConsumerGroups.heartbeat`.
    """

    name = CONSUMER

    def __init__(self, groups: ConsumerGroups, classic: ClassicGroups) -> None:
        super().__init__(groups, classic)
        self.consumer_groups = groups
        self.consumer_heartbeat = groups.heartbeat
        self._classic_members = ClassicMembers(groups)

    # ---- requests of the consumer protocol

    def matched(self, order: MatchTopics, found: Found, *, now: Moment) -> Outcome[None]:
        """Regular expressions were matched; see `ConsumerGroups.matched`."""
        return self.consumer_groups.matched(order, found, now=now)

    def describe(self, group_id: str) -> DescribedConsumerGroup:
        """ConsumerGroupDescribe (69). Raises Refused INVALID_GROUP_ID, GROUP_ID_NOT_FOUND."""
        check_group_id(group_id)
        return self.consumer_groups.describe(group_id)

    # ---- requests of the classic protocol

    def join(
        self, request: JoinRequest, *, ticket: int, now: Moment
    ) -> Outcome[JoinReply | Parked]:
        group = self.groups[request.group_id]
        if not group.members:  # a classic group takes its place
            outcome = self._classic.join(request, ticket=ticket, now=now)
            return outcome._replace(records=(*group.removal(), *outcome.records))
        self._classic.check_session_timeout(request)
        try:
            return self._classic_members.join(group, request, now=now)
        except Refused as refused:  # the answer names no member, unlike that of a classic group
            return Outcome(JoinReply("", refused.code))

    def sync(
        self, request: SyncRequest, *, ticket: int, now: Moment
    ) -> Outcome[SyncReply | Parked]:
        group = self.groups[request.group_id]
        if not group.members:  # see `join`
            return self._classic.sync(request, ticket=ticket, now=now)
        return self._classic_members.sync(group, request, now=now)

    def heartbeat(self, group_id: str, member: ClaimedMember, *, now: Moment) -> Outcome[Code]:
        return self._classic_members.heartbeat(self.groups[group_id], member, now=now)

    def leave(
        self, group_id: str, leaving: Iterable[LeavingMember], *, now: Moment
    ) -> Outcome[tuple[Code, ...]]:
        return self._classic_members.leave(self.groups[group_id], leaving, now=now)

    # ---- offsets

    def _had_since(self, group: ConsumerGroup, member_id: str, epoch: int) -> HasHad:
        member = group.member(member_id)
        return lambda topic, topic_id, partition: member.has_had(topic_id, partition, epoch)

    def _is_classic(self, group: ConsumerGroup, member_id: str) -> bool:
        return group.member(member_id).classic is not None

    def subscriptions(self, group_id: str) -> Callable[[str], bool]:
        return self.groups[group_id].subscribers.__contains__
