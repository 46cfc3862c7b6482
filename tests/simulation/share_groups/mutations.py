"""Bugs to plant in the coordinator of share groups, each of which the simulation must find."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from ottla.coordinator.modern_groups import ModernGroups
from ottla.coordinator.share import groups as share_groups
from ottla.coordinator.share import state_topics
from ottla.coordinator.share import steps as share_steps
from ottla.coordinator.share.assignor import _Balance
from ottla.coordinator.share.group import ShareGroup
from ottla.coordinator.share.kind import ShareKind
from ottla.coordinator.share.member import ShareMember
from ottla.coordinator.share.steps import ShareSteps

from ..planting import Patch, Plants

MUTATIONS: Final = Plants()
_bug = MUTATIONS.bug


def _nothing(*arguments: Any, **named: Any) -> None:
    """Do nothing."""


@_bug(within=50)
def _initialized_state_does_not_raise_the_epoch() -> list[Patch]:
    return [(ShareSteps, "has_unassigned", lambda *_: False)]


@_bug(within=50)
def _partitions_without_state_are_assigned() -> list[Patch]:
    def assignable(self: ShareSteps, group: ShareGroup, topic_id: Any) -> list[int]:
        topic = self.topics.by_id(topic_id)
        return [] if topic is None else list(range(topic.partition_count))

    return [(ShareSteps, "_assignable", assignable)]


@_bug(within=50)
def _sessions_never_expire() -> list[Patch]:
    return [(ModernGroups, "tick", lambda self, now: iter(()))]


@_bug(within=50)
def _a_member_keeps_topics_that_it_gave_up() -> list[Patch]:
    right = ShareMember.reconciled

    def reconciled(self: ShareMember, epoch: int, target: Any, **_: Any) -> ShareMember:
        mine = right(self, epoch, target, is_subscribed_to=lambda topic_id: True)
        return replace(mine, assigned={**self.assigned, **mine.assigned})

    return [(ShareMember, "reconciled", reconciled)]


@_bug(within=50)
def _nobody_gives_partitions_up() -> list[Patch]:
    return [
        (_Balance, "take_from_overfull", _nothing),
        (_Balance, "take_from_oversharing", _nothing),
    ]


@_bug(within=100)
def _a_failed_initialization_is_forgotten() -> list[Patch]:
    right = state_topics.missing_state

    def missing(group: ShareGroup, names: Any, topics: Any, **_: Any) -> Any:
        return right(group, names, topics, recent=group.initializing)

    return [(share_steps, "missing_state", missing)]


@_bug(within=50)
def _a_deletion_leaves_the_record_of_the_state() -> list[Patch]:
    right = ShareGroup.removal

    def removal(self: ShareGroup) -> Any:
        return [each for each in right(self) if each.kind != 11]

    return [(ShareGroup, "removal", removal)]


@_bug(within=100)
def _topics_are_compared_once() -> list[Patch]:
    right = ShareSteps.refresh_epoch

    def refresh(self: ShareSteps, group: ShareGroup, *more: Any, has_changed: bool) -> Any:
        return right(self, group, *more, has_changed=True) if has_changed else (group.epoch, False)

    return [(ShareSteps, "refresh_epoch", refresh)]


@_bug(within=100)
def _a_deleted_topic_stays_in_the_record() -> list[Patch]:
    return [
        (share_groups, "without_gone", lambda *_: None),
        (ShareSteps, "_assignable", _every_partition_with_state),
    ]


def _every_partition_with_state(self: ShareSteps, group: ShareGroup, topic_id: Any) -> list[int]:
    state = group.initialized.get(topic_id)
    return [] if state is None else sorted(state.partitions)


@_bug(within=50)
def _state_is_noted_for_one_partition_of_a_topic() -> list[Patch]:
    right = ShareKind.initialized

    def initialized(self: ShareKind, group_id: str, partitions: Any) -> Any:
        return right(self, group_id, {key: frozenset({0}) for key in partitions})

    return [(ShareKind, "initialized", initialized)]


@_bug(within=100)
def _the_target_of_a_member_that_left_stays() -> list[Patch]:
    right = ShareGroup._remove

    def remove(self: ShareGroup, kind: Any, member_id: str) -> None:
        if kind != 13:
            right(self, kind, member_id)

    return [(ShareGroup, "_remove", remove)]
