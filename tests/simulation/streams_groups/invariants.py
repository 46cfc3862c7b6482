"""What holds at any time in a run, and what holds once a group is quiet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ottla.coordinator.consumer.topics import Topics, metadata_hash
from ottla.coordinator.modern_groups import STATIC_LEAVING_EPOCH
from ottla.coordinator.streams.group import State, StreamsGroup
from ottla.coordinator.streams.member import StreamsMember, TasksTuple
from ottla.coordinator.streams.topology import Topology

from .members import Member

Task = tuple[str, int]


def tasks_in(tasks: Mapping[str, Iterable[int]]) -> list[Task]:
    return [(each, index) for each, partitions in tasks.items() for index in partitions]


def check_owners(group: StreamsGroup, clients: Sequence[Member]) -> None:
    """No two members have an active task: for the coordinator, and in fact.

    A member that was removed may not know that; its tasks are fenced, and do not count.
    """
    known, used = Counter[Task](), Counter[Task]()
    for member in group.members.values():
        both = {*tasks_in(member.assigned.active), *tasks_in(member.pending_revocation.active)}
        known.update(both)
    for client in clients:
        if client.group_id == group.group_id and client.name in group.members:
            used.update(tasks_in(client.owned.active))
    for whose, counts in (("coordinator", known), ("members", used)):
        twice = [task for task, count in counts.items() if count > 1]
        assert not twice, f"tasks {twice} have two owners, says the {whose}"


def check_processes(group: StreamsGroup) -> None:
    """No process has a task twice, as active one or as a standby."""
    assigned = {each: member.assigned.without_epochs for each, member in group.members.items()}
    for what, tasks in (("assignment", assigned), ("target", group.targets)):
        found: Counter[tuple[str, Task]] = Counter()
        for member_id, roles in tasks.items():
            member = group.members.get(member_id)
            if member is not None:
                found.update((member.process_id, task) for task in _all_roles(roles))
        twice = [each for each, count in found.items() if count > 1]
        assert not twice, f"a process has {twice} twice in its {what}"


def _all_roles(roles: TasksTuple) -> list[Task]:
    return [task for role in roles for task in tasks_in(role)]


def check_member(group: StreamsGroup, member: StreamsMember) -> None:
    """A member is not ahead of its group, and has its tasks since some epoch before."""
    if member.member_epoch != STATIC_LEAVING_EPOCH:
        assert member.previous_member_epoch <= member.member_epoch, f"{member} goes back"
    assert member.member_epoch <= group.epoch, f"{member} is ahead of its group"
    for epochs in member.assigned.active.values():
        assert all(0 <= each <= group.epoch for each in epochs.values()), member


class Epochs:
    """The epochs of groups, which never go back."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, int]] = {}

    def check(self, group: StreamsGroup) -> bool:
        """Whether the epochs are others than before."""
        epoch, target_epoch = self._last.get(group.group_id, (0, 0))
        now = group.epoch, group.target_epoch
        assert now[0] >= epoch, f"the epoch goes back from {epoch} to {now[0]}"
        assert now[1] >= target_epoch, f"the target goes back from {target_epoch} to {now[1]}"
        assert now[1] <= now[0], f"a target of epoch {now[1]} before its epoch, {now[0]}"
        self._last[group.group_id] = now
        return now != (epoch, target_epoch)

    def forget(self, group_id: str) -> None:
        """The group is deleted; the next one begins again."""
        self._last.pop(group_id, None)


def unrest(group: StreamsGroup, clients: Sequence[Member], topics: Topics, standbys: int) -> str:
    """Why a group has not converged; empty if it has.

    Args:
        clients: its members that are alive.
        standbys: the wanted number for each task with state.
    """
    if {each.name for each in clients} != group.members.keys():
        return f"{group.group_id} has the members {list(group.members)}"
    if group.state is not State.STABLE:
        return f"{group.group_id} is {group.state.value}"
    assert group.topology is not None
    if group.metadata_hash != metadata_hash(group.topology.required_topics, topics):
        return f"{group.group_id} has not noticed that its topics have changed"
    for client in clients:
        known = group.members[client.name]
        if client.epoch != group.epoch or client.owned != known.assigned.without_epochs:
            return f"{client.name} has {client.owned} in epoch {client.epoch}, not {known}"
        if group.targets.get(client.name) != client.owned:
            return f"{client.name} has {client.owned} and not its target"
    return next(filter(None, _unassigned(group.topology, clients, topics, standbys)), "")


def _unassigned(
    topology: Topology, clients: Sequence[Member], topics: Topics, standbys: int
) -> Iterator[str]:
    """Which tasks have no owner or too few standbys, and which internal topics do not fit."""
    active = Counter(task for each in clients for task in tasks_in(each.owned.active))
    standby = Counter(task for each in clients for task in tasks_in(each.owned.standby))
    processes = len({each.process_id for each in clients})

    def count_of(name: str) -> int:
        topic = topics.by_name(name)
        return 0 if topic is None else topic.partition_count

    for subtopology in topology.subtopologies:
        shuffled = [topic.name for topic in subtopology.repartition_source_topics]
        tasks = max(map(count_of, (*subtopology.source_topics, *shuffled)))
        changelogs = [topic.name for topic in subtopology.state_changelog_topics]
        for name in (*changelogs, *subtopology.repartition_sink_topics):
            if count_of(name) != tasks:
                yield f"{name} has {count_of(name)} partitions for {tasks} tasks"
        wanted = min(standbys, processes - 1) if changelogs else 0
        for index in range(tasks):
            task = subtopology.subtopology_id, index
            if active[task] != 1:
                yield f"task {task} has {active[task]} owners"
            if standby[task] != wanted:
                yield f"task {task} has {standby[task]} standbys, and not {wanted}"
