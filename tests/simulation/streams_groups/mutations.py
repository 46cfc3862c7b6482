"""Bugs to plant in the coordinator of streams groups, each of which the simulation must find."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from ottla.coordinator.modern_groups import ModernGroups
from ottla.coordinator.streams import configured, reconcile
from ottla.coordinator.streams.assignor import _Assignment
from ottla.coordinator.streams.group import StreamsGroup
from ottla.coordinator.streams.groups import StreamsGroups
from ottla.coordinator.streams.holders import Holders
from ottla.coordinator.streams.member import NOTHING, StreamsMember
from ottla.coordinator.streams.reconcile import _Step
from ottla.coordinator.streams.records import Kind, StreamsRemoved, TargetMember
from ottla.coordinator.streams.requests import StreamsGroupSettings
from ottla.coordinator.streams.steps import Steps, StreamsTurn

from ..planting import Patch, Plants

MUTATIONS: Final = Plants()
_bug = MUTATIONS.bug


@_bug(within=50)
def _an_active_task_is_given_before_its_owner_gave_it_up() -> list[Patch]:
    return [(_Step, "_is_active_held", lambda self, task: False)]


@_bug(within=50)
def _a_member_is_not_asked_whether_it_gave_its_tasks_up() -> list[Patch]:
    return [(reconcile, "_has_any", lambda owned, revoked: False)]


@_bug(within=50)
def _tasks_to_give_up_have_no_holder() -> list[Patch]:
    right = Holders.add

    def add(self: Holders, member: StreamsMember) -> None:
        right(self, replace(member, pending_revocation=NOTHING))

    return [(Holders, "add", add)]


@_bug(within=50)
def _a_standby_shares_the_process_of_its_active_task() -> list[Patch]:
    def give(self: _Assignment, task: Any, queue: Any) -> bool:
        process = queue.take()
        self._add_standby(task, *process.add_to_least_busy(task))
        queue.add(process)
        return True

    return [(_Assignment, "_give_standby", give)]


@_bug(within=50)
def _sessions_never_expire() -> list[Patch]:
    return [(StreamsGroups, "_expired", lambda self, group, key, turn: None)]


@_bug(within=50)
def _sessions_do_not_begin_after_a_move() -> list[Patch]:
    return [(ModernGroups, "_begin_sessions", lambda self, group, now_ms: None)]


@_bug(within=50)
def _topics_are_compared_once() -> list[Patch]:
    right = Steps.configure

    def configure(self: Steps, group: StreamsGroup, topology: Any) -> Any:
        return group.configured or right(self, group, topology)

    return [(Steps, "configure", configure)]


@_bug(within=50)
def _a_subtopology_has_one_task() -> list[Patch]:
    return [(configured, "_task_count", lambda subtopology, counts: 1)]


@_bug(within=50)
def _a_change_of_the_standbys_is_not_noticed() -> list[Patch]:
    return [(StreamsGroupSettings, "assignment_configs", property(lambda self: ()))]


@_bug(within=50)
def _the_target_of_a_member_that_left_stays() -> list[Patch]:
    right = StreamsGroup._remove

    def remove(self: StreamsGroup, kind: Kind, name: str) -> None:
        if kind is not Kind.TARGET_MEMBER:
            right(self, kind, name)

    return [(StreamsGroup, "_remove", remove)]


@_bug(within=100)
def _a_deletion_leaves_the_record_of_the_topology() -> list[Patch]:
    right = StreamsGroup.removal

    def removal(self: StreamsGroup) -> Any:
        kept = StreamsRemoved(Kind.TOPOLOGY, self.group_id)
        return [each for each in right(self) if each != kept]

    return [(StreamsGroup, "removal", removal)]


@_bug(within=100)
def _an_instance_that_is_back_has_no_target() -> list[Patch]:
    right = Steps.replace_static

    def replace_static(
        self: Steps, group: StreamsGroup, old: StreamsMember, member_id: str, turn: StreamsTurn
    ) -> StreamsMember:
        new = right(self, group, old, member_id, turn)
        turn.records = [each for each in turn.records if not isinstance(each, TargetMember)]
        return new

    return [(Steps, "replace_static", replace_static)]
