"""A new target assignment: run the assignor, and write records for the members that it changes."""

from __future__ import annotations

from collections.abc import Mapping

from ..java_order import members_in_order
from .assignor import AssignedMember, Spec, assign_sticky
from .configured import ConfiguredTopology
from .group import StreamsGroup
from .member import NO_TASKS, StreamsMember, TasksTuple
from .records import StreamsRecord, TargetEpoch, TargetMember


def new_target(
    group: StreamsGroup,
    updated: StreamsMember | None,
    configured: ConfiguredTopology,
    *,
    epoch: int,
    standby_replicas: int,
    now_ms: int,
) -> tuple[list[StreamsRecord], dict[str, TasksTuple]]:
    """Run the assignor.

    Args:
        updated: the member after the request; a new one, or one that replaces a static member;
            None if no member has changed.
        configured: members get no tasks while it is not ready.
        epoch: the group's epoch that the target is for.
        now_ms: the wall time.

    Returns:
        The records of the members that get another target and of the epoch, and all targets.
    """
    members, targets = _with_updated(group, updated)
    if configured.is_ready and configured.subtopologies is not None:
        subtopologies = configured.subtopologies
        spec = Spec(
            {member_id: _seen(group, member) for member_id, member in members.items()},
            {each: subtopology.task_count for each, subtopology in subtopologies.items()},
            frozenset(each for each, s in subtopologies.items() if s.state_changelog_topics),
            standby_replicas,
        )
        assigned = assign_sticky(spec)
    else:
        assigned = dict.fromkeys(members, NO_TASKS)
    records: list[StreamsRecord] = [
        TargetMember(group.group_id, member_id, tasks)
        for member_id, tasks in assigned.items()
        if targets.get(member_id) != tasks
    ]
    records.append(TargetEpoch(group.group_id, epoch, now_ms))
    return records, assigned


def _with_updated(
    group: StreamsGroup, updated: StreamsMember | None
) -> tuple[Mapping[str, StreamsMember], Mapping[str, TasksTuple]]:
    """The members, in Kafka's order, and the present targets, as if the member were replayed."""
    members: dict[str, StreamsMember] = dict(group.members)
    targets: Mapping[str, TasksTuple] = group.targets
    new: list[str] = []
    if updated is not None:
        replaced = group.static_member(updated.instance_id)
        if replaced is not None and replaced.member_id != updated.member_id:
            del members[replaced.member_id]
            moved = targets.get(replaced.member_id, NO_TASKS)
            targets = {**targets, updated.member_id: moved}
        members[updated.member_id] = updated
        if updated.member_id not in group.members:
            new.append(updated.member_id)
    ordered = members_in_order(group.members, new)
    return {each: members[each] for each in ordered if each in members}, targets


def _seen(group: StreamsGroup, member: StreamsMember) -> AssignedMember:
    """A member as the assignor sees it."""
    assigned = member.assigned
    return AssignedMember(
        member.process_id,
        {each: partitions.keys() for each, partitions in assigned.active.items()},
        assigned.standby,
        group.offsets_of(member.member_id).offsets,
    )
