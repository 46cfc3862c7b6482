"""Bugs of checkpoints, and of files that wait for a sync in another thread."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a-checkpoint-trusts-the-index-of-a-segment-that-is-rolled-next",
        "storage/log_directory.py",
        "return log.recovery_point == log.log_end_offset and log.has_unwritten_aborts",
        "return False",
        "after a loss of power it is not known which transactions were aborted",
        ("tests/storage/test_checkpoint.py",),
    ),
    Mutant(
        "the-older-of-two-checkpoints-is-left",
        "storage/disk/checkpoint.py",
        "if number > self._written:",
        "if True:",
        "deleted records are back after a kill",
        ("tests/storage/test_checkpoint.py",),
    ),
    Mutant(
        "rows-of-a-checkpoint-under-way-are-not-counted",
        "storage/disk/checkpoint.py",
        "return key in self.known or key in self._unsure",
        "return key in self.known",
        "a new topic begins where a deleted one of its name began",
        ("tests/storage/test_checkpoint.py",),
    ),
    Mutant(
        "a-start-that-only-a-checkpoint-has-is-forgotten",
        "storage/log.py",
        "return self.log_start_offset > self._synced_start",
        "return False",
        "after a loss of power it is not noticed whether a segment was lost",
        ("tests/storage/test_dropped_segments.py",),
    ),
    Mutant(
        "a-repaired-segment-is-not-synced",
        "storage/log.py",
        "Unsynced(files, directory, found.unsynced)",
        "Unsynced(files, directory)",
        "a second loss of power cuts off acknowledged records behind a torn one",
        ("tests/storage/test_recovery.py", "tests/broker/test_syncs.py"),
    ),
    Mutant(
        "dropped-files-are-renamed-before-the-start-is-on-disk",
        "storage/log.py",
        "            self.layout.take_out(dropped)\n",
        "            self.layout.take_out(dropped)\n"
        "            self.layout.start_is_on_disk(self.layout.dropped_count)\n",
        "after a loss of power a log has lost segments that it should have",
        ("tests/storage/test_dropped_segments.py",),
    ),
    Mutant(
        "a-flush-that-was-not-run-is-forgotten",
        "storage/log.py",
        "self._unsynced.give_back(flush)",
        "pass",
        "files that lacked a thread once are never synced",
        ("tests/storage/test_durability.py",),
    ),
)
