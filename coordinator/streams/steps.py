"""The steps of a heartbeat in a streams group, and the timers of its members.

Follows Kafka's GroupMetadataManager. A step adds records to a turn and returns the state that they
lead to; the group itself changes by their replay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ...protocol.errors import Code, Refused
from ..consumer.topics import Topics, metadata_hash
from ..deadlines import Deadlines, Timer, TimerKey
from ..group_kinds import STREAMS
from ..modern_groups import JOINING_EPOCH, MemberState, ModernTurn, check_room, fenced
from ..moment import Moment
from .configured import ConfiguredTopology, GroupStatus, Status, configure
from .group import StreamsGroup
from .member import (
    NO_TASKS,
    StreamsMember,
    TasksTuple,
)
from .reconcile import reconciled
from .records import (
    NO_TOPOLOGY_EPOCH,
    GroupTopology,
    Kind,
    StreamsRemoved,
    TargetMember,
    current,
    metadata,
)
from .requests import HeartbeatRequest, StreamsGroupSettings, standby_replicas
from .target import new_target
from .topology import Topology

_DELAYED_AT_FIRST: Final = GroupStatus(
    Status.ASSIGNMENT_DELAYED,
    "Assignment delayed due to the configured initial rebalance delay.",
)
_DELAYED: Final = GroupStatus(
    Status.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured assignment interval."
)


class StreamsTurn(ModernTurn):
    """A decision in progress.

    Attributes:
        statuses: for the answer.
    """

    __slots__ = ("statuses",)
    kind_name = STREAMS

    def __init__(self, now: Moment) -> None:
        super().__init__(now)
        self.statuses: list[GroupStatus] = []

    def raise_epoch(
        self,
        group: StreamsGroup,
        *,
        metadata_hash: int,
        validated_topology_epoch: int,
        assignment_configs: tuple[tuple[str, str], ...],
    ) -> int:
        """Begin a rebalance; its epoch."""
        record = replace(
            group.epoch_record,
            epoch=group.epoch + 1,
            metadata_hash=metadata_hash,
            validated_topology_epoch=validated_topology_epoch,
            assignment_configs=assignment_configs,
        )
        self.records.append(record)
        self.rebalances(group, record.epoch)
        return record.epoch


class Steps:
    """The steps, with the topics, settings and timers that they use."""

    def __init__(
        self,
        topics: Topics,
        settings_of: Callable[[str], StreamsGroupSettings],
        deadlines: Deadlines[TimerKey],
    ) -> None:
        self.topics = topics
        self.settings_of = settings_of
        self.deadlines = deadlines

    # ---- the member

    def check_room(self, group: StreamsGroup, request: HeartbeatRequest) -> None:
        """Raises Refused(GROUP_MAX_SIZE_REACHED)."""
        if request.member_id in group.members or group.static_member(request.instance_id):
            return
        check_room(STREAMS, group, self.settings_of(group.group_id).max_size)

    def replace_static(
        self, group: StreamsGroup, old: StreamsMember, member_id: str, turn: StreamsTurn
    ) -> StreamsMember:
        """Replace a static member by a new one of the same instance, with its tasks."""
        new = replace(old, member_id=member_id, member_epoch=JOINING_EPOCH, previous_member_epoch=0)
        if member_id != old.member_id:  # else the tombstones would end the session that begins now
            turn.records += removal(group, old.member_id)
            turn.removed(group, old, f"a new member has its group.instance.id, {old.instance_id}")
        turn.records += [
            metadata(group.group_id, new),
            TargetMember(group.group_id, member_id, group.targets.get(old.member_id, NO_TASKS)),
            current(group.group_id, new),
        ]
        return new

    def note_metadata(
        self, group: StreamsGroup, old: StreamsMember, new: StreamsMember, turn: StreamsTurn
    ) -> bool:
        """Log the member's metadata if it has changed; whether the group needs a new target.

        A static member that comes back with another address needs none.
        """
        if new is old or new == old:
            return False
        turn.records.append(metadata(group.group_id, new))
        if new.instance_id is None:
            return True
        return (old.topology_epoch, old.rack_id, old.client_tags, old.process_id) != (
            new.topology_epoch,
            new.rack_id,
            new.client_tags,
            new.process_id,
        )

    # ---- the topology

    def topology_for(
        self, group: StreamsGroup, request: HeartbeatRequest, turn: StreamsTurn
    ) -> Topology:
        """The group's topology; the first member that joins brings it.

        Raises:
            Refused: INVALID_REQUEST: the member has another one.
        """
        sent, known = request.topology, group.topology
        if sent is not None:
            sent.check()
            if known is None:
                turn.records.append(GroupTopology(group.group_id, sent, request.topology_value))
                return sent
            if known.epoch <= sent.epoch and known != sent:
                why = "Topology updates are not supported yet."
                raise Refused(Code.INVALID_REQUEST, why)
        if known is None:  # the log has lost the record of the topology
            raise Refused(Code.UNKNOWN_SERVER_ERROR)
        return known

    def configure(self, group: StreamsGroup, topology: Topology) -> ConfiguredTopology:
        """The topology with its topics as they are now.

        Raises:
            Refused: see `configured.configure`.
        """
        known = group.configured
        if known is not None and known.topology is not topology:
            known = None
        checked = group.checked
        is_stale = checked is None or checked[0] != self.topics.version or group.epoch < checked[1]
        if known is not None and not is_stale and known.metadata_hash == group.metadata_hash:
            return known
        hashed = metadata_hash(topology.required_topics, self.topics)
        if known is None or known.metadata_hash != hashed:
            group.configured = known = configure(topology, hashed, self.topics)
        return known

    def remember_check(self, group: StreamsGroup, epoch: int) -> None:
        """Note that the group of this epoch knows the topics as they are now."""
        group.checked = (self.topics.version, epoch)

    # ---- its assignment

    def advance(
        self,
        group: StreamsGroup,
        updated: StreamsMember,
        known: ConfiguredTopology,
        turn: StreamsTurn,
        *,
        bump: bool,
    ) -> tuple[int, TasksTuple]:
        """Raise the group's epoch if needed, and make a target for it if it is time.

        Args:
            updated: the member after the request.
            known: the topology with its topics.
            bump: whether the member has changed.

        Returns:
            The epoch of the target, and the member's part of it.
        """
        settings = self.settings_of(group.group_id)
        before, configs = group.epoch_record, settings.assignment_configs
        validated = known.topology.epoch if known.is_ready else NO_TOPOLOGY_EPOCH
        epoch = before.epoch
        if (
            bump
            or known.metadata_hash != before.metadata_hash
            or validated != before.validated_topology_epoch
            or configs != before.assignment_configs
        ):
            epoch = turn.raise_epoch(
                group,
                metadata_hash=known.metadata_hash,
                validated_topology_epoch=validated,
                assignment_configs=configs,
            )
        self.remember_check(group, epoch)
        initial = TimerKey(Timer.INITIAL, group.group_id)
        delay_ms = settings.initial_rebalance_delay_ms
        if not group.members and delay_ms > 0 and not self.deadlines.is_set(initial):
            self.deadlines.set(initial, turn.now_ms + delay_ms)
        if self.deadlines.is_set(initial):
            turn.statuses.append(_DELAYED_AT_FIRST)
            return group.target_epoch, NO_TASKS
        if group.target_epoch >= epoch:
            return group.target_epoch, group.target_of(updated)
        if not _is_time(group.target_record.timestamp_ms, settings, turn.now.wall_ms):
            turn.statuses.append(_DELAYED)
            return group.target_epoch, group.target_of(updated)
        records, targets = new_target(
            group, updated, known,
            epoch=epoch, standby_replicas=settings.num_standby_replicas, now_ms=turn.now.wall_ms,
        )  # fmt: skip
        turn.records += records
        return epoch, targets.get(updated.member_id, NO_TASKS)

    def end_initial_delay(self, group: StreamsGroup, turn: StreamsTurn) -> None:
        """Make the first target of a group that was empty, from all who have joined meanwhile.

        If the topics are not known, the next heartbeat makes it.
        """
        known = group.configured
        if not group.members or group.epoch <= group.target_epoch or known is None:
            return
        records, _ = new_target(
            group, None, known,
            epoch=group.epoch,
            standby_replicas=standby_replicas(group.epoch_record.assignment_configs),
            now_ms=turn.now.wall_ms,
        )  # fmt: skip
        turn.records += records

    def reconcile(
        self,
        group: StreamsGroup,
        member: StreamsMember,
        target: tuple[int, TasksTuple],
        owned: TasksTuple | None,
        turn: StreamsTurn,
    ) -> StreamsMember:
        """Take a member one step towards its target; the member after the step.

        Args:
            target: the epoch of the target, and the member's part of it.
            owned: the tasks that the member reports; None if it reports none.

        Raises:
            Refused: FENCED_MEMBER_EPOCH; see `reconciled`.
        """
        target_epoch, tasks = target
        if member.is_reconciled_to(target_epoch):
            return member
        updated = reconciled(member, tasks, target_epoch, owned=owned, holders=group.holders)
        if updated == member:
            return member
        turn.records.append(current(group.group_id, updated))
        key = TimerKey(Timer.REBALANCE, group.group_id, member.member_id)
        if updated.state is MemberState.UNREVOKED:
            self.deadlines.set(key, turn.now_ms + updated.rebalance_timeout_ms)
        else:
            self.deadlines.cancel(key)
        return updated


def _is_time(assigned_ms: int, settings: StreamsGroupSettings, now_ms: int) -> bool:
    """Whether the interval since the last assignment has passed.

    It has also passed if the wall clock was set back behind the last assignment.
    """
    age_ms = now_ms - assigned_ms
    return assigned_ms == 0 or age_ms < 0 or age_ms >= settings.assignment_interval_ms


def removal(group: StreamsGroup, member_id: str) -> list[StreamsRemoved]:
    """Tombstones for a member, in the order that Kafka's replay requires."""
    return [
        StreamsRemoved(kind, group.group_id, member_id)
        for kind in (Kind.CURRENT_MEMBER, Kind.TARGET_MEMBER, Kind.MEMBER)
    ]


def check_epoch(member: StreamsMember, epoch: int, owned: TasksTuple | None) -> None:
    """Check that a heartbeat is of the member's epoch.

    The previous epoch is valid too while the member owns no more than its assignment: the answer
    with the new epoch may be lost.

    Raises:
        Refused: FENCED_MEMBER_EPOCH.
    """
    if epoch == member.member_epoch:
        return
    if (
        epoch < member.member_epoch
        and epoch == member.previous_member_epoch
        and owned is not None
        and _is_within(owned, member.assigned.without_epochs)
    ):
        return
    raise fenced(STREAMS, epoch, member.member_epoch)


def _is_within(owned: TasksTuple, assigned: TasksTuple) -> bool:
    return all(
        subtopology_id in mine and partitions <= mine[subtopology_id]
        for theirs, mine in zip(owned, assigned, strict=True)
        for subtopology_id, partitions in theirs.items()
    )
