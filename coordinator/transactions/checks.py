"""Checks of a request against the transaction of its transactional id (KIP-98, 890, 939).

Follows TransactionCoordinator of Kafka 4.1.
"""

from __future__ import annotations

from ...protocol.errors import Code, Refused
from ..outcome import Producer
from .states import LAST_EPOCH, NO_EPOCH, PREPARED, State, Transaction


def is_or_was_owner(known: Transaction, expected: Producer) -> bool:
    """Whether `expected` is the producer, or was it until its epochs were used up."""
    return expected.producer_id == known.owner.producer_id or (
        expected.producer_id == known.previous_producer_id and expected.producer_epoch >= LAST_EPOCH
    )


def check_epoch_to_end(
    known: Transaction, producer: Producer, *, is_current: bool, retries: bool
) -> None:
    """Refuse the epochs that EndTxn 5 may not have in this state (TransactionCoordinator's table).

    An end raises the epoch, so that the epoch distinguishes a retry from the next end.
    """
    has_ended = known.state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT)
    if not (is_current or (has_ended and retries)):
        raise Refused(Code.PRODUCER_FENCED, f"{producer} is not {known.owner}")


def wrong_producer_id(known: Transaction, producer: Producer) -> Refused:
    return Refused(
        Code.INVALID_PRODUCER_ID_MAPPING,
        f"{known.transactional_id} has producer id {known.owner.producer_id}, "
        f"not {producer.producer_id}",
    )


def check_not_kept(known: Transaction) -> None:
    """Refuse writes to a kept transaction: it is prepared, and can only be ended (KIP-939).

    Raises:
        Refused: INVALID_TXN_STATE.
    """
    if known.next_producer_epoch != NO_EPOCH:
        raise Refused(
            Code.INVALID_TXN_STATE,
            f"the transaction of {known.transactional_id} is prepared and can only be ended",
        )


def check_not_prepared(known: Transaction) -> None:
    """Refuse while markers are written: the next request must not overtake them.

    In Kafka this is the pending transition to Complete; each request checks it before or after
    the producer.

    Raises:
        Refused: CONCURRENT_TRANSACTIONS.
    """
    if known.state in PREPARED:
        raise Refused(
            Code.CONCURRENT_TRANSACTIONS,
            f"the markers of {known.transactional_id} are still being written",
        )


def check_owner(known: Transaction, producer: Producer) -> None:
    """Refuse a producer that does not own the id: any other epoch is fenced.

    Raises:
        Refused: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED.
    """
    owner_id, owner_epoch = known.producer_id, known.producer_epoch
    if known.next_producer_epoch != NO_EPOCH:  # a kept transaction, or the end of one
        check_not_prepared(known)
        owner_id, owner_epoch = known.owner
    if owner_id != producer.producer_id:
        raise wrong_producer_id(known, producer)
    if owner_epoch != producer.producer_epoch or producer.producer_epoch > LAST_EPOCH:
        raise Refused(Code.PRODUCER_FENCED, f"{producer} is not {known.owner}")


def cannot_end(known: Transaction, *, commit: bool) -> Refused:
    wanted = "commit" if commit else "abort"
    return Refused(Code.INVALID_TXN_STATE, f"{wanted} in state {known.state.title}")
