"""Bugs of the state of share groups, and of their dead letters."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

_MACHINE: Final = "coordinator/share_state/coordinator.py"
_BATCHES: Final = "coordinator/share_state/batches.py"
_TESTS: Final = (
    "tests/coordinator/share_state/test_batches.py",
    "tests/coordinator/share_state/test_machine.py",
    "tests/coordinator/share_state/test_records.py",
    "tests/coordinator/share_state/test_model.py",
)
_PERSISTER: Final = ("tests/broker/runtime/test_share_persister.py",)
_LETTERS: Final = ("tests/broker/runtime/test_dead_letters.py",)

MUTANTS: Final = (
    Mutant(
        "the-log-of-share-states-is-pruned-up-to-its-newest-snapshot",
        _MACHINE,
        "self._needed_offset = next(iter(self._snapshots.values()))",
        "self._needed_offset = offset",
        "after a restart other share groups have no state, and read everything again",
        _TESTS,
    ),
    Mutant(
        "a-newer-snapshot-does-not-move-its-share-partition-back",
        _MACHINE,
        "self._snapshots.move_to_end(partition)",
        "pass",
        "the only snapshot of another share partition is pruned",
        _TESTS,
    ),
    Mutant(
        "a-start-offset-of-a-share-partition-moves-back",
        _MACHINE,
        "start_offset = max(start_offset, state.start_offset)",
        "start_offset = start_offset",
        "records that are done are delivered again",
        _TESTS,
    ),
    Mutant(
        "an-update-lowers-the-fence-of-leaders",
        _MACHINE,
        "max(held.leader_epoch, update.leader_epoch)",
        "update.leader_epoch",
        "a leader of an older epoch overwrites the state",
        _TESTS,
    ),
    Mutant(
        "a-state-batch-hides-its-neighbour",
        _BATCHES,
        "first = min(map(_first_offset, fresh)) - 1",
        "first = min(map(_first_offset, fresh))",
        "neighbours stay apart, and a state grows with each acknowledgement",
        _TESTS,
    ),
    Mutant(
        "share-states-do-not-know-their-offsets",
        "broker/runtime/shards/shard.py",
        "enumerate(records, appended.base_offset)",
        "enumerate(records, 0)",
        "the log of share states is never pruned",
        _PERSISTER,
    ),
    Mutant(
        "states-of-topics-deleted-before-a-start-stay",
        "broker/node.py",
        "on_loaded=_forget_missing_topics",
        "on_loaded=lambda shard: None",
        "states of deleted topics stay for ever",
        _PERSISTER,
    ),
    Mutant(
        "dead-letters-end-with-their-first-batch",
        "broker/runtime/share/dead_letters.py",
        "while first_offset + written <= last_offset:",
        "if first_offset + written <= last_offset:",
        "records that a share group gives up are lost",
        _LETTERS,
    ),
    Mutant(
        "a-batch-of-dead-letters-is-larger-than-its-topic-allows",
        "broker/runtime/share/dead_letters.py",
        "if size_bytes > most_bytes and len(framed) > 1:",
        "if False:",
        "the topic refuses all dead letters of a large range",
        _LETTERS,
    ),
)
