"""Bugs of prepared transactions (KIP-939)."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

_KEPT: Final = ("tests/coordinator/transactions/test_kept.py",)

MUTANTS: Final = (
    Mutant(
        "a-prepared-transaction-is-not-kept",
        "coordinator/transactions/coordinator.py",
        "if known.state is State.ONGOING and keep_prepared:",
        "if False:",
        "a new process aborts what the other system has committed",
        _KEPT,
    ),
    Mutant(
        "the-writer-of-a-kept-transaction-may-go-on",
        "coordinator/transactions/checks.py",
        "owner_id, owner_epoch = known.owner",
        "pass",
        "a paused process adds records to a prepared transaction, or ends it",
        _KEPT,
    ),
    Mutant(
        "a-kept-transaction-takes-records",
        "coordinator/transactions/checks.py",
        "if known.next_producer_epoch != NO_EPOCH:\n        raise Refused(",
        "if False:\n        raise Refused(",
        "the next transaction's records are decided with the prepared one",
        _KEPT,
    ),
    Mutant(
        "the-next-producer-is-not-in-the-log",
        "coordinator/transactions/records.py",
        "fields.append(_TAGGED_SHORT.pack(3, 2, record.next_producer_epoch))",
        "pass",
        "after a crash, the fenced producer of a kept transaction may end it",
        ("tests/coordinator/transactions/test_records.py", *_KEPT),
    ),
    Mutant(
        "markers-of-a-kept-transaction-have-the-new-id",
        "coordinator/transactions/states.py",
        "Producer(self.producer_id, self.producer_epoch + 1),\n"
        "            commit=commit,\n"
        "            now_ms=now_ms,\n"
        "            last_producer_epoch=self.next_producer_epoch",
        "Producer(self.next_producer_id, self.producer_epoch + 1),\n"
        "            commit=commit,\n"
        "            now_ms=now_ms,\n"
        "            last_producer_epoch=self.next_producer_epoch",
        "the records stay undecided for readers for ever",
        ("tests/coordinator/transactions/test_kept.py",),
    ),
    Mutant(
        "the-end-of-a-kept-transaction-keeps-the-epoch",
        "coordinator/transactions/coordinator.py",
        "successor, commit=commit, client_version=BUMPS_EPOCHS, now_ms=now_ms",
        "owner, commit=commit, client_version=BUMPS_EPOCHS, now_ms=now_ms",
        "a late EndTxn ends the transaction after",
        _KEPT,
    ),
    Mutant(
        "an-aborted-kept-transaction-keeps-its-producer",
        "coordinator/transactions/coordinator.py",
        "Producer(known.next_producer_id, known.next_producer_epoch + 1)",
        "Producer(known.next_producer_id, known.next_producer_epoch)",
        "the process that the transaction was kept for is not fenced by its successor",
        (*_KEPT, "tests/coordinator/transactions/test_model.py"),
    ),
    Mutant(
        "two-phase-commit-needs-no-right",
        "broker/requests/guards/transactions.py",
        "and not _may_commit_in_two_phases(node, context, transactional_id)",
        "and False",
        "any producer may hold up readers for ever",
        ("tests/broker/handlers/test_two_phase_commit.py",),
    ),
)
