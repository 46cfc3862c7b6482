"""Share groups (KIP-932) as a kind of group: see `GroupKind`.

A share group commits no offsets and has no classic members, so that requests of the classic
protocol are refused, as Kafka refuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn
from uuid import UUID

from ...protocol.errors import Code, Refused
from ..classic.requests import GroupSettings, JoinReply, JoinRequest
from ..consumer.requests import HeartbeatReply
from ..group_kind import ClaimedMember, check_group_id, never_expires
from ..group_kinds import SHARE
from ..modern_kind import ModernKind
from ..moment import Moment
from ..outcome import Outcome, Parked
from .group import ShareGroup
from .groups import ShareGroups, ShareSetup
from .records import ShareRecord, StateTopic
from .requests import (
    AlteredOffsets,
    DeletedOffsets,
    DescribedShareGroup,
    HeartbeatRequest,
    StartOffsets,
    StatePartition,
    StatePartitions,
)
from .state_topics import (
    all_deleting,
    with_deleting,
    with_initialized,
    with_initializing,
    without_deleting,
    without_initializing,
)
from .steps import ShareTurn

if TYPE_CHECKING:
    from ..classic.groups import ClassicGroups
    from ..group_records import OffsetCommitted

_NO_OFFSETS = "There is no offset information to delete."
_UNKNOWN_TOPIC = "This server does not host this topic-partition."


def make_kind(
    settings: GroupSettings, classic: ClassicGroups, setup: ShareSetup | None
) -> ShareKind:
    """The share groups of a partition, none so far. `GROUP_KINDS` names this function."""
    return ShareKind(ShareGroups(setup or ShareSetup()), classic)


class ShareKind(ModernKind[ShareGroup, ShareRecord, ShareTurn]):
    """The share groups of one partition of `__consumer_offsets`.

    Args:
        groups: decides for them.
        classic: the classic groups of the same partition; none of them becomes a share group.
    """

    name = SHARE
    is_removed_when_empty = False

    def __init__(self, groups: ShareGroups, classic: ClassicGroups) -> None:
        super().__init__(groups, classic)
        self.share_groups = groups

    def _is_other(self, group_id: str) -> bool:
        return self._classic.get(group_id) is not None

    # ---- requests of the share protocol

    def share_heartbeat(self, request: HeartbeatRequest, *, now: Moment) -> Outcome[HeartbeatReply]:
        """ShareGroupHeartbeat (76); see `ShareGroups.heartbeat`."""
        is_other = self._is_other(request.group_id)
        return self.share_groups.heartbeat(request, is_other=is_other, now=now)

    def describe(self, group_id: str) -> DescribedShareGroup:
        """ShareGroupDescribe (77). Raises Refused INVALID_GROUP_ID, GROUP_ID_NOT_FOUND."""
        check_group_id(group_id)
        return self.share_groups.describe(group_id, is_other=self._is_other(group_id))

    # ---- share state

    def initialized_partitions(self, group_id: str) -> StatePartitions:
        """The partitions of a group that have share state; none for an unknown group."""
        group = self.groups.get(group_id)
        found = {} if group is None else group.initialized
        return {topic_id: topic.partitions for topic_id, topic in found.items()}

    def initialized(self, group_id: str, partitions: StatePartitions) -> Outcome[None]:
        """Note partitions whose share state the share coordinator has initialized."""
        group = self.groups.get(group_id)
        if group is None or not partitions:
            return Outcome(None)
        record = with_initialized(group, partitions, self.share_groups.topics)
        return Outcome(None, (record,))

    def not_initialized(self, group_id: str, partitions: StatePartitions) -> Outcome[None]:
        """Note partitions whose share state could not be initialized; a heartbeat tries again."""
        group = self.groups.get(group_id)
        if group is None or not group.initializing or not partitions:
            return Outcome(None)
        return Outcome(None, (without_initializing(group, partitions),))

    def alter_offsets(self, group_id: str, offsets: StartOffsets) -> Outcome[AlteredOffsets]:
        """AlterShareGroupOffsets (91): the partitions that get new share state.

        An unknown group comes to exist, without members. The caller has the state initialized, and
        then calls `initialized`.

        Raises:
            Refused: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
        """
        self._check_named(group_id)
        group = self.groups.get(group_id)
        if group is None and self._is_other(group_id):
            raise Refused(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
        group = group or ShareGroup(group_id, self.share_groups.first_epoch)
        group.check_empty()
        codes: list[Code] = []
        starts: dict[tuple[UUID, int], int] = {}
        added: dict[UUID, StateTopic] = {}
        for name, partition, start_offset in offsets:
            topic = self.share_groups.topics.by_name(name)
            if topic is None or not 0 <= partition < topic.partition_count:
                codes.append(Code.UNKNOWN_TOPIC_OR_PARTITION)
                continue
            codes.append(Code.NONE)
            starts[topic.topic_id, partition] = start_offset
            known = added.get(topic.topic_id)
            indexes = frozenset() if known is None else known.partitions
            added[topic.topic_id] = StateTopic(name, indexes | {partition})
        partitions = tuple(StatePartition(*key, start) for key, start in starts.items())
        reply = AlteredOffsets(tuple(codes), group.epoch, partitions)
        return Outcome(reply, (with_initializing(group, added),) if added else ())

    def begin_deleting_offsets(
        self, group_id: str, names: Iterable[str]
    ) -> Outcome[DeletedOffsets]:
        """DeleteShareGroupOffsets (92): the topics that lose their share state.

        The caller has the state deleted, and then calls `deleted_offsets`.

        Raises:
            Refused: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
        """
        self._check_named(group_id)
        group = self.share_groups.find(group_id, is_other=self._is_other(group_id))
        group.check_empty()
        refusals: dict[str, tuple[Code, str]] = {}
        going: dict[UUID, str] = {}
        partitions: dict[UUID, frozenset[int]] = {}
        if group.state_topics is None:
            return Outcome(DeletedOffsets({}, {}, {}))
        for name in names:
            topic = self.share_groups.topics.by_name(name)
            if topic is None:
                refusals[name] = Code.UNKNOWN_TOPIC_OR_PARTITION, _UNKNOWN_TOPIC
                continue
            topic_id = topic.topic_id
            if topic_id in group.initialized:
                partitions[topic_id] = group.initialized[topic_id].partitions
            elif topic_id in group.deleting:
                partitions[topic_id] = frozenset(range(topic.partition_count))
            else:
                refusals[name] = Code.UNKNOWN_TOPIC_OR_PARTITION, _NO_OFFSETS
                continue
            going[topic_id] = name
        records = (with_deleting(group, going),) if going else ()
        return Outcome(DeletedOffsets(refusals, going, partitions), records)

    def deleted_offsets(self, group_id: str, topic_ids: Collection[UUID]) -> Outcome[None]:
        """Note topics whose share state the share coordinator has deleted."""
        group = self.groups.get(group_id)
        if group is None or not topic_ids:
            return Outcome(None)
        return Outcome(None, (without_deleting(group, topic_ids),))

    def begin_deletion(self, group_id: str) -> Outcome[StatePartitions]:
        """DeleteGroups (42), its first part: the partitions that lose their share state.

        The caller has the state deleted before it deletes the group.

        Raises:
            Refused: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
        """
        group = self.share_groups.find(group_id, is_other=self._is_other(group_id))
        group.check_empty()
        if group.state_topics is None:
            return Outcome({})
        record, partitions = all_deleting(group, self.share_groups.topics)
        return Outcome(partitions, () if record == group.state_topics else (record,))

    def _check_named(self, group_id: str) -> None:
        if not group_id:
            raise Refused(Code.INVALID_GROUP_ID, "The group id is invalid.")

    # ---- requests of the classic protocol

    def join(
        self, request: JoinRequest, *, ticket: int, now: Moment
    ) -> Outcome[JoinReply | Parked]:
        return Outcome(JoinReply("", Code.INCONSISTENT_GROUP_PROTOCOL))

    # ---- offsets

    def check_commit(self, group_id: str, committer: ClaimedMember, *, transactional: bool) -> None:
        self._refuse_offsets(group_id)

    def committed(self, group_id: str, member_id: str, *, now: Moment) -> None:
        """Nothing: a share group commits no offsets."""

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        """Nothing: a share group has no committed offsets to protect."""

    def _had_since(self, group: ShareGroup, member_id: str, epoch: int) -> NoReturn:
        self._refuse_offsets(group.group_id)

    def subscriptions(self, group_id: str) -> Callable[[str], bool]:
        self._refuse_offsets(group_id)

    def _refuse_offsets(self, group_id: str) -> NoReturn:
        raise Refused(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")

    def expiry(
        self, group_id: str, *, now_ms: int, retention_ms: int
    ) -> Callable[[OffsetCommitted], bool]:
        return never_expires

    # ---- deletion

    def removal(self, group_id: str) -> Sequence[ShareRecord]:
        group = self.groups[group_id]
        group.check_empty()
        return group.removal()

    def removal_of_topic(self, name: str) -> Sequence[ShareRecord]:
        return self.share_groups.removal_of_topic(name)
