"""A transactional id as a value: its states, which may follow which, and the steps between them.

A step returns a new `Transaction`; `coordinator.py` decides which step a request takes. The value
is also the record of `__transaction_state`: replay makes it the new state.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from ...protocol.lazy_dataclass import dataclass
from ..outcome import Effect, Producer

Partition = tuple[str, int]  # a topic and the index of its partition

LAST_EPOCH: Final = 32766
"""The last epoch a producer is given; the one above it is kept for fencing (Short.MAX_VALUE)."""
NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_PARTITIONS: Final[frozenset[Partition]] = frozenset()

NO_TIMEOUT_MS: Final = 0x7FFFFFFF
"""The timeout of two-phase commit: the transaction has no timeout (KIP-939)."""

# Levels of the feature transaction.version that a change of a transaction went by (KIP-890).
ADDS_EXPLICITLY: Final = 0
BUMPS_EPOCHS: Final = 2


class State(IntEnum):
    """The state of a transactional id (TransactionState); the numbers are those in the log.

    Dead and PrepareEpochFence exist in Kafka while an append is waited for; here a decision and
    its replay are one, so no transactional id is ever seen in them.
    """

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def title(self) -> str:
        """Its name in DescribeTransactions and ListTransactions: `PrepareCommit`."""
        return _TITLES[self]


# A member of an enum costs 0.1 us to look up in Python 3.11, and each transaction looks up twenty.
EMPTY: Final = State.EMPTY
ONGOING: Final = State.ONGOING
PREPARE_COMMIT: Final = State.PREPARE_COMMIT
_COMPLETE_COMMIT: Final = State.COMPLETE_COMMIT

_TITLES: Final = {state: state.name.title().replace("_", "") for state in State}
STATE_OF_TITLE: Final[Mapping[str, State]] = {title: state for state, title in _TITLES.items()}

AT_REST: Final = frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
PREPARED: Final = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})

MAY_FOLLOW: Final[Mapping[State, frozenset[State]]] = {
    State.EMPTY: AT_REST,
    State.ONGOING: AT_REST | {State.ONGOING},
    State.PREPARE_COMMIT: frozenset({State.ONGOING}),
    # At rest: only EndTxn 5, which ends a transaction that no partition was added to (KIP-890).
    State.PREPARE_ABORT: AT_REST | {State.ONGOING, State.PREPARE_EPOCH_FENCE},
    State.COMPLETE_COMMIT: frozenset({State.PREPARE_COMMIT}),
    State.COMPLETE_ABORT: frozenset({State.PREPARE_ABORT}),
    State.DEAD: AT_REST,
    State.PREPARE_EPOCH_FENCE: frozenset({State.ONGOING}),
}


class Transaction(NamedTuple):
    """The state of a transactional id (TransactionMetadata).

    Attributes:
        producer_id, producer_epoch: the producer that may use the id now; once a transaction is
            open, the producer of its records.
        timeout_ms: how long a transaction of it may stay open; `NO_TIMEOUT_MS` for ever.
        partitions: those of the open or prepared transaction; else empty.
        updated_ms: the last change; transactional ids expire by it.
        started_ms: the start of the open or last transaction; -1 when there was none.
        last_producer_epoch: the epoch before, when its owner is the owner of this one: a retry by
            it is answered again. As in Kafka not in the log; `decode` derives it if possible.
        previous_producer_id: the id before, when this very change replaced it. Its owner may
            repeat its request once (Kafka forgets the id with the next change, of any kind).
        next_producer_id: the id that replaces this one when the markers are written.
        client_version: the level of transaction.version of the last change.
        next_producer_epoch: NO_EPOCH, unless the transaction was kept for a new producer (KIP-939):
            next_producer_id and this are then the producer that may end it, or, once its end is
            decided, the one that has the id afterwards.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: State
    partitions: frozenset[Partition]
    updated_ms: int
    started_ms: int = -1
    last_producer_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    client_version: int = ADDS_EXPLICITLY
    next_producer_epoch: int = NO_EPOCH

    @property
    def producer(self) -> Producer:
        return Producer(self.producer_id, self.producer_epoch)

    @property
    def is_kept(self) -> bool:
        """The transaction was kept for a new producer, which may only end it (KIP-939)."""
        return self.next_producer_epoch != NO_EPOCH

    @property
    def owner(self) -> Producer:
        """The producer that may end the transaction: not that of its records if it was kept."""
        if self.next_producer_epoch == NO_EPOCH:
            return Producer(self.producer_id, self.producer_epoch)
        return Producer(self.next_producer_id, self.next_producer_epoch)

    @property
    def deadline_ms(self) -> int | None:
        """When an open transaction has been open for too long; None for never."""
        return None if self.timeout_ms == NO_TIMEOUT_MS else self.started_ms + self.timeout_ms

    def initialised(
        self, producer: Producer, *, last_producer_epoch: int, timeout_ms: int, now_ms: int
    ) -> Transaction:
        """Empty, owned by `producer`: this id at this or a later epoch, or another id."""
        is_new_id = producer.producer_id != self.producer_id
        return self._replace(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            timeout_ms=timeout_ms,
            state=State.EMPTY,
            updated_ms=now_ms,
            started_ms=-1,
            last_producer_epoch=last_producer_epoch,
            previous_producer_id=self.producer_id if is_new_id else NO_PRODUCER_ID,
        )

    def with_partitions(
        self, partitions: frozenset[Partition], *, client_version: int, now_ms: int
    ) -> Transaction:
        """Ongoing, with these partitions too; started now unless it was open already."""
        return Transaction(  # `_replace` takes longer, and each transaction is here
            self.transactional_id,
            self.producer_id,
            self.producer_epoch,
            self.timeout_ms,
            ONGOING,
            self.partitions | partitions,
            now_ms,
            self.started_ms if self.state is ONGOING else now_ms,
            self.last_producer_epoch,
            NO_PRODUCER_ID,
            self.next_producer_id,
            client_version,
        )

    def kept(self, owner: Producer, *, now_ms: int) -> Transaction:
        """Still ongoing, with its timeout; only `owner` may end it (KIP-939)."""
        return self._replace(
            updated_ms=now_ms,
            last_producer_epoch=NO_EPOCH,
            previous_producer_id=NO_PRODUCER_ID,
            next_producer_id=owner.producer_id,
            next_producer_epoch=owner.producer_epoch,
        )

    def prepared_of_kept(
        self, successor: Producer, *, commit: bool, client_version: int, now_ms: int
    ) -> Transaction:
        """The decision on a kept transaction; `successor` has the id afterwards (KIP-939).

        The markers carry its own producer id and the epoch after its own.
        """
        is_new_id = successor.producer_id != self.next_producer_id
        bumps = client_version >= BUMPS_EPOCHS
        return self.prepared(
            Producer(self.producer_id, self.producer_epoch + 1),
            commit=commit,
            now_ms=now_ms,
            last_producer_epoch=self.next_producer_epoch if bumps else NO_EPOCH,
            next_producer_id=successor.producer_id,
            client_version=client_version,
        )._replace(
            previous_producer_id=self.next_producer_id if is_new_id else NO_PRODUCER_ID,
            next_producer_epoch=successor.producer_epoch,
        )

    def prepared(
        self,
        producer: Producer | None = None,
        *,
        commit: bool,
        now_ms: int,
        last_producer_epoch: int | None = None,
        next_producer_id: int = NO_PRODUCER_ID,
        client_version: int = ADDS_EXPLICITLY,
    ) -> Transaction:
        """The decision to commit or abort.

        Args:
            producer: of the markers; None for the same producer (EndTxn up to version 4).
            last_producer_epoch: None for the same.
        """
        return Transaction(
            self.transactional_id,
            self.producer_id if producer is None else producer.producer_id,
            self.producer_epoch if producer is None else producer.producer_epoch,
            self.timeout_ms,
            PREPARE_COMMIT if commit else State.PREPARE_ABORT,
            self.partitions,
            now_ms,
            self.started_ms if self.state is ONGOING else now_ms,
            self.last_producer_epoch if last_producer_epoch is None else last_producer_epoch,
            NO_PRODUCER_ID,
            next_producer_id,
            client_version,
        )

    def fenced(self, *, now_ms: int) -> Transaction:
        """Aborted under the next epoch, which no producer gets (below transaction.version 2)."""
        return self.prepared(commit=False, now_ms=now_ms)._replace(
            producer_epoch=self.producer_epoch + 1,
            last_producer_epoch=NO_EPOCH,
        )

    def prepared_and_bumped(
        self, *, commit: bool, now_ms: int, next_producer_id: int = NO_PRODUCER_ID
    ) -> Transaction:
        """The decision, under the next epoch, which the markers carry (KIP-890).

        The epoch above the last one, which fences, has none after it.
        """
        return self.prepared(
            Producer(self.producer_id, min(self.producer_epoch, LAST_EPOCH) + 1),
            commit=commit,
            now_ms=now_ms,
            last_producer_epoch=self.producer_epoch,
            next_producer_id=next_producer_id,
            client_version=BUMPS_EPOCHS,
        )

    def completed(self, *, now_ms: int) -> Transaction:
        """At rest again: every marker is written."""
        changes_ids = self.next_producer_id != NO_PRODUCER_ID
        committed = self.state is PREPARE_COMMIT
        if self.next_producer_epoch != NO_EPOCH:
            return self._replace(
                producer_id=self.next_producer_id,
                producer_epoch=self.next_producer_epoch,
                state=_COMPLETE_COMMIT if committed else State.COMPLETE_ABORT,
                partitions=NO_PARTITIONS,
                updated_ms=now_ms,
                next_producer_id=NO_PRODUCER_ID,
                next_producer_epoch=NO_EPOCH,
            )
        return Transaction(
            self.transactional_id,
            self.next_producer_id if changes_ids else self.producer_id,
            0 if changes_ids else self.producer_epoch,
            self.timeout_ms,
            _COMPLETE_COMMIT if committed else State.COMPLETE_ABORT,
            NO_PARTITIONS,
            now_ms,
            self.started_ms,
            self.last_producer_epoch,
            self.producer_id if changes_ids else NO_PRODUCER_ID,
            NO_PRODUCER_ID,
            self.client_version,
        )


class Kept(NamedTuple):
    """The answer of InitProducerId that kept a prepared transaction (KIP-939).

    Attributes:
        producer: the client's new producer id and epoch; it may end the transaction.
        ongoing: the producer id and epoch of the transaction's records.
    """

    producer: Producer
    ongoing: Producer


@dataclass(frozen=True, slots=True)
class Expired:
    """A tombstone: the transactional id was unused for too long."""

    transactional_id: str


TransactionRecord = Transaction | Expired


@dataclass(frozen=True, slots=True)
class WriteMarkers(Effect):
    """Write the markers of a prepared transaction, then call `Transactions.markers_written`.

    Attributes:
        transaction: the prepared transaction: producer id, epoch and partitions of the markers.
        coordinator_epoch: the leader epoch of the coordinator's partition, for the markers.
    """

    transaction: Transaction
    coordinator_epoch: int

    @property
    def commit(self) -> bool:
        return self.transaction.state is PREPARE_COMMIT
