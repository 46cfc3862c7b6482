"""Bugs of streams groups: tasks, epochs, statuses, internal topics, timers, offsets."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

_GROUPS: Final = ("tests/coordinator/streams/test_groups.py",)
_RECONCILE: Final = ("tests/coordinator/streams/test_reconcile.py",)
_TOPOLOGY: Final = ("tests/coordinator/streams/test_topology.py",)
_HANDLERS: Final = ("tests/broker/handlers/test_streams_group_handlers.py",)

MUTANTS: Final = (
    Mutant(
        "an-active-task-is-given-before-its-owner-gave-it-up",
        "coordinator/streams/reconcile.py",
        "self._holders.active_process_id(*task) is not None",
        "False",
        "two instances process the same records at a time",
        _RECONCILE,
    ),
    Mutant(
        "a-member-is-not-asked-whether-it-gave-its-tasks-up",
        "coordinator/streams/reconcile.py",
        "if _has_any(owned, _Sets.of(member.pending_revocation)):",
        "if False:",
        "a slow instance still processes a task that another one has got",
        _RECONCILE,
    ),
    Mutant(
        "a-standby-shares-the-process-of-its-active-task",
        "coordinator/streams/assignor.py",
        "            if task not in process.tasks:\n                self._add_standby",
        "            if True:\n                self._add_standby",
        "the crash of a process loses the state and its standby",
        _GROUPS,
    ),
    Mutant(
        "an-older-epoch-of-a-streams-member-is-let-in",
        "coordinator/streams/steps.py",
        "and epoch == member.previous_member_epoch\n        and owned is not None",
        "and owned is not None",
        "a member that missed assignments is not told to rejoin",
        _GROUPS,
    ),
    Mutant(
        "the-previous-epoch-is-let-in-with-foreign-tasks",
        "coordinator/streams/steps.py",
        "and _is_within(owned, member.assigned.without_epochs)",
        "and True",
        "a member keeps a task that it has already given up",
        _GROUPS,
    ),
    Mutant(
        "the-status-of-the-topics-is-forgotten",
        "coordinator/streams/checks.py",
        "found = [] if known.problem is None else [known.problem]",
        "found: list[GroupStatus] = []",
        "an application without its source topic waits, and is not told why",
        _GROUPS,
    ),
    Mutant(
        "a-changelog-has-one-partition",
        "coordinator/streams/configured.py",
        "counts.decided[changelog.name] = largest",
        "counts.decided[changelog.name] = 1",
        "all tasks but the first have no changelog, and the application fails",
        _GROUPS,
    ),
    Mutant(
        "a-repartition-topic-follows-its-smallest-source",
        "coordinator/streams/repartition.py",
        "known[sink] = max(found)",
        "known[sink] = min(found)",
        "an internal topic has fewer partitions than in Kafka, and the group cannot move there",
        _TOPOLOGY,
    ),
    Mutant(
        "a-member-may-keep-revoked-tasks-for-ever",
        "coordinator/streams/steps.py",
        "self.deadlines.set(key, turn.now_ms + updated.rebalance_timeout_ms)",
        "pass",
        "an instance that hangs holds a task that another one waits for",
        _GROUPS,
    ),
    Mutant(
        "sessions-do-not-begin-after-a-restart",
        "coordinator/modern_groups.py",
        "            self.loaded[group_id] = None",
        "            pass",
        "tasks of instances that died with the coordinator are never given to others",
        _GROUPS,
    ),
    Mutant(
        "offsets-of-any-older-epoch-are-committed",
        "coordinator/modern_kind.py",
        "if not has_had(topic, topic_id, partition):",
        "if False:",
        "an instance that lost a task overwrites the offsets of its new owner",
        _GROUPS,
    ),
    Mutant(
        "internal-topics-are-not-made",
        "broker/handlers/groups/streams_group_heartbeat.py",
        "if reply.missing_topics:",
        "if False:",
        "an application with state never gets its tasks",
        _HANDLERS,
    ),
)
