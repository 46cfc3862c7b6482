"""Bugs of the state machines: transactions and groups."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a-late-abort-gets-the-epoch-kept-for-fencing",
        "coordinator/transactions.py",
        "                if known.producer_epoch > LAST_EPOCH:\n",
        "                if known.producer_epoch > LAST_EPOCH + 1:\n",
        "a producer goes on under epoch 32767, which nothing can fence",
        ("tests/coordinator/test_transactions_end.py",),
    ),
    Mutant(
        "who-was-fenced-before-gets-the-epoch-of-an-abort",
        "coordinator/transaction_states.py",
        "            last_producer_epoch=NO_EPOCH,\n        )",
        "        )",
        "below transaction.version 2 an owner two epochs back is let in again",
        ("tests/coordinator/test_transactions_init.py",),
    ),
)
