"""The transaction coordinator of one partition of `__transaction_state` (KIP-98, 360, 890, 939).

Each request has a method that decides: it returns records, effects and a reply, or raises
`Refused`. Only `replay` changes transactions, after a decision and after a restart. Follows
TransactionCoordinator and TransactionStateManager of Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Set
from itertools import islice
from typing import Final

from ...protocol.errors import Code, Refused
from ..deadlines import Deadlines
from ..moment import Moment
from ..outcome import Outcome, Producer
from ..partitioning import check_transactional_id
from .checks import (
    cannot_end,
    check_epoch_to_end,
    check_not_kept,
    check_not_prepared,
    check_owner,
    is_or_was_owner,
    wrong_producer_id,
)
from .states import (
    ADDS_EXPLICITLY,
    BUMPS_EPOCHS,
    LAST_EPOCH,
    MAY_FOLLOW,
    NO_EPOCH,
    NO_PARTITIONS,
    NO_PRODUCER_ID,
    NO_TIMEOUT_MS,
    ONGOING,
    PREPARED,
    Expired,
    Kept,
    Partition,
    State,
    Transaction,
    TransactionRecord,
    WriteMarkers,
)

DAY_MS: Final = 24 * 60 * 60 * 1000
# The wall clock may step, so it is read again after this time at the latest, as in Kafka.
_TIMEOUT_RECHECK_MS: Final = 10_000
_EXPIRATION_RECHECK_MS: Final = 60 * 60 * 1000
EXPIRED_PER_DECISION: Final = 100
"""The number of transactional ids that one decision removes."""
_RETRY_MS: Final = 1_000


class Transactions:
    """The transactional ids of one coordinator partition.

    Args:
        next_producer_id: returns a new producer id.
        transaction_max_timeout_ms: `transaction.max.timeout.ms`.
        transactional_id_expiration_ms: `transactional.id.expiration.ms`.
        coordinator_epoch: the leader epoch of the partition; it goes into the markers.
        timeout_check_interval_ms: `transaction.abort.timed.out.transaction.cleanup.interval.ms`:
            until it has passed, a transaction past its timeout can still be ended by its producer.
        expiration_check_interval_ms: `transaction.remove.expired.transaction.cleanup.interval.ms`:
            until it has passed, a transactional id past its expiration can still be used.
        transaction_version: returns the finalized level of that feature. It applies to transactions
            that the coordinator aborts; the version of a client's request applies to the request
            (KIP-890).
    """

    def __init__(
        self,
        *,
        next_producer_id: Callable[[], int],
        transaction_max_timeout_ms: int = 15 * 60 * 1000,
        transactional_id_expiration_ms: int = 7 * DAY_MS,
        coordinator_epoch: int = 0,
        transaction_version: Callable[[], int] = lambda: BUMPS_EPOCHS,
        timeout_check_interval_ms: int = 1,
        expiration_check_interval_ms: int = 1,
    ) -> None:
        self._next_producer_id = next_producer_id
        self._transaction_version = transaction_version
        self._max_timeout_ms = transaction_max_timeout_ms
        self._expiration_ms = transactional_id_expiration_ms
        self._timeout_check_ms = timeout_check_interval_ms
        self._expiration_check_ms = expiration_check_interval_ms
        self._coordinator_epoch = coordinator_epoch
        self._by_id: dict[str, Transaction] = {}
        # The same by state, so that `next_deadline` costs nothing on a busy broker. The deadlines
        # are those of the checks that find what is due.
        self._ongoing: dict[str, Transaction] = {}
        self._timeouts: Deadlines[str] = Deadlines()
        self._prepared: dict[str, Transaction] = {}
        self._expirations: Deadlines[str] = Deadlines()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transactions) and self._by_id == other._by_id

    __hash__ = None  # type: ignore[assignment]  # a class without hashes, as the language has it

    # Requests

    def init_producer_id(
        self,
        transactional_id: str,
        *,
        timeout_ms: int,
        now_ms: int,
        expected: Producer | None = None,
        in_two_phases: bool = False,
        keep_prepared: bool = False,
    ) -> Outcome[Producer | Kept | Code]:
        """InitProducerId (22) of a transactional id: a new epoch fences the previous producer.

        Args:
            timeout_ms: how long its transactions may stay open.
            now_ms: the wall time, in ms.
            expected: the client's producer id and epoch, if it continues after an error (KIP-360).
            in_two_phases: its transactions have no timeout; `timeout_ms` is ignored (KIP-939).
            keep_prepared: an open transaction stays open, with its timeout, for the new producer
                to end it (KIP-939).

        Returns:
            The client's new producer id and epoch; the same as `Kept` if an open transaction was
            kept; or CONCURRENT_TRANSACTIONS: the open transaction is aborted under an epoch that no
            producer gets, and the client tries again.

        Raises:
            Refused: INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT, PRODUCER_FENCED,
                CONCURRENT_TRANSACTIONS, UNSUPPORTED_VERSION (see `_check_level`).
        """
        known = self._find(transactional_id)
        if in_two_phases:
            timeout_ms = NO_TIMEOUT_MS
        elif not 0 < timeout_ms <= self._max_timeout_ms:
            raise Refused(
                Code.INVALID_TRANSACTION_TIMEOUT,
                f"a timeout of {timeout_ms} ms; at most {self._max_timeout_ms} ms are allowed",
            )
        if known is None:
            fresh = Transaction(
                transactional_id,
                self._next_producer_id(),
                0,
                timeout_ms,
                State.EMPTY,
                NO_PARTITIONS,
                now_ms,
            )
            return Outcome(fresh.producer, (fresh,))
        check_not_prepared(known)
        if expected is not None and not is_or_was_owner(known, expected):
            raise Refused(Code.PRODUCER_FENCED, f"{expected} is not {known.owner}")
        if known.state is State.ONGOING and keep_prepared:
            return self._kept(known, expected, now_ms=now_ms)
        if known.state is State.ONGOING:
            aborted = self._fenced(known, now_ms=now_ms)
            return Outcome(Code.CONCURRENT_TRANSACTIONS, (aborted,), self._markers(aborted))
        producer, last_producer_epoch = self._successor(known, expected)
        initialised = known.initialised(
            producer, last_producer_epoch=last_producer_epoch, timeout_ms=timeout_ms, now_ms=now_ms
        )
        return Outcome(producer, (initialised,))

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[Partition],
        *,
        now_ms: int,
        client_version: int = BUMPS_EPOCHS,
    ) -> Outcome[None]:
        """AddPartitionsToTxn (24), AddOffsetsToTxn (25); the first one starts the transaction.

        Produce 12 and TxnOffsetCommit 5 add the partitions that they write to (KIP-890).

        Args:
            producer: the producer id and epoch of the request.
            partitions: topic and index of each.
            now_ms: the wall time, in ms.
            client_version: ADDS_EXPLICITLY if the client adds partitions by a request.

        Raises:
            Refused: INVALID_REQUEST, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED,
                CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE (see `check_not_kept`),
                UNSUPPORTED_VERSION (see `_check_level`).
        """
        known = self._by_id.get(transactional_id)
        if known is None:
            raise _unknown(transactional_id)
        added, is_open = frozenset(partitions), known.state is ONGOING
        if not is_open:
            check_not_prepared(known)
        check_owner(known, producer)
        if is_open:
            check_not_kept(known)
            if added <= known.partitions:
                return Outcome(None)
        if client_version > ADDS_EXPLICITLY:
            self._check_level()
        ongoing = known.with_partitions(added, client_version=client_version, now_ms=now_ms)
        return Outcome(None, (ongoing,))

    def missing_partitions(
        self, transactional_id: str, producer: Producer, partitions: Iterable[Partition]
    ) -> frozenset[Partition]:
        """The partitions that are not in the open transaction (AddPartitionsToTxn 4, VerifyOnly).

        Raises:
            Refused: as for `add_partitions`.
        """
        known = self._by_id.get(transactional_id)
        if known is None:
            raise _unknown(transactional_id)
        check_owner(known, producer)
        if known.state is ONGOING:
            check_not_kept(known)
        else:
            check_not_prepared(known)
        return frozenset(partitions) - known.partitions

    def verify_partitions(
        self, transactional_id: str, producer: Producer, partitions: Iterable[Partition]
    ) -> None:
        """Check that a write belongs to the open transaction: TxnOffsetCommit up to version 4.

        The open transaction in a partition's log cannot replace this check (KIP-890): a decided one
        stays open there until its marker is written, and must not grow.

        Raises:
            Refused: as for `add_partitions`; TRANSACTION_ABORTABLE for a partition not added.
        """
        missing = self.missing_partitions(transactional_id, producer, partitions)
        if missing:
            names = ", ".join(f"{topic}-{index}" for topic, index in sorted(missing))
            raise Refused(
                Code.TRANSACTION_ABORTABLE, f"not in the transaction of {transactional_id}: {names}"
            )

    def end(
        self, transactional_id: str, producer: Producer, *, commit: bool, now_ms: int
    ) -> Outcome[Producer]:
        """EndTxn (26) up to version 4: prepare the end, or answer a retry of it.

        Args:
            producer: the producer id and epoch of the request.
            commit: False to abort.
            now_ms: the wall time, in ms.

        Returns:
            The same producer, with the PREPARE record and `WriteMarkers`; neither for a retry.

        Raises:
            Refused: INVALID_REQUEST, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED,
                CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE.
        """
        known = self._by_id.get(transactional_id)
        if known is None:
            raise _unknown(transactional_id)
        check_owner(known, producer)
        if known.state is ONGOING:
            if known.next_producer_epoch == NO_EPOCH:
                prepared = known.prepared(commit=commit, now_ms=now_ms)
            else:  # it was kept
                prepared = known.prepared_of_kept(
                    producer, commit=commit, client_version=ADDS_EXPLICITLY, now_ms=now_ms
                )
            return Outcome(producer, (prepared,), self._markers(prepared))
        check_not_prepared(known)
        match known.state, commit:
            case (State.COMPLETE_COMMIT, True) | (State.COMPLETE_ABORT, False):
                return Outcome(producer)  # a retry: the first answer was lost
        raise cannot_end(known, commit=commit)

    def end_and_bump(
        self, transactional_id: str, producer: Producer, *, commit: bool, now_ms: int
    ) -> Outcome[Producer]:
        """EndTxn (26) from version 5: as `end`, and the producer gets the next epoch.

        The epoch of a request distinguishes a retry from the next request, so that a transaction
        without partitions can be aborted too (KIP-890).

        Returns:
            The client's new producer id and epoch; a new id when the epochs are used up.

        Raises:
            Refused: as for `end`, and UNSUPPORTED_VERSION (see `_check_level`).
        """
        known = self._by_id.get(transactional_id)
        if known is None:
            raise _unknown(transactional_id)
        check_not_prepared(known)
        owner = known.owner
        retries_rotation = known.previous_producer_id == producer.producer_id and (
            producer.producer_epoch,
            owner.producer_epoch,
        ) == (LAST_EPOCH, 0)
        if owner.producer_id != producer.producer_id and not retries_rotation:
            raise wrong_producer_id(known, producer)
        # Kafka compares the epoch alone: if EndTxn 4 ended the transaction, it answers the current
        # epoch to any producer with the previous one, also to a fenced one.
        is_its_own = known.last_producer_epoch == producer.producer_epoch
        is_next = owner.producer_epoch == producer.producer_epoch + 1
        retries = retries_rotation or (is_next and is_its_own)
        is_current = owner.producer_epoch == producer.producer_epoch <= LAST_EPOCH
        check_epoch_to_end(known, producer, is_current=is_current, retries=retries)
        match known.state, commit:
            case State.ONGOING, _:
                pass
            case State.COMPLETE_ABORT, False if retries and known.producer_epoch > LAST_EPOCH:
                pass  # the timeout aborted it at its last epoch: the producer gets a new id
            case (State.COMPLETE_COMMIT, True) | (State.COMPLETE_ABORT, False) if retries:
                return Outcome(known.producer)
            case (State.EMPTY | State.COMPLETE_COMMIT | State.COMPLETE_ABORT, False) if is_current:
                pass
            case _:
                raise cannot_end(known, commit=commit)
        self._check_level()
        successor = self._after(owner)
        if known.is_kept:
            prepared = known.prepared_of_kept(
                successor, commit=commit, client_version=BUMPS_EPOCHS, now_ms=now_ms
            )
        else:
            is_new_id = successor.producer_id != owner.producer_id
            prepared = known.prepared_and_bumped(
                commit=commit,
                now_ms=now_ms,
                next_producer_id=successor.producer_id if is_new_id else NO_PRODUCER_ID,
            )
        return Outcome(successor, (prepared,), self._markers(prepared))

    def describe(self, transactional_id: str) -> Transaction:
        """DescribeTransactions (65). Raises INVALID_REQUEST or TRANSACTIONAL_ID_NOT_FOUND."""
        known = self._find(transactional_id)
        if known is None:
            raise Refused(Code.TRANSACTIONAL_ID_NOT_FOUND, transactional_id)
        return known

    def listed(
        self,
        *,
        now_ms: int,
        states: Collection[State] = (),
        producer_ids: Set[int] = frozenset(),
        open_longer_than_ms: int = -1,
    ) -> tuple[Transaction, ...]:
        """ListTransactions (66): the transactions that match all given filters.

        A transactional id that never had a transaction is older than any duration: its start is
        -1, and Kafka subtracts that (TransactionStateManager.listTransactionStates).
        """
        return tuple(
            known
            for known in self._by_id.values()
            if (not states or known.state in states)
            and (not producer_ids or known.producer_id in producer_ids)
            and (open_longer_than_ms < 0 or now_ms - known.started_ms > open_longer_than_ms)
        )

    def ongoing(self) -> Collection[Transaction]:
        """The open transactions, as a live view."""
        return self._ongoing.values()

    @property
    def prepared_count(self) -> int:
        """The number of decided transactions without all their markers."""
        return len(self._prepared)

    # Markers and time

    def markers_written(self, prepared: Transaction, *, now_ms: int) -> Outcome[None]:
        """Complete a transaction whose markers are all written."""
        if self._by_id.get(prepared.transactional_id) != prepared:
            return Outcome(None)  # a repeated call
        return Outcome(None, (prepared.completed(now_ms=now_ms),))

    def unfinished(self) -> tuple[WriteMarkers, ...]:
        """The effects of decided transactions without all their markers, for a restart."""
        return tuple(
            WriteMarkers(prepared, self._coordinator_epoch) for prepared in self._prepared.values()
        )

    def next_deadline(self, now: Moment) -> int | None:
        """When `tick` is next due, by the monotonic time in ms; None for never.

        It is due at the latest when the wall time has to be read again.
        """
        timeout_ms = self._timeouts.next() if self._ongoing else None
        due_ms = self._expirations.next()
        if timeout_ms is not None and (due_ms is None or timeout_ms < due_ms):
            due_ms = timeout_ms
        if due_ms is None:
            return None
        wait_ms = due_ms - now.wall_ms
        if wait_ms <= 0:
            return now.monotonic_ms
        recheck_ms = _EXPIRATION_RECHECK_MS if timeout_ms is None else _TIMEOUT_RECHECK_MS
        return now.monotonic_ms + (wait_ms if wait_ms < recheck_ms else recheck_ms)

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        """Abort transactions past their timeout, under a new epoch that fences the producer.

        Remove transactional ids that were unused for `transactional.id.expiration.ms`.
        Both use the wall time, which the records have, as in Kafka. One decision per transaction,
        see `Machine.tick`.
        """
        now_ms = now.wall_ms
        for transactional_id in self._timeouts.take_due(now_ms):
            # The replay cancels it, unless the log does not take the record.
            again_ms = _next_check_ms(now_ms + _RETRY_MS, self._timeout_check_ms)
            self._timeouts.set(transactional_id, again_ms)
            aborted = self._fenced(self._ongoing[transactional_id], now_ms=now_ms)
            yield Outcome(None, (aborted,), self._markers(aborted))
        again_ms = _next_check_ms(now_ms + _RETRY_MS, self._expiration_check_ms)
        unused = self._expirations.take_due(now_ms)
        while expired := tuple(Expired(each) for each in islice(unused, EXPIRED_PER_DECISION)):
            for each in expired:
                self._expirations.set(each.transactional_id, again_ms)
            yield Outcome(None, expired, is_atomic=False)

    # The log

    def replay(self, record: TransactionRecord) -> None:
        """Apply a record, and set the check that finds its timeout or expiration.

        Nothing else changes a transaction.
        """
        transactional_id = record.transactional_id
        before = self._by_id.get(transactional_id)
        if before is not None:  # a compacted log begins in any state
            after = record.state if isinstance(record, Transaction) else State.DEAD
            assert before.state in MAY_FOLLOW[after], (before, record)
            if before.state is ONGOING:
                del self._ongoing[transactional_id]
                self._timeouts.cancel(transactional_id)
            elif before.state in PREPARED:
                del self._prepared[transactional_id]
            else:
                self._expirations.cancel(transactional_id)
        if isinstance(record, Expired):
            self._by_id.pop(transactional_id, None)
            return
        self._by_id[transactional_id] = record
        if record.state is ONGOING:
            self._ongoing[transactional_id] = record
            due_ms = record.deadline_ms
            if due_ms is not None:
                check_ms = due_ms + -due_ms % self._timeout_check_ms  # as `_next_check_ms`
                self._timeouts.set(transactional_id, check_ms)
        elif record.state in PREPARED:
            self._prepared[transactional_id] = record
        else:
            due_ms = record.updated_ms + self._expiration_ms
            check_ms = due_ms + -due_ms % self._expiration_check_ms
            self._expirations.set(transactional_id, check_ms)

    # Decisions

    def _find(self, transactional_id: str) -> Transaction | None:
        """The transaction of an id; None for an unknown id. Raises Refused INVALID_REQUEST."""
        check_transactional_id(transactional_id)
        return self._by_id.get(transactional_id)

    def _check_level(self) -> None:
        """Check that the record's version has a field for a client of version 2 (KIP-890).

        Records of transaction.version 0 have none. Kafka refuses the request too, but then the
        transactional id is unusable until the coordinator moves; here the state is unchanged.

        Raises:
            Refused: UNSUPPORTED_VERSION.
        """
        if self._transaction_version() < 1:
            raise Refused(
                Code.UNSUPPORTED_VERSION, "transaction.version 0 knows no such transactions"
            )

    def _fenced(self, known: Transaction, *, now_ms: int) -> Transaction:
        """Aborted under the next epoch, which no producer gets; the last epoch is kept for this."""
        if known.is_kept:
            # Both move on: the producer of the records, and the one that the transaction was kept
            # for, which may have sent an end that is still on its way.
            return known.prepared_of_kept(
                Producer(known.next_producer_id, known.next_producer_epoch + 1),
                commit=False,
                client_version=min(self._transaction_version(), BUMPS_EPOCHS),
                now_ms=now_ms,
            )
        if self._transaction_version() < BUMPS_EPOCHS:
            return known.fenced(now_ms=now_ms)
        return known.prepared_and_bumped(commit=False, now_ms=now_ms)

    def _kept(
        self, known: Transaction, expected: Producer | None, *, now_ms: int
    ) -> Outcome[Producer | Kept | Code]:
        """Keep an open transaction for a new producer (KIP-939): both pairs are in the record.

        Each call fences the producer of the call before. The producer that wrote the transaction
        is fenced too, but its id and epoch stay those of the transaction and of its markers.
        """
        if expected not in (None, known.owner):
            raise Refused(Code.PRODUCER_FENCED, f"{expected} is not {known.owner}")
        self._check_level()
        owner = self._after(known.owner)
        return Outcome(Kept(owner, known.producer), (known.kept(owner, now_ms=now_ms),))

    def _after(self, producer: Producer) -> Producer:
        """The next epoch, or a new producer id when the epochs are used up."""
        if producer.producer_epoch >= LAST_EPOCH:
            return Producer(self._next_producer_id(), 0)
        return Producer(producer.producer_id, producer.producer_epoch + 1)

    def _successor(self, known: Transaction, expected: Producer | None) -> tuple[Producer, int]:
        """The owner after InitProducerId, and the epoch before if that had the same owner.

        KIP-360: a client that sends its id and epoch continues only if no other client followed,
        and a retry gets the same answer. If the epochs are used up, Kafka fails on a retry with
        UNKNOWN_SERVER_ERROR; here it is answered like any other.
        """
        epoch = NO_EPOCH if expected is None else expected.producer_epoch
        if epoch not in (NO_EPOCH, known.producer_epoch):
            if epoch != known.last_producer_epoch:
                raise Refused(Code.PRODUCER_FENCED, f"{expected} is not {known.producer}")
            if known.producer_epoch <= LAST_EPOCH:
                return known.producer, epoch
        return self._after(known.producer), epoch

    def _markers(self, prepared: Transaction) -> tuple[WriteMarkers, ...]:
        return (WriteMarkers(prepared, self._coordinator_epoch),)


def _unknown(transactional_id: str) -> Refused:
    """The refusal of an id without a producer id; raises Refused INVALID_REQUEST if it is none."""
    check_transactional_id(transactional_id)
    return Refused(Code.INVALID_PRODUCER_ID_MAPPING, f"{transactional_id} has no producer id")


def _next_check_ms(deadline_ms: int, interval_ms: int) -> int:
    """The first multiple of the check interval that is not before a deadline."""
    return -(-deadline_ms // interval_ms) * interval_ms
