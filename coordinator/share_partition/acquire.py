"""How a member acquires records that were read from the log (SharePartition.acquire in Kafka).

Records that are in flight already and available are acquired again, batch by batch; records behind
them become new batches. A batch of the log is never divided in the mode BATCH_OPTIMIZED. Records
that were delivered often come in smaller portions, and those at their last delivery alone, so that
one record that breaks its consumers does not take the others with it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ..volatile import Volatile
from .in_flight import InFlightBatch, Run
from .partition import SharePartition
from .states import (
    Acquired,
    AcquireMode,
    AcquireRequest,
    Fetched,
    LogBatch,
    RecordState,
    ShareLimits,
)


def acquire(
    partition: SharePartition,
    request: AcquireRequest,
    fetched: Fetched,
    limits: ShareLimits,
    *,
    now_ms: int,
) -> list[Acquired]:
    """Give a member what it may have of the records that were read, with locks.

    Args:
        now_ms: the monotonic time.
    """
    if request.max_records <= 0 or not fetched.batches:
        return []
    acquired = _Acquisition(partition, request, fetched, limits, now_ms).run()
    if fetched.aborted and acquired:
        acquired = _without_aborted(partition, acquired, fetched)
    return acquired


def _without_aborted(
    partition: SharePartition, acquired: list[Acquired], fetched: Fetched
) -> list[Acquired]:
    """Archive what was acquired of aborted transactions, and return the rest."""
    for aborted in fetched.aborted:
        rest: list[Acquired] = []
        for each in acquired:
            if each.last_offset < aborted.base_offset or each.first_offset > aborted.last_offset:
                rest.append(each)
                continue
            if each.first_offset < aborted.base_offset:
                rest.append(each._replace(last_offset=aborted.base_offset - 1))
            if each.last_offset > aborted.last_offset:
                rest.append(each._replace(first_offset=aborted.last_offset + 1))
        acquired = rest
        partition.archive(aborted.base_offset, aborted.last_offset, RecordState.ACQUIRED)
    partition.advance()
    return acquired


class _Acquisition(Volatile):
    """One acquisition.

    Args:
        now_ms: the monotonic time.
    """

    __slots__ = (
        "_acquired", "_batches", "_count", "_fetched", "_limits", "_now_ms", "_partition",
        "_request",
    )  # fmt: skip

    def __init__(
        self,
        partition: SharePartition,
        request: AcquireRequest,
        fetched: Fetched,
        limits: ShareLimits,
        now_ms: int,
    ) -> None:
        self._partition = partition
        self._request = request
        self._fetched = fetched
        self._batches = fetched.batches
        self._limits = limits
        self._now_ms = now_ms
        self._acquired: list[Acquired] = []
        self._count = 0

    def run(self) -> list[Acquired]:
        """The ranges that the member has now, by offset."""
        partition = self._partition
        last_offset = self._batches[-1].last_offset
        if last_offset < partition.start_offset:
            return []
        most, last_offset = self._most(last_offset)
        if most <= 0:
            return []
        base_offset = self._batches[0].base_offset
        if partition.in_flight and self._fetched.fetch_offset < base_offset:
            # No log has these any more: it was compacted.
            state = RecordState.AVAILABLE
            partition.archive(self._fetched.fetch_offset, base_offset - 1, state)
            partition.look_for_available()
            partition.advance()
        first_offset = max(base_offset, partition.start_offset)
        if last_offset < first_offset:
            return []
        known = partition.in_flight.between(first_offset, last_offset)
        if not known:
            self._add_new(first_offset, last_offset, most)
            return self._acquired
        behind = known[-1].last_offset + 1
        for batch in known:
            if self._count >= most:
                return self._acquired
            if batch.is_gap:
                self._acquire_gap(batch, first_offset, last_offset, most - self._count)
            elif self._acquire_again(batch, first_offset, last_offset, most - self._count):
                return self._acquired
        if self._count < most and behind <= last_offset:
            self._add_new(behind, last_offset, most - self._count)
        return self._acquired

    def _most(self, last_offset: int) -> tuple[int, int]:
        """The most records to acquire, and the last offset, under the limit of locks."""
        partition, asked = self._partition, self._request.max_records
        room = self._limits.max_record_locks - partition.records_in_flight
        if room > 0:
            return min(asked, room), last_offset
        # The locks are used up: only what lies in between is acquired again.
        in_between = partition.end_offset - self._fetched.fetch_offset + 1
        return min(asked, in_between), min(last_offset, partition.end_offset)

    def _acquire_again(
        self, batch: InFlightBatch, first_offset: int, last_offset: int, most: int
    ) -> bool:
        """Acquire what is available of a batch; return whether nothing may be acquired after it."""
        request, limits = self._request, self._limits
        available = [
            run for run in batch.overlapping(first_offset, last_offset) if run.is_available
        ]
        if not available:
            return False
        delivered_often = max(2, (limits.delivery_count_limit + 1) // 2)
        is_throttled = any(run.delivery_count >= delivered_often for run in available)
        if is_throttled and self._count > 0:
            return True
        by_count = request.mode is AcquireMode.RECORD_LIMIT
        room = most if by_count else batch.size
        portion = -1
        taken: list[Run] = []
        count = 0
        for run in batch.pieces(first_offset, last_offset):
            if not run.is_available:
                continue
            is_last = limits.delivery_count_limit > 2 and (
                run.delivery_count == limits.delivery_count_limit - 1
            )
            if is_last and count:
                break
            if run.delivery_count >= delivered_often and portion < 0:
                portion = max(1, batch.size >> (run.delivery_count - delivered_often + 1))
            size = min(len(run), room - count)
            if portion >= 0:
                size = min(size, max(portion - count, 1))
            if is_last:
                size = 1
            taken.append(self._take(batch, run, size))
            count += size
            if is_last or count == room or (portion >= 0 and count >= portion):
                break
        self._count += count
        self._tell(taken)
        batch.join(batch.first_offset, batch.last_offset)
        return is_throttled

    def _take(self, batch: InFlightBatch, run: Run, size: int) -> Run:
        """Acquire the first records of a run."""
        if size < len(run):
            batch.cut(run.first_offset + size)
        run.state = RecordState.ACQUIRED
        run.delivery_count += 1
        run.member_id = self._request.member_id
        self._partition.lock(run, self._limits, self._now_ms)
        return run

    def _tell(self, taken: Sequence[Run]) -> None:
        """Note ranges for the answer: neighbours with the same delivery count are one."""
        joins = False
        for run in taken:
            acquired = Acquired(run.first_offset, run.last_offset, run.delivery_count)
            if joins:
                last = self._acquired[-1]
                if (last.last_offset + 1, last.delivery_count) == (
                    acquired.first_offset, acquired.delivery_count,
                ):  # fmt: skip
                    self._acquired[-1] = last._replace(last_offset=acquired.last_offset)
                    continue
            self._acquired.append(acquired)
            joins = True

    def _acquire_gap(
        self, gap: InFlightBatch, first_offset: int, last_offset: int, most: int
    ) -> None:
        """Acquire new records that lie between stored ones."""
        first_offset = max(first_offset, gap.first_offset)
        last_offset = min(last_offset, gap.last_offset)
        available = next(
            (run for run in gap.overlapping(first_offset, last_offset) if run.is_available), None
        )
        if available is None:
            return
        first_offset = max(first_offset, available.first_offset)
        last_offset = min(last_offset, available.last_offset)
        end = self._end_of(first_offset, last_offset, most)
        in_flight = self._partition.in_flight
        if gap.first_offset < first_offset:
            # What lies before has no records; the rest of the gap becomes a batch of its own.
            rest = Run(first_offset, gap.last_offset, RecordState.AVAILABLE, 0)
            gap.drop_from(first_offset)
            gap.is_gap = False
            gap = InFlightBatch(rest, is_gap=True)
            in_flight.add(gap)
        in_flight.begin_later(gap, end + 1)
        self._add(first_offset, end, most)

    def _add_new(self, first_offset: int, last_offset: int, most: int) -> None:
        """Acquire records that are not in flight yet."""
        partition = self._partition
        if not partition.in_flight:
            first_offset = max(first_offset, partition.end_offset)
            partition.start_offset = first_offset
        end = self._end_of(first_offset, last_offset, most)
        partition.end_offset = max(partition.end_offset, end)
        self._add(first_offset, end, most)

    def _end_of(self, first_offset: int, last_offset: int, most: int) -> int:
        """The last offset to acquire: that of a batch of the log, unless the range ends before."""
        wanted = first_offset + most - 1
        if wanted >= last_offset:
            return last_offset
        at = bisect_right(self._batches, wanted, key=_base_offset) - 1
        if at >= 0 and wanted <= self._batches[at].last_offset:
            wanted = self._batches[at].last_offset
        return min(wanted, last_offset)

    def _add(self, first_offset: int, last_offset: int, most: int) -> None:
        """Add acquired records as new batches of at most `batch_size`, where the log has ends."""
        if self._request.mode is AcquireMode.RECORD_LIMIT:
            run = Run(first_offset, last_offset, RecordState.AVAILABLE, 0)
            batch = InFlightBatch(run)
            self._partition.in_flight.add(batch)
            size = min(most, len(run))
            if size < len(run):
                self._partition.look_for_available()
            self._tell([self._take(batch, run, size)])
            self._count += size
            return
        size = max(self._request.batch_size, 1)
        begins = first_offset
        if last_offset - first_offset >= size:
            at = bisect_right(self._batches, first_offset, key=_base_offset)
            for batch_of_log in self._batches[at:]:
                if batch_of_log.base_offset > last_offset:
                    break
                if batch_of_log.base_offset - begins >= size:
                    self._add_batch(begins, batch_of_log.base_offset - 1)
                    begins = batch_of_log.base_offset
        self._add_batch(begins, last_offset)

    def _add_batch(self, first_offset: int, last_offset: int) -> None:
        run = Run(first_offset, last_offset, RecordState.AVAILABLE, 0)
        batch = InFlightBatch(run)
        self._partition.in_flight.add(batch)
        self._tell([self._take(batch, run, len(run))])
        self._count += last_offset - first_offset + 1


def _base_offset(batch: LogBatch) -> int:
    return batch.base_offset
