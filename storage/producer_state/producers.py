"""Idempotence and open transactions of one partition: the state of each producer.

`check` decides and changes nothing, `apply` changes the state after the append. The rules are those
of Kafka's ProducerStateManager, ProducerAppendInfo and ProducerStateEntry (KIP-98, KIP-360,
KIP-890).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ...protocol.batch import MAX_SEQUENCE, NO_SEQUENCE, TRANSACTIONAL, BatchHeader
from ...protocol.control import Marker
from ...protocol.errors import Code, Refused
from ...protocol.named_tuple import NamedTuple

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1
LAST_EPOCH: Final = 0x7FFF
_BATCHES_KEPT: Final = 5


class SentBatch(NamedTuple):
    """One of a producer's last batches, as appended."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp_ms: int


class ProducerEntry:
    """The state of one producer id on this partition.

    Attributes:
        producer_epoch: the newest epoch seen.
        coordinator_epoch: epoch of the newest marker, -1 before the first.
        last_timestamp_ms: timestamp of its newest batch or marker.
        transaction_first_offset: first offset of its open transaction, -1 if none is open.
        batches: its last batches of this epoch, oldest first, to recognise duplicates.
    """

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "last_timestamp_ms",
        "producer_epoch",
        "producer_id",
        "transaction_first_offset",
    )

    def __init__(self, producer_id: int, producer_epoch: int = NO_EPOCH) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = -1
        self.last_timestamp_ms = -1
        self.transaction_first_offset = NO_OFFSET
        self.batches: list[SentBatch] = []

    @property
    def last_sequence(self) -> int:
        """The last sequence number of its newest batch, -1 if this epoch has none."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """The last offset of its newest batch, -1 if this epoch has none."""
        return self.batches[-1].last_offset if self.batches else NO_OFFSET


class CompletedTransaction(NamedTuple):
    """A transaction that a marker ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    committed: bool


class ProducerStates:
    """All producers of a partition, and its open transactions.

    Attributes:
        first_unstable_offset: first offset of the oldest open transaction; None without one.
    """

    __slots__ = ("_entries", "_open", "first_unstable_offset")

    def __init__(self, entries: Iterable[ProducerEntry] = ()) -> None:
        self._entries = {entry.producer_id: entry for entry in entries}
        began = [e for e in self._entries.values() if e.transaction_first_offset != NO_OFFSET]
        began.sort(key=lambda entry: entry.transaction_first_offset)
        # Transactions begin at rising offsets, so the first key is always the oldest.
        self._open = {entry.producer_id: entry.transaction_first_offset for entry in began}
        self.first_unstable_offset: int | None = next(iter(self._open.values()), None)

    def __len__(self) -> int:
        return len(self._entries)

    def producers(self) -> Iterator[ProducerEntry]:
        """All producers, unordered and read-only."""
        return iter(self._entries.values())

    def entry(self, producer_id: int) -> ProducerEntry | None:
        """A producer's state, read-only; None if it is unknown."""
        return self._entries.get(producer_id)

    def has_ongoing_transaction(self, producer_id: int) -> bool:
        return producer_id in self._open

    def check(self, header: BatchHeader, *, from_client: bool) -> SentBatch | None:
        """Check whether a producer's data batch may be appended.

        Args:
            from_client: False for batches of the broker itself, which have no sequence numbers.

        Returns:
            The batch in the log of which this is a duplicate; None otherwise.

        Raises:
            Refused: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE.
        """
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return None  # unknown producers may begin anywhere, as their records may be deleted
        if from_client:
            batches = entry.batches
            following = (batches[-1].last_sequence + 1) & MAX_SEQUENCE if batches else 0
            is_of_epoch = header.producer_epoch == entry.producer_epoch
            if not (is_of_epoch and header.base_sequence == following):
                for batch in batches if is_of_epoch else ():
                    if batch.first_sequence == header.base_sequence and (
                        batch.last_sequence == header.last_sequence
                    ):
                        return batch
                self._check_order(entry, header, following)
        elif header.producer_epoch < entry.producer_epoch:
            raise _old_epoch(entry, header)
        if entry.transaction_first_offset != NO_OFFSET and not header.attributes & TRANSACTIONAL:
            raise Refused(
                Code.INVALID_TXN_STATE,
                f"producer {entry.producer_id} has an open transaction without this batch",
            )
        return None

    def _check_order(self, entry: ProducerEntry, header: BatchHeader, following: int) -> None:
        """Refuse a batch that does not follow the newest one, whose next number is `following`."""
        epoch, sequence = header.producer_epoch, header.base_sequence
        if epoch < entry.producer_epoch:
            raise _old_epoch(entry, header)
        if epoch == entry.producer_epoch:
            if entry.producer_epoch == NO_EPOCH:
                return
            expected = following
        else:
            expected = sequence if entry.producer_epoch == NO_EPOCH else 0
        if sequence != expected:
            raise Refused(
                Code.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {entry.producer_id} of epoch {epoch} sent the sequence number"
                f" {sequence}; the next is {expected} of epoch {entry.producer_epoch}",
            )

    def apply(self, header: BatchHeader, base_offset: int) -> None:
        """A producer's data batch was appended at `base_offset`."""
        producer_id = header.producer_id
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id, header.producer_epoch)
        elif entry.producer_epoch != header.producer_epoch:
            entry.producer_epoch = header.producer_epoch
            entry.batches.clear()
        batches = entry.batches
        if len(batches) == _BATCHES_KEPT:
            del batches[0]
        delta, sequence = header.last_offset_delta, header.base_sequence
        batches.append(
            SentBatch(
                sequence,
                NO_SEQUENCE if sequence == NO_SEQUENCE else (sequence + delta) & MAX_SEQUENCE,
                base_offset,
                base_offset + delta,
                header.max_timestamp_ms,
            )
        )
        entry.last_timestamp_ms = header.max_timestamp_ms
        if header.attributes & TRANSACTIONAL and entry.transaction_first_offset == NO_OFFSET:
            entry.transaction_first_offset = base_offset
            self._open[producer_id] = base_offset
            if self.first_unstable_offset is None:
                self.first_unstable_offset = base_offset

    def check_marker(self, header: BatchHeader, marker: Marker) -> None:
        """Check whether a marker may be appended.

        Raises:
            Refused: INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.
        """
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return
        if header.producer_epoch < entry.producer_epoch:
            raise _old_epoch(entry, header)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise Refused(
                Code.TRANSACTION_COORDINATOR_FENCED,
                f"coordinator epoch {marker.coordinator_epoch} is below {entry.coordinator_epoch}",
            )

    def check_raised_epoch(self, producer_id: int, producer_epoch: int) -> None:
        """Check the epoch of a marker that ends a transaction of version 2 (KIP-1228).

        It is above the epoch of the transaction, unless that is the last epoch there is. A marker
        that comes again after the end is let in. Follows ProducerAppendInfo.checkProducerEpoch.

        Raises:
            Refused: INVALID_PRODUCER_EPOCH.
        """
        entry = self._entries.get(producer_id)
        if entry is None or producer_epoch != entry.producer_epoch:
            return  # a lower one is refused for any marker
        if entry.transaction_first_offset != NO_OFFSET and producer_epoch < LAST_EPOCH:
            raise Refused(
                Code.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id} has an open transaction of epoch {producer_epoch}; a "
                "higher one ends it",
            )

    def apply_marker(
        self, header: BatchHeader, marker: Marker, offset: int
    ) -> CompletedTransaction | None:
        """A marker was appended at `offset`. Returns the transaction that it ended, if any."""
        producer_id = header.producer_id
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id, header.producer_epoch)
        elif entry.producer_epoch != header.producer_epoch:
            # Transactions of version 2 end under a new epoch, whose sequence numbers begin at 0.
            entry.producer_epoch = header.producer_epoch
            entry.batches.clear()
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp_ms = header.max_timestamp_ms
        entry.transaction_first_offset = NO_OFFSET
        first_offset = self._open.pop(producer_id, None)
        if first_offset is None:
            return None
        self.first_unstable_offset = next(iter(self._open.values()), None)
        return CompletedTransaction(producer_id, first_offset, offset, marker.commit)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Remove producers silent for `expiration_ms`, except those with an open transaction."""
        for entry in list(self._entries.values()):
            silent_ms = now_ms - entry.last_timestamp_ms
            if silent_ms >= expiration_ms and entry.transaction_first_offset == NO_OFFSET:
                del self._entries[entry.producer_id]


def _old_epoch(entry: ProducerEntry, header: BatchHeader) -> Refused:
    return Refused(
        Code.INVALID_PRODUCER_EPOCH,
        f"producer {entry.producer_id} wrote with epoch {header.producer_epoch};"
        f" its epoch is {entry.producer_epoch}",
    )
