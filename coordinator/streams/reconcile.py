"""The next step of a member towards its target (KIP-1071, CurrentAssignmentBuilder of Kafka).

First the member gives up tasks that are not in its target, and stays in its epoch until it confirms
that. Then it moves to the epoch of the target and gets the free tasks. It gets the others once
their holders have given them up. A task that only changes its role on the same member need not be
given up: a standby that becomes active stays a standby until the task is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from ...protocol.errors import Code, Refused
from ..modern_groups import MemberState
from .holders import Holders
from .member import StreamsMember, Task, TasksTuple, TasksTupleWithEpochs, grouped

_WHY_UNKNOWN: Final = (
    "The streams group member is in a unknown state. The member must abandon all its tasks and "
    "rejoin."
)


def reconciled(
    member: StreamsMember,
    target: TasksTuple,
    target_epoch: int,
    *,
    owned: TasksTuple | None,
    holders: Holders,
) -> StreamsMember:
    """The member after this step; the same one when it has to wait.

    Args:
        owned: the tasks that the member reports; None if it reports none.
        holders: of the tasks of the group.

    Raises:
        Refused: FENCED_MEMBER_EPOCH for a member in a state that is not known here, unless it
            owns nothing.
    """

    def step(epoch: int) -> StreamsMember:
        return _Step(member, target, owned, holders).result(epoch, target_epoch)

    match member.state:
        case MemberState.STABLE:
            return member if member.member_epoch == target_epoch else step(member.member_epoch)
        case MemberState.UNREVOKED:
            if _has_any(owned, _Sets.of(member.pending_revocation)):
                return member
            return step(member.member_epoch + 1)
        case MemberState.UNRELEASED:
            return step(member.member_epoch)
        case _:
            if owned is None or any(owned):
                raise Refused(Code.FENCED_MEMBER_EPOCH, _WHY_UNKNOWN)
            return step(target_epoch)


class _Sets(NamedTuple):
    """Tasks by their roles, as sets."""

    active: set[Task]
    standby: set[Task]
    warmup: set[Task]

    @classmethod
    def of(cls, tasks: TasksTuple | TasksTupleWithEpochs) -> _Sets:
        return cls(_listed(tasks.active), _listed(tasks.standby), _listed(tasks.warmup))


def _listed(tasks: Mapping[str, Iterable[int]]) -> set[Task]:
    return {(each, partition) for each, partitions in tasks.items() for partition in partitions}


def _has_any(owned: TasksTuple | None, revoked: _Sets) -> bool:
    """Whether some of the tasks are still owned; all are if the member reports none."""
    if owned is None:
        return True
    return any(
        not mine.isdisjoint(theirs) for mine, theirs in zip(_Sets.of(owned), revoked, strict=True)
    )


class _Step:
    """One step: what the member keeps, gives up and gets, by role."""

    def __init__(
        self,
        member: StreamsMember,
        target: TasksTuple,
        owned: TasksTuple | None,
        holders: Holders,
    ) -> None:
        self._member = member
        self._owned = owned
        self._holders = holders
        self._had = _Sets.of(member.assigned)
        self._wanted = wanted = _Sets.of(target)
        pairs = tuple(zip(self._had, wanted, strict=True))
        self._kept = _Sets(*(had & new for had, new in pairs))
        self._revoked = _Sets(*(had - new for had, new in pairs))
        self._new = _Sets(*(new - had for had, new in pairs))
        is_held = (self._is_active_held, self._is_standby_held, self._is_warmup_held)
        self._must_wait = False
        for new, held in zip(self._new, is_held, strict=True):
            self._wait_for(new, held)

    def _wait_for(self, new: set[Task], is_held: Callable[[Task], bool]) -> None:
        unreleased = {task for task in new if is_held(task)}
        self._must_wait |= bool(unreleased)
        new -= unreleased

    # ---- what others hold

    def _is_active_held(self, task: Task) -> bool:
        return (
            self._holders.active_process_id(*task) is not None
            or self._another_has_standby(task)
            or self._another_has_warmup(task)
        )

    def _is_standby_held(self, task: Task) -> bool:
        process_id = self._member.process_id
        runs_here = self._holders.active_process_id(*task) == process_id
        return (
            (runs_here and task not in self._had.active)
            or process_id in self._holders.standby_process_ids(*task)
            or self._another_has_warmup(task)
        )

    def _is_warmup_held(self, task: Task) -> bool:
        process_id = self._member.process_id
        return (
            self._holders.active_process_id(*task) == process_id
            or self._another_has_standby(task)
            or process_id in self._holders.warmup_process_ids(*task)
        )

    def _another_has_standby(self, task: Task) -> bool:
        """Whether another member of this process has the task as a standby."""
        here = self._member.process_id in self._holders.standby_process_ids(*task)
        return here and task not in self._had.standby

    def _another_has_warmup(self, task: Task) -> bool:
        here = self._member.process_id in self._holders.warmup_process_ids(*task)
        return here and task not in self._had.warmup

    # ---- tasks that change their role

    def _change_roles(self) -> bool:
        """Move tasks between the roles of this member; whether it has to give tasks up first."""
        had, kept, revoked, new = self._had, self._kept, self._revoked, self._new
        demoted = had.active & new.standby
        new.standby.difference_update(demoted)
        kept.standby.update(demoted)
        for before, gone, coming, got in (
            (had.standby, revoked.standby, new.warmup, kept.warmup),
            (had.warmup, revoked.warmup, new.standby, kept.standby),
        ):
            converted = before & coming
            coming -= converted
            got |= converted
            gone -= converted
        for before, gone in ((had.standby, revoked.standby), (had.warmup, revoked.warmup)):
            gone -= before & self._wanted.active
        must_revoke = any(revoked) and _has_any(self._owned, revoked)
        granted = set() if must_revoke else new.active
        for before, got in ((had.standby, kept.standby), (had.warmup, kept.warmup)):
            got |= (before & self._wanted.active) - granted
        return must_revoke

    def result(self, epoch: int, target_epoch: int) -> StreamsMember:
        """The member after the step.

        Args:
            epoch: of the member while it has to give tasks up.
            target_epoch: of the target, which it reaches otherwise.
        """
        member, kept, new = self._member, self._kept, self._new
        if self._change_roles():
            return replace(
                member,
                state=MemberState.UNREVOKED,
                member_epoch=epoch,
                previous_member_epoch=member.member_epoch,
                assigned=self._with_epochs(kept, target_epoch),
                pending_revocation=self._with_epochs(self._revoked, target_epoch),
            )
        assigned = _Sets(*(old | got for old, got in zip(kept, new, strict=True)))
        return replace(
            member,
            state=MemberState.UNRELEASED if self._must_wait else MemberState.STABLE,
            member_epoch=target_epoch,
            previous_member_epoch=member.member_epoch,
            assigned=self._with_epochs(assigned, target_epoch),
            pending_revocation=TasksTupleWithEpochs(),
        )

    def _with_epochs(self, tasks: _Sets, target_epoch: int) -> TasksTupleWithEpochs:
        """The tasks as a value; an active task that the member had keeps its epoch."""
        before = self._member.assigned.active
        active: dict[str, dict[int, int]] = {}
        for subtopology_id, partition in sorted(tasks.active):
            epoch = before.get(subtopology_id, {}).get(partition, target_epoch)
            active.setdefault(subtopology_id, {})[partition] = epoch
        return TasksTupleWithEpochs(active, grouped(tasks.standby), grouped(tasks.warmup))
