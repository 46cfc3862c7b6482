"""What a heartbeat of a streams group reports, and the statuses that it gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...protocol.errors import Code, Refused
from .configured import ConfiguredTopology, GroupStatus, Status
from .group import StreamsGroup
from .member import StreamsMember, TaskOffsets, TasksTuple
from .requests import HeartbeatRequest, StreamsGroupSettings


def stale_topology(group: StreamsGroup, member: StreamsMember) -> Iterator[GroupStatus]:
    """The status of a member that runs an older topology than the group's."""
    if group.topology is not None and member.topology_epoch < group.topology.epoch:
        detail = (
            f"The member's topology epoch {member.topology_epoch} is behind the group's topology "
            f"epoch {group.topology.epoch}."
        )
        yield GroupStatus(Status.STALE_TOPOLOGY, detail)


def check_tasks(known: ConfiguredTopology, owned: TasksTuple | None) -> None:
    """Raises Refused INVALID_REQUEST: the member owns a task that the topology has not."""
    subtopologies = known.subtopologies or {}
    for tasks in owned or ():
        for subtopology_id, partitions in tasks.items():
            subtopology = subtopologies.get(subtopology_id)
            if subtopology is None:
                why = f"Subtopology {subtopology_id} does not exist in the topology."
                raise Refused(Code.INVALID_REQUEST, why)
            for partition in sorted(partitions):
                if not 0 <= partition < subtopology.task_count:
                    raise Refused(
                        Code.INVALID_REQUEST,
                        f"Task {partition} for subtopology {subtopology_id} is invalid. Number of "
                        f"tasks for this subtopology: {subtopology.task_count}",
                    )


def task_offsets(before: TaskOffsets, request: HeartbeatRequest) -> TaskOffsets | None:
    """The offsets that the member tells, with those of before; None if it tells none."""
    if request.task_offsets is None and request.task_end_offsets is None:
        return None
    offsets, ends = request.task_offsets, request.task_end_offsets
    return TaskOffsets(
        before.offsets if offsets is None else _by_task(offsets),
        before.end_offsets if ends is None else _by_task(ends),
    )


def _by_task(offsets: Iterable[tuple[str, int, int]]) -> Mapping[str, Mapping[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for subtopology_id, partition, offset in offsets:
        by_partition = found.setdefault(subtopology_id, {})
        if partition in by_partition:
            raise Refused(
                Code.INVALID_REQUEST,
                f"Task offsets contain a duplicate entry for subtopology {subtopology_id} and "
                f"partition {partition}.",
            )
        by_partition[partition] = offset
    return found


def statuses(
    group: StreamsGroup,
    member: StreamsMember,
    known: ConfiguredTopology,
    settings: StreamsGroupSettings,
    *,
    knows_tags: bool,
) -> list[GroupStatus]:
    """The statuses that follow those of the epochs."""
    found = [] if known.problem is None else [known.problem]
    if group.shutdown_member_id is not None:
        found.append(
            GroupStatus(
                Status.SHUTDOWN_APPLICATION,
                f"Streams group member {group.shutdown_member_id} encountered a fatal error and "
                "requested a shutdown for the entire application.",
            )
        )
    tags = dict(member.client_tags)
    lacking = [tag for tag in settings.rack_aware_assignment_tags if tag not in tags]
    if lacking and knows_tags:
        found.append(
            GroupStatus(
                Status.MISSING_CLIENT_TAGS,
                "Missing required client tags for rack-aware standby assignment: "
                f"[{', '.join(lacking)}]. Configure them via 'client.tag.<tagKey>' in your "
                "Streams config.",
            )
        )
    return found
