"""Which processes hold a task of a streams group, by the role of the task.

A task is active in one process at most. Each process has one directory for the state of a task, so
no two members of a process may have the same task at a time.
"""

from __future__ import annotations

from collections.abc import Iterable

from .member import StreamsMember, Tasks, TasksTupleWithEpochs

_NONE: frozenset[str] = frozenset()

Holding = dict[str, dict[int, set[str]]]


class Holders:
    """The ids of processes that hold tasks: those assigned to members or still to be given up."""

    def __init__(self) -> None:
        self._active: dict[str, dict[int, str]] = {}
        self._standby: Holding = {}
        self._warmup: Holding = {}

    def active_process_id(self, subtopology_id: str, partition: int) -> str | None:
        """The process that runs a task; None if none does."""
        return self._active.get(subtopology_id, {}).get(partition)

    def standby_process_ids(self, subtopology_id: str, partition: int) -> Iterable[str]:
        """The processes with a standby of a task."""
        return self._standby.get(subtopology_id, {}).get(partition, _NONE)

    def warmup_process_ids(self, subtopology_id: str, partition: int) -> Iterable[str]:
        """The processes with a warm-up of a task."""
        return self._warmup.get(subtopology_id, {}).get(partition, _NONE)

    def add(self, member: StreamsMember) -> None:
        """Add the tasks of a member."""
        for tasks in (member.assigned, member.pending_revocation):
            for subtopology_id, partitions in tasks.active.items():
                held = self._active.setdefault(subtopology_id, {})
                held.update(dict.fromkeys(partitions, member.process_id))
            _add(self._standby, tasks.standby, member.process_id)
            _add(self._warmup, tasks.warmup, member.process_id)

    def remove(self, member: StreamsMember) -> None:
        """Remove the tasks of a member, except those that another process has got meanwhile."""
        for tasks in (member.assigned, member.pending_revocation):
            self._remove_active(tasks, member.process_id)
            _remove(self._standby, tasks.standby, member.process_id)
            _remove(self._warmup, tasks.warmup, member.process_id)

    def _remove_active(self, tasks: TasksTupleWithEpochs, process_id: str) -> None:
        for subtopology_id, partitions in tasks.active.items():
            held = self._active.get(subtopology_id)
            if held is None:
                continue
            for partition in partitions:
                if held.get(partition) == process_id:
                    del held[partition]
            if not held:
                del self._active[subtopology_id]


def _add(holding: Holding, tasks: Tasks, process_id: str) -> None:
    for subtopology_id, partitions in tasks.items():
        held = holding.setdefault(subtopology_id, {})
        for partition in partitions:
            held.setdefault(partition, set()).add(process_id)


def _remove(holding: Holding, tasks: Tasks, process_id: str) -> None:
    for subtopology_id, partitions in tasks.items():
        held = holding.get(subtopology_id)
        if held is None:
            continue
        for partition in partitions:
            process_ids = held.get(partition)
            if process_ids is not None:
                process_ids.discard(process_id)
                if not process_ids:
                    del held[partition]
        if not held:
            del holding[subtopology_id]
