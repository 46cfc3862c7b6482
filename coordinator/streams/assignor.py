"""The assignor of streams groups: tasks stay where they are, and each member gets as many.

Follows Kafka's StickyTaskAssignor, with the order of its hash tables, so that a group that moves
between Kafka and Ottla keeps its assignment. An active task goes to the member that has it, else to
one that has its state, else to the least loaded process. A standby never shares a process with its
active task.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from ...protocol.lazy_dataclass import dataclass
from ..java_order import LeastFirst, computed_keys_in_order, names_in_order
from .member import Task, Tasks, TasksTuple, grouped


class AssignedMember(NamedTuple):
    """A member as the assignor sees it.

    Attributes:
        active, standby: the tasks that it has.
        offsets: how far the state of its tasks is restored, by subtopology id and partition.
    """

    process_id: str
    active: Mapping[str, Collection[int]]
    standby: Tasks
    offsets: Mapping[str, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class Spec:
    """The input of the assignor (GroupSpec, TopologyDescriber).

    Attributes:
        members: by id, in Kafka's order.
        task_counts: the number of tasks of each subtopology, in the order of ids.
        stateful: the ids of subtopologies with changelogs.
        standby_replicas: the number of standbys of each task with state.
    """

    members: Mapping[str, AssignedMember]
    task_counts: Mapping[str, int]
    stateful: frozenset[str] = frozenset()
    standby_replicas: int = 0


def assign_sticky(spec: Spec) -> dict[str, TasksTuple]:
    """The tasks of each member, by member id; warm-up tasks are never given."""
    return _Assignment(spec).made()


@dataclass()
class _MemberLoad:
    """A member in the queue of its process, with its number of tasks."""

    member_id: str
    count: int


class _Process:
    """A process with its members and the tasks that they have got so far (ProcessState)."""

    def __init__(self, process_id: str) -> None:
        self.process_id = process_id
        self.counts: dict[str, int] = {}  # of tasks, by member id
        self.tasks: set[Task] = set()
        self._task_count = 0
        self._by_load: LeastFirst[_MemberLoad] | None = None

    @property
    def load(self) -> float:
        """The number of tasks for each member."""
        return self._task_count / len(self.counts)

    def add(self, member_id: str, task: Task) -> int:
        """Give a task to a member; the number of tasks that it has then."""
        self._by_load = None
        return self._add(member_id, task)

    def _add(self, member_id: str, task: Task) -> int:
        self._task_count += 1
        self.tasks.add(task)
        self.counts[member_id] += 1
        return self.counts[member_id]

    def add_to_least_busy(self, task: Task) -> tuple[str, int]:
        """Give a task to the member with the fewest; its id and number of tasks."""
        if len(self.counts) == 1:
            member_id = next(iter(self.counts))
            return member_id, self._add(member_id, task)
        if self._by_load is None:
            ordered = names_in_order(self.counts)
            loads = [_MemberLoad(each, self.counts[each]) for each in ordered]
            self._by_load = LeastFirst(_count, loads)
        least = self._by_load.take()
        least.count = self._add(least.member_id, task)
        self._by_load.add(least)
        return least.member_id, least.count


def _count(member: _MemberLoad) -> float:
    return member.count


def _load(process: _Process) -> float:
    return process.load


@dataclass()
class _Quota:
    """How many tasks a member may get; it is less for the others once some have more.

    Attributes:
        tasks: those left for the members that have not reached the quota.
        members: the number of these members.
    """

    tasks: int
    members: int
    per_member: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._divide()

    def _divide(self) -> None:
        self.per_member = -(-self.tasks // self.members) if self.members > 0 else 0

    def note(self, count: int) -> None:
        """A member has this number of tasks now."""
        if count == self.per_member:
            self.members -= 1
            self.tasks -= count
            self._divide()


class _Assignment:
    """An assignment in progress."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._members = spec.members
        active = sum(spec.task_counts.values())
        standbys = spec.standby_replicas * sum(
            count for each, count in spec.task_counts.items() if each in spec.stateful
        )
        self._active_quota = _Quota(active, len(spec.members))
        self._quota = _Quota(active + standbys, len(spec.members))
        processes: dict[str, _Process] = {}
        for member_id, member in spec.members.items():
            process = processes.get(member.process_id)
            if process is None:
                process = processes[member.process_id] = _Process(member.process_id)
            process.counts[member_id] = 0
        ordered = computed_keys_in_order(processes, len(spec.members))
        self._processes = {each: processes[each] for each in ordered}
        self._ran: dict[Task, str] = {}  # the member that runs a task now
        for member_id, member in spec.members.items():
            for subtopology_id, partitions in member.active.items():
                self._ran |= {(subtopology_id, each): member_id for each in partitions}
        self._had_state = _with_state(spec.members)
        self._active: dict[str, list[Task]] = {each: [] for each in spec.members}
        self._standby: dict[str, list[Task]] = {each: [] for each in spec.members}

    def made(self) -> dict[str, TasksTuple]:
        self._assign_active()
        if self._spec.standby_replicas > 0:
            self._assign_standby()
        return {
            member_id: TasksTuple(
                grouped(self._active[member_id]), grouped(self._standby[member_id])
            )
            for member_id in self._members
        }

    def _tasks(self, subtopology_ids: Iterable[str]) -> list[Task]:
        return [
            (each, partition)
            for each in subtopology_ids
            for partition in range(self._spec.task_counts[each])
        ]

    def _process_of(self, member_id: str) -> _Process:
        return self._processes[self._members[member_id].process_id]

    def _has_room(self, member_id: str, quota: _Quota) -> bool:
        return self._process_of(member_id).counts[member_id] < quota.per_member

    # ---- active tasks

    def _assign_active(self) -> None:
        left = sorted(self._tasks(self._spec.task_counts), key=_by_partition)
        left = [task for task in left if not self._keep_active(task, self._ran.get(task))]
        left = [
            task
            for task in left
            if not self._keep_active(task, self._least_loaded(self._had_state.get(task, ())))
        ]
        queue = LeastFirst(_load, self._processes.values())
        for task in sorted(left):
            process = queue.take()
            member_id, count = process.add_to_least_busy(task)
            self._active[member_id].append(task)
            self._active_quota.note(count)
            self._quota.note(count)
            queue.add(process)

    def _keep_active(self, task: Task, member_id: str | None) -> bool:
        """Give an active task to a member that has or had it, if it may get more."""
        if member_id is None or not self._has_room(member_id, self._active_quota):
            return False
        count = self._process_of(member_id).add(member_id, task)
        self._active[member_id].append(task)
        self._active_quota.note(count)
        self._quota.note(count)
        return True

    def _least_loaded(self, member_ids: Sequence[str], without: Task | None = None) -> str | None:
        """The first of the members, or a later one that is less loaded, as is its process.

        Args:
            without: leaves out the processes with this task.
        """
        best: str | None = None
        best_load = best_count = 0.0
        for member_id in member_ids:
            process = self._process_of(member_id)
            if without is not None and without in process.tasks:
                continue
            count = process.counts[member_id]
            if best is None or (process.load < best_load and count < best_count):
                best, best_load, best_count = member_id, process.load, count
        return best

    # ---- standbys

    def _assign_standby(self) -> None:
        replicas = self._spec.standby_replicas
        stateful = [each for each in self._spec.task_counts if each in self._spec.stateful]
        open_places: list[tuple[Task, int]] = []
        for task in sorted(self._tasks(stateful), key=_by_partition, reverse=True):
            for done in range(replicas):
                member_id = self._previous_for_standby(task)
                if member_id is None:
                    open_places.append((task, replicas - done))
                    break
                self._add_standby(task, member_id, self._process_of(member_id).add(member_id, task))
        queue = LeastFirst(_load, self._processes.values())
        for task, count in sorted(open_places, reverse=True):
            for _ in range(count):
                if not self._give_standby(task, queue):
                    break  # each process has it

    def _previous_for_standby(self, task: Task) -> str | None:
        """A member that has the task's state, whose process has not the task, and with room."""
        ran = self._ran.get(task)
        if (
            ran is not None
            and task not in self._process_of(ran).tasks
            and self._has_room(ran, self._quota)
        ):
            return ran
        found = self._least_loaded(self._had_state.get(task, ()), without=task)
        return found if found is not None and self._has_room(found, self._quota) else None

    def _add_standby(self, task: Task, member_id: str, count: int) -> None:
        self._standby[member_id].append(task)
        self._quota.note(count)

    def _give_standby(self, task: Task, queue: LeastFirst[_Process]) -> bool:
        """Give a standby to the least loaded process that has not the task; whether there is one.

        The processes passed over return to the queue the last one first, as in Kafka.
        """
        passed: list[_Process] = []
        found = False
        while len(queue) and not found:
            process = queue.take()
            passed.append(process)
            if task not in process.tasks:
                self._add_standby(task, *process.add_to_least_busy(task))
                found = True
        for process in reversed(passed):
            queue.add(process)
        return found


def _by_partition(task: Task) -> tuple[int, str]:
    return task[1], task[0]


def _with_state(members: Mapping[str, AssignedMember]) -> dict[Task, list[str]]:
    """The members with the state of each task: those with a standby first, then by offset."""
    candidates: dict[Task, list[tuple[bool, int, str]]] = {}
    for member_id, member in members.items():
        standbys = [(s, p) for s, partitions in member.standby.items() for p in partitions]
        for subtopology_id, partition in standbys:
            offset = member.offsets.get(subtopology_id, {}).get(partition, 0)
            candidate = (False, -offset, member_id)
            candidates.setdefault((subtopology_id, partition), []).append(candidate)
        for subtopology_id, offsets in member.offsets.items():
            for partition, offset in offsets.items():
                if partition not in member.standby.get(subtopology_id, ()):
                    candidate = (True, -offset, member_id)
                    candidates.setdefault((subtopology_id, partition), []).append(candidate)
    return {
        task: [member_id for _, _, member_id in sorted(each, key=lambda candidate: candidate[:2])]
        for task, each in candidates.items()
    }
