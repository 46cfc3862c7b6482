"""Bugs to plant in the group coordinator, each of which the simulation must find.

Each replaces functions of the machine inside `Plants.planted`. `within` is the number of seeds, one
of which must fail.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from ottla.coordinator import modern_groups
from ottla.coordinator.classic.group import ClassicGroup, Member
from ottla.coordinator.classic.groups import ClassicGroups
from ottla.coordinator.classic.rebalance import Rebalances, Turn
from ottla.coordinator.consumer import groups as consumer_groups
from ottla.coordinator.consumer import migration as consumer_migration
from ottla.coordinator.consumer import reconcile as consumer_reconcile
from ottla.coordinator.consumer import records as consumer_records
from ottla.coordinator.consumer import steps as consumer_steps
from ottla.coordinator.consumer.group import ConsumerGroup
from ottla.coordinator.consumer.groups import ConsumerGroups
from ottla.coordinator.consumer.member import NOTHING, ConsumerMember
from ottla.coordinator.consumer.records import CurrentMember, GroupEpoch, Kind
from ottla.coordinator.consumer.steps import ConsumerTurn
from ottla.coordinator.deadlines import Timer
from ottla.coordinator.group_kind import ClaimedMember, GroupKind
from ottla.coordinator.group_records import GroupStored, OffsetCommitted
from ottla.coordinator.groups import Groups
from ottla.coordinator.modern_groups import ModernGroups, ModernTurn
from ottla.coordinator.modern_kind import ModernKind
from ottla.coordinator.moment import Moment
from ottla.coordinator.offsets import Offsets
from ottla.coordinator.outcome import Producer

from ..planting import Patch, Plants

MUTATIONS: Final = Plants()
_bug = MUTATIONS.bug


def _nothing(*arguments: Any, **named: Any) -> None:
    """Do nothing."""


# Classic groups


@_bug(within=100)
def _any_generation_may_commit() -> list[Patch]:
    right = ClassicGroups.check_commit

    def check(
        self: ClassicGroups, group_id: str, committer: ClaimedMember, *, transactional: bool
    ) -> None:
        group = self.get(group_id)
        if group is not None and committer.generation_id >= 0:
            member_id = next(iter(group.members), committer.member_id)
            committer = ClaimedMember(member_id, group.generation_id)
        right(self, group_id, committer, transactional=transactional)

    return [
        (ClassicGroups, "check_commit", check),
        (ClassicGroups, "committed", _nothing),
    ]


@_bug(within=50)
def _members_that_are_gone_stay() -> list[Patch]:
    return [(Rebalances, "_session_expired", _nothing)]


@_bug(within=50)
def _sessions_do_not_begin_again_after_a_restart() -> list[Patch]:
    return [(Rebalances, "begin_sessions", _nothing)]


@_bug(within=100)
def _a_rebalance_waits_for_ever() -> list[Patch]:
    return [(Rebalances, "_wait_for_joins", _nothing)]


@_bug(within=50)
def _only_the_leader_gets_its_assignment() -> list[Patch]:
    right = ClassicGroups._assign

    def assign(self: ClassicGroups, group: ClassicGroup, assignments: Any, turn: Turn) -> None:
        right(self, group, assignments, turn)
        turn.effects = [each for each in turn.effects if getattr(each, "ticket", 0) == turn.ticket]

    return [(ClassicGroups, "_assign", assign)]


@_bug(within=250)
def _parked_requests_are_lost_when_the_log_refuses() -> list[Patch]:
    right = ClassicGroups._assign

    def assign(self: ClassicGroups, group: ClassicGroup, assignments: Any, turn: Turn) -> None:
        right(self, group, assignments, turn)
        for member in tuple(group.members.values()):
            group.put(replace(member, sync_ticket=None))

    return [(ClassicGroups, "_assign", assign)]


@_bug(within=50)
def _generations_do_not_rise() -> list[Patch]:
    right = ClassicGroup.begin_generation

    def begin(self: ClassicGroup, now_ms: int) -> None:
        before = max(1, self.generation_id)
        right(self, now_ms)
        self.generation_id = before

    return [(ClassicGroup, "begin_generation", begin)]


@_bug(within=50)
def _a_loaded_group_is_in_its_first_generation() -> list[Patch]:
    right = ClassicGroup.from_stored

    def from_stored(record: GroupStored) -> ClassicGroup:
        group = right(record)
        group.generation_id = min(1, group.generation_id)
        return group

    return [(ClassicGroup, "from_stored", staticmethod(from_stored))]


@_bug(within=50)
def _a_rejoining_member_is_not_waited_for() -> list[Patch]:
    """The rebalance ends at the first JoinGroup, and members that join later are removed."""
    return [(ClassicGroup, "all_have_joined", property(lambda self: not self.pending_members))]


@_bug(within=100)
def _a_static_member_does_not_keep_its_member_id() -> list[Patch]:
    return [(ClassicGroup, "static_member_id", lambda self, instance: None)]


# Consumer groups


@_bug(within=50)
def _partitions_are_given_before_they_are_free() -> list[Patch]:
    right = consumer_reconcile.reconciled

    def reconciled(*arguments: Any, **named: Any) -> ConsumerMember:
        return right(*arguments, **{**named, "partition_epochs": lambda topic_id: {}})

    return [(consumer_steps, "reconciled", reconciled)]


@_bug(within=50)
def _members_are_not_asked_to_revoke_partitions() -> list[Patch]:
    return [(consumer_reconcile, "_has_any", lambda owned, partitions: False)]


@_bug(within=50)
def _consumers_sessions_never_end() -> list[Patch]:
    right = ConsumerGroups._expired

    def expired(self: ConsumerGroups, group: ConsumerGroup, key: Any, turn: ConsumerTurn) -> bool:
        return key.timer is not Timer.SESSION and right(self, group, key, turn)

    return [(ConsumerGroups, "_expired", expired)]


@_bug(within=100)
def _consumers_sessions_do_not_begin_again_after_a_restart() -> list[Patch]:
    return [(ModernGroups, "_begin_sessions", _nothing)]


@_bug(within=250)
def _a_session_ends_once() -> list[Patch]:
    return [(modern_groups, "RETRY_MS", 1 << 40)]


@_bug(within=50)
def _changes_of_topics_are_not_seen() -> list[Patch]:
    right = ConsumerGroup.is_stale

    def is_stale(self: ConsumerGroup, topics_version: int) -> bool:
        return right(self, topics_version) and self.checked is None and self.epoch == 0

    return [(ConsumerGroup, "is_stale", is_stale)]


@_bug(within=50)
def _a_leaving_member_does_not_change_the_group_epoch() -> list[Patch]:
    right = ConsumerGroups.fence

    def fence(self: ConsumerGroups, group: ConsumerGroup, gone: Any, turn: ConsumerTurn) -> None:
        right(self, group, gone, turn)
        turn.records = [each for each in turn.records if not isinstance(each, GroupEpoch)]

    return [(ConsumerGroups, "fence", fence)]


@_bug(within=50)
def _partitions_to_revoke_are_not_logged() -> list[Patch]:
    right = consumer_records.current

    def current(group_id: str, member: ConsumerMember) -> CurrentMember:
        return right(group_id, replace(member, pending_revocation=NOTHING))

    return [(consumer_steps, "current", current)]


@_bug(within=50)
def _a_tombstone_is_missing() -> list[Patch]:
    right = consumer_steps.removal

    def removal(group: ConsumerGroup, member_id: str) -> Any:
        return [each for each in right(group, member_id) if each.kind is not Kind.CURRENT_MEMBER]

    def forgets_targets_too(group: ConsumerGroup, member_id: str) -> Any:
        return [each for each in removal(group, member_id) if each.kind is not Kind.TARGET_MEMBER]

    return [
        (consumer_steps, "removal", forgets_targets_too),
        (consumer_groups, "removal", forgets_targets_too),
    ]


@_bug(within=100)
def _an_upgrade_forgets_assignments() -> list[Patch]:
    return [(consumer_migration, "read_assignment", lambda data, topics: ({}, False))]


@_bug(within=250)
def _a_downgrade_does_not_rebalance() -> list[Patch]:
    right = ConsumerGroups.become_classic

    def become(self: ConsumerGroups, *arguments: Any, rebalance: bool) -> None:
        right(self, *arguments, rebalance=False)

    return [(ConsumerGroups, "become_classic", become)]


@_bug(within=300)
def _an_upgrade_forgets_parked_requests() -> list[Patch]:
    return [(consumer_migration, "_rebalance_answers", lambda classic: [])]


@_bug(within=300)
def _regular_expressions_match_nothing_new() -> list[Patch]:
    right = ConsumerGroups._expired

    def expired(self: ConsumerGroups, group: ConsumerGroup, key: Any, turn: ConsumerTurn) -> bool:
        is_right = key.timer is not Timer.REGEX or not group.resolved
        return is_right and right(self, group, key, turn)

    return [(ConsumerGroups, "_expired", expired)]


# Offsets


@_bug(within=100)
def _a_marker_removes_later_offsets() -> list[Patch]:
    right = Offsets.replay_marker

    def replay(self: Offsets, producer: Producer, *, commit: bool) -> None:
        for topics in self._pending.get(producer.producer_id, {}).values():
            for partitions in topics.values():
                for partition, placed in partitions.items():
                    partitions[partition] = placed._replace(position=1 << 60)
        right(self, producer, commit=commit)

    return [(Offsets, "replay_marker", replay)]


@_bug(within=50)
def _aborted_offsets_count() -> list[Patch]:
    right = Offsets.replay_marker

    def replay(self: Offsets, producer: Producer, *, commit: bool) -> None:
        right(self, producer, commit=True)

    return [(Offsets, "replay_marker", replay)]


@_bug(within=400)
def _any_member_may_commit_in_a_transaction() -> list[Patch]:
    def unless_transactional(kind: Any) -> Patch:
        right = kind.check_commit

        def check(self: GroupKind, *arguments: Any, transactional: bool) -> None:
            if not transactional:
                right(self, *arguments, transactional=False)

        return kind, "check_commit", check

    return [unless_transactional(ClassicGroups), unless_transactional(ModernKind)]


@_bug(within=10)
def _commits_are_answered_and_not_written() -> list[Patch]:
    right = Offsets.commit

    def commit(self: Offsets, *arguments: Any, **named: Any) -> Any:
        return right(self, *arguments, **named)._replace(records=(), framed=None)

    return [(Offsets, "commit", commit)]


@_bug(within=50)
def _offsets_expire_while_they_are_read() -> list[Patch]:
    right = Offsets.removal_of_expired

    def removal(self: Offsets, group_id: str, places: Any, is_expired: Any) -> Any:
        return right(self, group_id, places, lambda record: True)

    return [(Offsets, "removal_of_expired", removal)]


@_bug(within=100)
def _offsets_of_a_deleted_topic_count_for_the_next_one_of_its_name() -> list[Patch]:
    return [(Offsets, "_is_valid", lambda self, logged: True)]


@_bug(first=100, within=100)
def _tombstones_spare_pending_offsets() -> list[Patch]:
    right = Offsets.replay

    def replay(self: Offsets, record: Any) -> None:
        if isinstance(record, OffsetCommitted):
            right(self, record)
            return
        producers, self._producers = self._producers, {}
        right(self, record)
        self._producers = producers

    return [(Offsets, "replay", replay)]


@_bug(within=50)
def _the_first_commit_stays() -> list[Patch]:
    right = Offsets.replay

    def replay(self: Offsets, record: Any) -> None:
        key = (record.group_id, record.topic, record.partition)
        if not isinstance(record, OffsetCommitted) or self.committed(*key) is None:
            right(self, record)

    return [(Offsets, "replay", replay)]


# Time


@_bug(within=10)
def _a_deadline_is_always_due() -> list[Patch]:
    return [(Groups, "next_deadline", lambda self, now: 0)]


@_bug(within=100)
def _deadlines_use_the_wall_clock() -> list[Patch]:
    of_classic, of_consumers = Turn.__init__, ModernTurn.__init__

    def begin(self: Turn, now: Moment, ticket: int | None = None) -> None:
        of_classic(self, now, ticket)
        self.now_ms = now.wall_ms

    def begin_of_consumers(self: ModernTurn, now: Moment) -> None:
        of_consumers(self, now)
        self.now_ms = now.wall_ms

    return [(Turn, "__init__", begin), (ModernTurn, "__init__", begin_of_consumers)]


@_bug(within=50)
def _a_stalled_member_keeps_its_session() -> list[Patch]:
    return [(Member, "keeps_its_session", property(lambda self: True))]
