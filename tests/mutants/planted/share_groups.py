"""Bugs of share groups: members, assignments, share state, offsets."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

_GROUPS: Final = ("tests/coordinator/share/test_groups.py",)
_STATE: Final = ("tests/coordinator/share/test_state_topics.py",)
_HANDLERS: Final = ("tests/broker/handlers/test_share_group_handlers.py",)
_SIMULATION: Final = (
    "tests/simulation/test_simulations.py::test_the_promise_of_the_simulation_holds_in_each_seed[0-share-groups]",
)

MUTANTS: Final = (
    Mutant(
        "partitions-without-share-state-are-assigned",
        "coordinator/share/steps.py",
        "return sorted(each for each in state.partitions if each < topic.partition_count)",
        "return list(range(topic.partition_count))",
        "a member is assigned partitions that no leader can deliver",
        (*_GROUPS, *_STATE, *_SIMULATION),
    ),
    Mutant(
        "a-newer-epoch-of-a-share-member-is-let-in",
        "coordinator/share/groups.py",
        "if epoch > known:",
        "if False:",
        "a member of an earlier life of the group keeps partitions that are not its own",
        _GROUPS,
    ),
    Mutant(
        "any-older-epoch-of-a-share-member-is-let-in",
        "coordinator/share/groups.py",
        "if epoch < known and epoch != previous:",
        "if False:",
        "a member that missed two assignments is not told to rejoin",
        _GROUPS,
    ),
    Mutant(
        "share-offsets-are-altered-under-members",
        "coordinator/share/kind.py",
        "self.share_groups.first_epoch)\n        group.check_empty()",
        "self.share_groups.first_epoch)",
        "records that members have acquired are delivered again",
        (*_STATE, *_HANDLERS),
    ),
    Mutant(
        "share-state-is-initialized-again-and-again",
        "coordinator/share/steps.py",
        "if now_ms - began_ms < self._retry_interval_ms",
        "if False",
        "each heartbeat makes new state of partitions while the first is being initialized",
        _STATE,
    ),
    Mutant(
        "an-initialization-that-hangs-is-never-tried-again",
        "coordinator/share/steps.py",
        "if now_ms - began_ms < self._retry_interval_ms",
        "if True",
        "a group whose share coordinator was away gets no partitions",
        _STATE,
    ),
    Mutant(
        "later-partitions-are-read-from-their-end",
        "coordinator/share/state_topics.py",
        "return 0 if is_later and not is_tried_again else -1",
        "return -1",
        "records that are written to a new partition before it is assigned are lost to the group",
        _STATE,
    ),
    Mutant(
        "an-empty-share-group-expires",
        "coordinator/share/kind.py",
        "is_removed_when_empty = False",
        "is_removed_when_empty = True",
        "a queue whose consumers were away for a while begins at the end",
        _GROUPS,
    ),
    Mutant(
        "a-share-group-is-deleted-with-state-left",
        "broker/handlers/groups/delete_groups.py",
        "kept[group_id] = refusal.code",
        "pass",
        "a new group of the same name goes on where the deleted one was",
        _HANDLERS,
    ),
    Mutant(
        "share-state-of-a-deleted-group-stays",
        "broker/runtime/share/share_state_work.py",
        "await self._persister.delete(group_id, topic_id, index)",
        "pass",
        "a new group of the same name goes on where the deleted one was",
        _HANDLERS,
    ),
    Mutant(
        "a-silent-share-member-stays",
        "coordinator/share/groups.py",
        "self._remove(group, member, turn)\n        turn.removed(",
        "turn.removed(",
        "the partitions of a member that has died are not read",
        _GROUPS,
    ),
    Mutant(
        "a-share-group-takes-over-a-classic-group",
        "coordinator/share/groups.py",
        "if is_other:\n            raise self.not_found",
        "if False:\n            raise self.not_found",
        "the committed offsets of a consumer group are lost",
        _GROUPS,
    ),
)
