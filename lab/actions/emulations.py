"""Bugs of Kafka that Ottla lacks, and shows when a test asks for them (docs/reference/lab/bugs.md).

Each is a small part of the broker that decides as Kafka did before the bug was corrected.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final, cast

from ...broker.runtime.markers.marker_channel import Entry, MarkerChannel
from ...broker.variants import Variants
from ...coordinator.outcome import Outcome, Producer
from ...coordinator.transactions.coordinator import Transactions
from ...coordinator.transactions.records import decode
from ...coordinator.transactions.states import (
    BUMPS_EPOCHS,
    LAST_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    Partition,
    State,
    Transaction,
    TransactionRecord,
)
from ...protocol.errors import Code, Refused

if TYPE_CHECKING:
    from ...broker.node import Node

BUGS: Final = {
    "KAFKA-19690": "a late Produce of an aborted transaction is answered INVALID_TXN_STATE",
    "KAFKA-19999": "a marker that is sent again is refused, and its transaction never completes",
    "KAFKA-20090": "an abort after the timeout of the last epoch gives out the epoch after it",
    "KAFKA-20357": "an InitProducerId that changed the producer id is fenced when it is repeated",
}
"""The bugs and what each does, in one sentence."""


class UnknownBug(ValueError):
    """There is no such bug to rehearse; the text names it and those that exist."""


class KafkaBugs(Variants):
    """The parts of a broker with bugs of Kafka.

    Args:
        names: of the bugs.

    Raises:
        UnknownBug: one of them is not in BUGS.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(dict.fromkeys(names))
        for name in self.names:
            if name not in BUGS:
                raise UnknownBug(f"there is no bug {name} to rehearse; bugs: {', '.join(BUGS)}")

    def transactions(self) -> type[Transactions]:
        usual = super().transactions()
        return _EpochAfterTheLast if "KAFKA-20090" in self.names else usual

    def decode_transaction(self) -> Callable[[bytes, bytes | None], TransactionRecord | None]:
        usual = super().decode_transaction()
        return _without_last_epoch if "KAFKA-20357" in self.names else usual

    def marker_channel(self) -> type[MarkerChannel]:
        usual = super().marker_channel()
        return _MarkersOnce if "KAFKA-19999" in self.names else usual

    def unverified(self, code: Code) -> Code:
        """KAFKA-19690: a missing open transaction is noticed before the old epoch."""
        is_old = code in (Code.PRODUCER_FENCED, Code.INVALID_PRODUCER_EPOCH)
        return Code.INVALID_TXN_STATE if is_old and "KAFKA-19690" in self.names else code


def _without_last_epoch(key: bytes, value: bytes | None) -> TransactionRecord | None:
    """KAFKA-20357: the log does not say which epoch was the last before the id changed."""
    record = decode(key, value)
    if (
        isinstance(record, Transaction)
        and record.state is State.EMPTY
        and record.previous_producer_id != NO_PRODUCER_ID
    ):
        return record._replace(last_producer_epoch=NO_EPOCH)
    return record


class _EpochAfterTheLast(Transactions):
    """KAFKA-20090: a producer gets the epoch that is kept for fencing, and can never be fenced."""

    def end_and_bump(
        self, transactional_id: str, producer: Producer, *, commit: bool, now_ms: int
    ) -> Outcome[Producer]:
        known = self._by_id.get(transactional_id)
        if (
            known is not None
            and known.state is State.COMPLETE_ABORT
            and not commit
            and producer == Producer(known.producer_id, LAST_EPOCH)
            and known.producer_epoch > LAST_EPOCH
        ):
            return Outcome(known.producer)
        open_ = self._beyond(transactional_id, producer)
        if open_ is not None and open_.state is State.ONGOING:
            raise Refused(Code.UNKNOWN_SERVER_ERROR, f"{producer} has no epoch to end it under")
        return super().end_and_bump(transactional_id, producer, commit=commit, now_ms=now_ms)

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[Partition],
        *,
        now_ms: int,
        client_version: int = BUMPS_EPOCHS,
    ) -> Outcome[None]:
        known = self._beyond(transactional_id, producer)
        if known is None:
            return super().add_partitions(
                transactional_id, producer, partitions,
                now_ms=now_ms, client_version=client_version,
            )  # fmt: skip
        added = frozenset(partitions)
        if known.state is State.ONGOING and added <= known.partitions:
            return Outcome(None)
        ongoing = known.with_partitions(added, client_version=client_version, now_ms=now_ms)
        return Outcome(None, (ongoing,))

    def missing_partitions(
        self, transactional_id: str, producer: Producer, partitions: Iterable[Partition]
    ) -> frozenset[Partition]:
        known = self._beyond(transactional_id, producer)
        if known is None:
            return super().missing_partitions(transactional_id, producer, partitions)
        return frozenset(partitions) - known.partitions

    def _beyond(self, transactional_id: str, producer: Producer) -> Transaction | None:
        """The transaction of a producer with the epoch after the last; None for others."""
        known = self._by_id.get(transactional_id)
        is_beyond = producer.producer_epoch > LAST_EPOCH
        return known if known is not None and is_beyond and known.producer == producer else None

    def replay(self, record: TransactionRecord) -> None:
        super().replay(record)
        if isinstance(record, Transaction) and record.producer_epoch > LAST_EPOCH:
            self._timeouts.cancel(record.transactional_id)

    def _fenced(self, known: Transaction, *, now_ms: int) -> Transaction:
        if known.producer_epoch > LAST_EPOCH:
            raise Refused(Code.UNKNOWN_SERVER_ERROR, f"{known.producer} cannot be fenced")
        return super()._fenced(known, now_ms=now_ms)


class _MarkersOnce(MarkerChannel):
    """KAFKA-19999: a partition takes no marker with the epoch that it has seen."""

    def _route(self, entries: Sequence[Entry]) -> None:
        super()._route([entry for entry in entries if not self._is_seen(entry)])

    def _is_seen(self, entry: Entry) -> bool:
        """Whether the partition has the marker; if so, it is refused for good."""
        ending, partition = entry
        leader_id = self._partitions.leader_of(*partition)
        transaction = ending.effect.transaction
        if leader_id is None or leader_id < 0 or transaction.client_version < BUMPS_EPOCHS:
            return False
        leader = cast("Node", self._partitions).cluster.nodes[leader_id]
        try:
            known = leader.open_led_log(*partition).producers.entry(transaction.producer_id)
        except Refused:
            return False
        if known is None or known.producer_epoch < ending.producer.producer_epoch:
            return False
        why = f"epoch {ending.producer.producer_epoch} is not above {known.producer_epoch}"
        self._note_result(entry, Code.INVALID_PRODUCER_EPOCH, why)
        return True
