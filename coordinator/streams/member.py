"""A member of a streams group (KIP-1071) as a value: metadata, epochs, state, tasks.

The log holds the metadata and the rest in two records: StreamsGroupMemberMetadata and
StreamsGroupCurrentMemberAssignment. A task is a subtopology and a partition of its sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Final, NamedTuple

from ...protocol.lazy_dataclass import dataclass
from ..modern_groups import JOINING_EPOCH, MemberState, Reconciled, ReconciledState

Tasks = Mapping[str, frozenset[int]]
"""Partitions by subtopology id; each subtopology has at least one."""

Task = tuple[str, int]
"""A subtopology id and a partition."""

TasksWithEpochs = Mapping[str, Mapping[int, int]]
"""By subtopology id and partition: the epoch in which the member got the task."""

_NO_TASKS: Final[Mapping[str, frozenset[int]]] = MappingProxyType({})
_NO_EPOCHS: Final[Mapping[str, Mapping[int, int]]] = MappingProxyType({})


class Endpoint(NamedTuple):
    """Where an instance answers interactive queries (`application.server`)."""

    host: str
    port: int


class TasksTuple(NamedTuple):
    """Tasks by their roles (TasksTuple)."""

    active: Tasks = _NO_TASKS
    standby: Tasks = _NO_TASKS
    warmup: Tasks = _NO_TASKS


class TasksTupleWithEpochs(NamedTuple):
    """The tasks that a member has, active ones with their epochs (TasksTupleWithEpochs)."""

    active: TasksWithEpochs = _NO_EPOCHS
    standby: Tasks = _NO_TASKS
    warmup: Tasks = _NO_TASKS

    @property
    def is_empty(self) -> bool:
        return not (self.active or self.standby or self.warmup)

    @property
    def without_epochs(self) -> TasksTuple:
        active = {each: frozenset(epochs) for each, epochs in self.active.items()}
        return TasksTuple(active, self.standby, self.warmup)


NO_TASKS: Final = TasksTuple()
NOTHING: Final = TasksTupleWithEpochs()


@dataclass(frozen=True, slots=True)
class StreamsMember(Reconciled):
    """A member.

    Attributes:
        previous_member_epoch: the one before; valid while the member may not know the new one.
        rebalance_timeout_ms: how long it may take to give tasks up.
        topology_epoch: of the topology that it runs; -1 for none.
        process_id: of the process that it runs in, with other members maybe.
        client_tags: pairs of key and value, in the order of keys.
        assigned: the tasks that it may run now.
        pending_revocation: the tasks that it has to give up first.
    """

    member_id: str
    member_epoch: int = JOINING_EPOCH
    previous_member_epoch: int = 0
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: tuple[tuple[str, str], ...] = ()
    assigned: TasksTupleWithEpochs = field(default_factory=lambda: NOTHING)
    pending_revocation: TasksTupleWithEpochs = field(default_factory=lambda: NOTHING)

    def with_current(self, current: ReconciledState[TasksTupleWithEpochs]) -> StreamsMember:
        """This metadata with the epochs, state and tasks of another value or record."""
        return replace(
            self,
            member_epoch=current.member_epoch,
            previous_member_epoch=current.previous_member_epoch,
            state=current.state,
            assigned=current.assigned,
            pending_revocation=current.pending_revocation,
        )


class TaskOffsets(NamedTuple):
    """The offsets of a member's tasks, by subtopology id and partition (MemberTaskOffsets).

    Attributes:
        offsets: how far the state of each task is restored.
        end_offsets: where its changelogs end.
    """

    offsets: Mapping[str, Mapping[int, int]] = _NO_EPOCHS
    end_offsets: Mapping[str, Mapping[int, int]] = _NO_EPOCHS


NO_OFFSETS: Final = TaskOffsets()


def grouped(tasks: Iterable[Task]) -> Tasks:
    """Tasks by their subtopologies, in order."""
    found: dict[str, set[int]] = {}
    for subtopology_id, partition in sorted(tasks):
        found.setdefault(subtopology_id, set()).add(partition)
    return {each: frozenset(partitions) for each, partitions in found.items()}
