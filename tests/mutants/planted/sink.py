"""Bugs of the exactly-once sink for Spark."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

_SIMULATION: Final = ("tests/spark/exactly_once/test_simulation.py",)
_CHANGED_TOPICS: Final = ("tests/spark/exactly_once/test_changed_topics.py",)

MUTANTS: Final = (
    Mutant(
        "a-lost-transaction-is-decided",
        "spark/exactly_once/decisions.py",
        "if lost:\n        names =",
        "if False:\n        names =",
        "a part of a batch is visible, and the rest only after a restart",
        _SIMULATION,
    ),
    Mutant(
        "a-transaction-about-to-time-out-is-decided",
        "spark/exactly_once/decisions.py",
        "view.least_left_ms < view.margin_ms:",
        "False:",
        "the timeout aborts a part of a batch while the driver commits the rest",
        _SIMULATION,
    ),
    Mutant(
        "a-replaced-driver-commits",
        "spark/exactly_once/decisions.py",
        "if logged.batch_id > view.batch_id:",
        "if False:",
        "Spark believes that a batch is committed, which it may not be",
        _SIMULATION,
    ),
    Mutant(
        "a-replaced-driver-aborts-decided-transactions",
        "spark/exactly_once/decisions.py",
        "return Fence(others, sweeps=False)",
        "return Fence(others, sweeps=True)",
        "a part of a later batch is lost until its replay",
        _SIMULATION,
    ),
    Mutant(
        "a-failed-batch-leaves-its-transactions-open",
        "spark/exactly_once/decisions.py",
        "if view.is_fenced:\n        return Fail(",
        "if True:\n        return Fail(",
        "readers with read_committed wait until the transactions time out",
        _SIMULATION,
    ),
    Mutant(
        "a-replay-with-other-rows-completes-a-batch",
        "spark/exactly_once/decisions.py",
        "if sum_of(each.digest for each in fresh) != sum_of(each.digest for each in logged.tasks):",
        "if False:",
        "a query that is not deterministic loses and doubles rows",
        _SIMULATION,
    ),
    Mutant(
        "an-end-under-transaction-version-2-is-not-recognised",
        "spark/exactly_once/transaction_fates.py",
        "next_epoch = (transaction.producer_id, transaction.producer_epoch + 1)",
        "next_epoch = same",
        "each repeated commit reads the partitions",
        _SIMULATION,
    ),
    Mutant(
        "an-end-after-the-last-epoch-is-not-recognised",
        "spark/exactly_once/transaction_fates.py",
        "if producer not in (same, next_epoch) and not is_new_id:",
        "if producer not in (same, next_epoch):",
        "a repeated commit depends on the retention of the partitions",
        _SIMULATION,
    ),
    Mutant(
        "a-batch-is-not-found-in-a-write-ahead-log-with-new-partitions",
        "spark/exactly_once/write_ahead_log.py",
        "for self._partition in (own,) if is_new or own == 0 else (own, 0):",
        "for self._partition in (own,):",
        "the replay of a batch, or a repeated job, writes its rows a second time",
        _CHANGED_TOPICS,
    ),
    Mutant(
        "a-write-whose-topic-was-made-again-counts-as-done",
        "spark/exactly_once/decisions.py",
        "if logged.is_done and (remade := _made_again(view, logged)):",
        "if (remade := _made_again(view, logged)) and False:",
        "a repeated job succeeds, and its topic is empty",
        _CHANGED_TOPICS,
    ),
)
