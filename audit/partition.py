"""The rules of one partition: a fold over its batches, and its index of aborted transactions.

The state is one entry for each producer, as in Kafka's ProducerStateManager. A hole, which
compaction or retention leaves, excuses what it may have removed. `producers.py` judges the
transactions that come out, because only the coordinator's log tells a repeated marker from that of
a transaction without data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .aborted_index import IndexFold
from .rows import (
    ABORT,
    COMMIT,
    NONE,
    UNREADABLE,
    AbortedEntry,
    LogBatch,
    LogRow,
    PartitionSummary,
    PartitionTransaction,
    SegmentStart,
)
from .rules import Finding, evidence

DAY_MS: Final = 24 * 60 * 60 * 1000
_BATCHES_KEPT: Final = 5
_PRODUCERS_KEPT: Final = 100_000
_WRAP: Final = 1 << 31

Out = Finding | PartitionTransaction | PartitionSummary


class _Producer:
    """The state of one producer id."""

    __slots__ = ("batches", "coordinator_epoch", "epoch", "fence", "first", "is_unknown", "last",
                 "marker", "records")  # fmt: skip

    def __init__(self, epoch: int, *, is_unknown: bool) -> None:
        self.epoch = epoch
        self.is_unknown = is_unknown  # its first batches may be deleted
        self.batches: list[LogBatch] = []  # the last ones of this epoch
        self.last: LogBatch | None = None  # the last batch or marker
        self.marker: LogBatch | None = None  # the last marker
        self.fence: LogBatch | None = None  # the marker that began this epoch
        self.coordinator_epoch = NONE
        self.first: LogBatch | None = None  # of the open transaction
        self.records = 0

    def begin(self, epoch: int, fence: LogBatch | None) -> None:
        self.epoch = epoch
        self.fence = fence
        self.batches.clear()
        self.is_unknown = False


class PartitionFold:
    """Rows of one partition, in the order of offsets.

    Args:
        may_have_gaps: the topic is, or may be, compacted.
        expiration_ms: `producer.id.expiration.ms`: a producer that is silent for so long may begin
            with any sequence number.
        producers_kept: only above this number are silent producers forgotten.
    """

    def __init__(
        self,
        topic: str,
        partition: int,
        *,
        may_have_gaps: bool = True,
        expiration_ms: int = DAY_MS,
        producers_kept: int = _PRODUCERS_KEPT,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self._may_have_gaps = may_have_gaps
        self._expiration_ms = expiration_ms
        self._producers: dict[int, _Producer] = {}
        self._open: dict[int, int] = {}  # first offset of each open transaction, rising
        self._producers_kept = self._forgets_at = producers_kept
        self._index = IndexFold()
        self._previous: LogBatch | None = None
        self._start = NONE
        self._next = NONE
        self._last_hole = NONE
        self._is_damaged = False  # the batch before had a wrong CRC
        self._oldest_ms = NONE  # of the first batch
        self._newest_ms = NONE
        self._counts = {"batches": 0, "records": 0, "size": 0, COMMIT: 0, ABORT: 0}

    def row(self, row: LogRow) -> Iterator[Out]:
        """Pass the next row; yields findings and ended transactions."""
        if isinstance(row, SegmentStart):
            if self._start == NONE:
                self._start = self._next = row.base_offset
                if row.base_offset > 0:
                    self._last_hole = row.base_offset - 1
            yield from self._index.segment(row)
        elif isinstance(row, AbortedEntry):
            yield from self._index.entry(row, self._last_hole)
        else:
            yield from self._batch(row)

    def end(self) -> Iterator[Out]:
        """The log ends; yields open transactions and the summary."""
        yield from self._index.end(self._last_hole)
        for producer_id in self._open:
            state = self._producers[producer_id]
            assert state.first is not None
            yield self._transaction(state.first, state, None)
        start, end = max(self._start, 0), max(self._next, 0)
        yield PartitionSummary(
            self.topic,
            self.partition,
            start,
            end,
            min(self._open.values(), default=end),
            self._last_hole == NONE,
            self._last_hole,
            self._counts["batches"],
            self._counts["records"],
            self._counts["size"],
            self._counts[COMMIT],
            self._counts[ABORT],
            len(self._open),
            self._oldest_ms,
            self._newest_ms,
        )

    def _batch(self, batch: LogBatch) -> Iterator[Out]:
        if not batch.crc_ok:
            self._is_damaged = True
            yield self._finding("damaged-batch", "the CRC of the batch is wrong", batch)
            return
        yield from self._order(batch)
        self._counts["batches"] += 1
        self._counts["records"] += 0 if batch.control else batch.records
        self._counts["size"] += batch.size
        yield from self._index.batch(batch, self._last_hole)
        if batch.producer_id >= 0:
            if batch.control:
                yield from self._marker(batch)
            else:
                yield from self._data(batch)
        elif batch.transactional and not batch.control:
            yield self._finding(
                "transactional-without-producer", "a transactional batch has no producer id", batch
            )
        if self._previous is None:
            self._oldest_ms = batch.max_timestamp
        self._previous = batch
        if batch.max_timestamp > self._newest_ms:
            self._newest_ms = batch.max_timestamp

    def _order(self, batch: LogBatch) -> Iterator[Finding]:
        """Offsets and leader epochs; notes a hole."""
        before = self._previous
        if self._start == NONE:
            self._start = self._next = batch.base_offset
            if batch.base_offset > 0:
                self._last_hole = batch.base_offset - 1
        if batch.base_offset < self._next or batch.last_offset < batch.base_offset:
            text = f"the offset {batch.base_offset} is twice; {self._next} was expected"
            yield self._finding("offset-overlap", text, batch, before)
        elif batch.base_offset > self._next:
            self._last_hole = batch.base_offset - 1
            if not self._may_have_gaps and not self._is_damaged and before is not None:
                text = f"offsets {self._next} to {self._last_hole} are missing"
                yield self._finding("offset-gap", text, batch, before)
        self._is_damaged = False
        self._next = max(self._next, batch.last_offset + 1)
        if before is not None and batch.leader_epoch < before.leader_epoch:
            text = f"leader epoch {batch.leader_epoch} follows {before.leader_epoch}"
            yield self._finding("leader-epoch-back", text, batch, before)

    # Data

    def _data(self, batch: LogBatch) -> Iterator[Out]:
        state = self._producers.get(batch.producer_id)
        if state is None:
            state = self._new_producer(batch, is_unknown=False)
        elif batch.producer_epoch < state.epoch:
            yield self._old_epoch(batch, state)
            return
        elif batch.producer_epoch > state.epoch:
            if batch.base_sequence > 0 and not self._is_excused(batch, state):
                text = f"epoch {batch.producer_epoch} begins with sequence {batch.base_sequence}"
                yield self._finding("sequence-start", text, batch, state.last)
            state.begin(batch.producer_epoch, None)
        elif batch.base_sequence >= 0 and not self._is_excused(batch, state):
            yield from self._sequence(batch, state)
        if state.first is not None and not batch.transactional:
            text = f"producer {batch.producer_id} has an open transaction, without this batch"
            yield self._finding("plain-batch-in-transaction", text, batch, state.first)
        state.is_unknown = False
        state.last = batch
        state.batches = [*state.batches[1 - _BATCHES_KEPT :], batch]
        if batch.transactional:
            if state.first is None:
                state.first = batch
                state.records = 0
                self._open[batch.producer_id] = batch.base_offset
            state.records += batch.records

    def _sequence(self, batch: LogBatch, state: _Producer) -> Iterator[Finding]:
        """Check a batch against the one before of the same epoch."""
        last = state.batches[-1] if state.batches else None
        if last is None:
            if batch.base_sequence and not state.is_unknown:
                text = f"epoch {batch.producer_epoch} begins with sequence {batch.base_sequence}"
                yield self._finding("sequence-start", text, batch, state.last)
            return
        expected = (last.last_sequence + 1) % _WRAP
        if batch.base_sequence == expected:
            return
        for known in state.batches:
            if (known.base_sequence, known.last_sequence) == (
                batch.base_sequence,
                batch.last_sequence,
            ):
                text = f"sequences {batch.base_sequence} to {batch.last_sequence} are twice"
                yield self._finding("sequence-duplicate", text, batch, known)
                return
        ahead = (batch.base_sequence - expected) % _WRAP
        rule = "sequence-gap" if ahead < _WRAP // 2 else "sequence-back"
        text = f"sequence {batch.base_sequence} follows {last.last_sequence}"
        yield self._finding(rule, text, batch, last)

    def _is_excused(self, batch: LogBatch, state: _Producer) -> bool:
        """Whether a batch between may have been removed, or the producer's state expired."""
        last = state.last
        if last is None or self._last_hole > last.last_offset:
            return True
        return batch.max_timestamp - last.max_timestamp >= self._expiration_ms

    def _old_epoch(self, batch: LogBatch, state: _Producer) -> Finding:
        text = f"a batch of epoch {batch.producer_epoch} follows epoch {state.epoch}"
        if state.fence is not None:
            return self._finding("fenced-write", text, batch, state.fence)
        return self._finding("epoch-back", text, batch, state.last)

    # Markers

    def _marker(self, batch: LogBatch) -> Iterator[Out]:
        if batch.records == 0:
            return  # compaction left the header alone
        if batch.control_type == UNREADABLE:
            yield self._finding("marker-unreadable", "a control batch is not a marker", batch)
        if batch.control_type not in (COMMIT, ABORT):
            return
        state = self._producers.get(batch.producer_id)
        if state is None:
            state = self._new_producer(batch, is_unknown=self._last_hole >= 0)
        elif batch.producer_epoch < state.epoch:
            text = f"a marker of epoch {batch.producer_epoch} follows epoch {state.epoch}"
            yield self._finding("marker-epoch-back", text, batch, state.last)
        elif batch.producer_epoch > state.epoch:
            state.begin(batch.producer_epoch, batch)
        if batch.coordinator_epoch < state.coordinator_epoch:
            text = f"coordinator epoch {batch.coordinator_epoch} follows {state.coordinator_epoch}"
            yield self._finding("coordinator-epoch-back", text, batch, state.marker)
        ended = self._transaction(state.first or batch, state, batch)
        if state.first is not None:
            self._counts[batch.control_type] += 1
            self._open.pop(batch.producer_id, None)
            if batch.control_type == ABORT:
                stable = next(iter(self._open.values()), batch.last_offset + 1)
                yield from self._index.aborted(ended, stable, state.marker)
            elif self._index.claims(batch):
                yield from self._index.committed(batch)
        yield ended
        state.first = None
        state.last = state.marker = batch
        state.coordinator_epoch = max(state.coordinator_epoch, batch.coordinator_epoch)

    def _transaction(
        self, first: LogBatch, state: _Producer, marker: LogBatch | None
    ) -> PartitionTransaction:
        has_data = state.first is not None
        last = state.batches[-1] if has_data and state.batches else first
        ended = marker or first
        before = None if has_data else state.marker
        if before is not None and before.producer_epoch != ended.producer_epoch:
            before = None
        return PartitionTransaction(
            self.topic,
            self.partition,
            first.producer_id,
            first.producer_epoch,
            first.base_offset if has_data else NONE,
            last.last_offset if has_data else NONE,
            state.records if has_data else 0,
            first.first_timestamp if has_data else NONE,
            last.max_timestamp if has_data else NONE,
            NONE if marker is None else ended.base_offset,
            NONE if marker is None else ended.producer_epoch,
            NONE if marker is None else ended.max_timestamp,
            NONE if marker is None else ended.coordinator_epoch,
            "" if marker is None else ended.control_type,
            before.control_type if before is not None else "",
            before.coordinator_epoch if before is not None else NONE,
            self._last_hole > (NONE if state.marker is None else state.marker.base_offset),
        )

    def _new_producer(self, batch: LogBatch, *, is_unknown: bool) -> _Producer:
        if len(self._producers) >= self._forgets_at:
            self._forget_silent()
            self._forgets_at = max(self._producers_kept, 2 * len(self._producers))
        state = _Producer(batch.producer_epoch, is_unknown=is_unknown)
        self._producers[batch.producer_id] = state
        return state

    def _forget_silent(self) -> None:
        """Forget producers that Kafka has forgotten."""
        oldest_ms = self._newest_ms - self._expiration_ms
        for producer_id, state in list(self._producers.items()):
            is_silent = state.last is not None and state.last.max_timestamp < oldest_ms
            if is_silent and state.first is None:
                del self._producers[producer_id]

    def _finding(
        self, rule: str, text: str, batch: LogBatch, other: LogBatch | None = None
    ) -> Finding:
        return Finding(
            rule,
            text,
            self.topic,
            self.partition,
            batch.base_offset,
            batch.producer_id,
            batch.producer_epoch,
            evidence=evidence(other, batch),
        )
