"""Bugs of what is on disk."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a-half-synced-segment-is-believed",
        "storage/recovery.py",
        "if segment.next_offset > recovery_point:",
        "if segment.next_offset - 1 > recovery_point:",
        "a torn last record of a segment is given to readers after a loss of power",
        ("tests/storage/test_recovery.py",),
    ),
    Mutant(
        "a-log-begun-anew-keeps-its-transactions",
        "storage/recovery.py",
        "producers, aborted = ProducerStates(), AbortedTransactions()",
        "aborted = AbortedTransactions()",
        "readers of committed records wait for ever for a transaction that has no records",
        ("tests/storage/test_recovery.py",),
    ),
    Mutant(
        "a-log-begun-anew-keeps-what-was-aborted",
        "storage/recovery.py",
        "producers, aborted = ProducerStates(), AbortedTransactions()",
        "producers = ProducerStates()",
        "readers are told of aborted transactions that have no records",
        ("tests/storage/test_recovery.py",),
    ),
    Mutant(
        "the-snapshot-of-a-dropped-segment-is-not-synced",
        "storage/flush.py",
        "if segment in parts or path in kept]",
        "if segment in parts]",
        "after a loss of power a retry is appended twice",
        ("tests/storage/test_durability.py",),
    ),
    Mutant(
        "an-epoch-rises-without-the-quorum-file",
        "storage/metadata_log.py",
        "        write_quorum_state(files, log.directory, state)\n"
        "        log.leader_epoch = epoch\n",
        "        log.leader_epoch = epoch\n"
        "        write_quorum_state(files, log.directory, state)\n",
        "decisions are written under an epoch that another start uses again",
        ("tests/storage/test_quorum.py",),
    ),
)
