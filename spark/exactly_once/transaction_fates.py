"""The fate of a transaction, from the answer of its coordinator. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from .tasks import TransactionKey

LAST_EPOCH: Final = 32767 - 1
"""The last epoch of a producer id; with transaction version 2, the end of its transaction moves the
transactional id to a new producer id with epoch 0 (KIP-890)."""
_COMMIT: Final = frozenset({"PrepareCommit", "CompleteCommit"})
_ABORT: Final = frozenset({"PrepareAbort", "CompleteAbort", "PrepareEpochFence"})


class TransactionFate(Enum):
    """The fate of a transaction."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"
    """Its transactional id has begun something else or is not known any more."""


@dataclass(frozen=True, slots=True)
class Described:
    """What a coordinator says about a transactional id (DescribeTransactions).

    Attributes:
        state: Kafka's name of it, for example "Ongoing".
        left_ms: the time until the coordinator aborts an open transaction.
    """

    state: str
    producer_id: int
    producer_epoch: int
    left_ms: int = 0


def fate_of(transaction: TransactionKey, described: Described | None) -> TransactionFate:
    """The fate of a transaction.

    The end of a transaction leaves the epoch as it is, or raises it by one: with transaction
    version 2, after a timeout, and for a fenced producer. After the last epoch, a new producer id
    begins with epoch 0.

    Args:
        described: None: the coordinator does not know the transactional id.
    """
    if described is None:
        return TransactionFate.UNKNOWN
    producer = (described.producer_id, described.producer_epoch)
    same = (transaction.producer_id, transaction.producer_epoch)
    if described.state == "Ongoing":
        if producer == same:
            return TransactionFate.OPEN
        return TransactionFate.UNKNOWN
    next_epoch = (transaction.producer_id, transaction.producer_epoch + 1)
    is_new_id = (
        transaction.producer_epoch >= LAST_EPOCH
        and described.producer_id > transaction.producer_id
        and described.producer_epoch == 0
    )
    if producer not in (same, next_epoch) and not is_new_id:
        return TransactionFate.UNKNOWN
    if described.state in _COMMIT:
        return TransactionFate.COMMITTED
    if described.state in _ABORT:
        return TransactionFate.ABORTED
    return TransactionFate.UNKNOWN
