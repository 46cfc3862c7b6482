"""Compares the indexes of aborted transactions, which have no checksum, with the data.

A `read_committed` consumer skips the transactions in the index. So for data from an earlier process
the index is compared with the markers behind each range that is read, once. The comparison reads up
to the markers of the range; all transactions passed on the way are known afterwards.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from typing import Final

from ...protocol.batch import BatchHeader
from ...protocol.control import read_marker
from ...protocol.errors import Refused
from ..segments.segment import Segment
from .aborted import AbortedTransactions

_BATCHES_IN_A_STEP: Final = 128


class TransactionCheck:
    """Compares ranges, and remembers the compared ones.

    Args:
        until: the end of the data from an earlier process.
    """

    def __init__(self, until: int) -> None:
        self.until = until
        self._known: list[tuple[int, int]] = []  # disjoint ranges of offsets, rising
        self._is_begun = False

    def is_known(self, first_offset: int, last_offset: int) -> bool:
        """Whether a range was compared."""
        at = bisect_right(self._known, first_offset, key=_start) - 1
        last_offset = min(last_offset, self.until - 1)
        return at >= 0 and last_offset < self._known[at][1]

    def agrees(
        self,
        segments: Sequence[Segment],
        aborted: AbortedTransactions,
        first_offset: int,
        last_offset: int,
    ) -> bool:
        """Whether the index contains exactly those batches of a range whose marker aborts them.

        Args:
            segments: from the one that contains `first_offset` on.
        """
        steps = self.agrees_in_steps(segments, aborted, first_offset, last_offset)
        while True:
            try:
                next(steps)
            except StopIteration as done:
                return bool(done.value)

    def agrees_in_steps(
        self,
        segments: Sequence[Segment],
        aborted: AbortedTransactions,
        first_offset: int,
        last_offset: int,
    ) -> Generator[None, None, bool]:
        """As `agrees`, in steps of half a millisecond, between which other work can run.

        A marker ends a consumer's skipping of its producer, whatever the index contains before it.
        The comparison ends where damage may have removed a marker: later markers prove nothing.
        """
        if self.is_known(first_offset, last_offset):
            return True
        if not self._is_begun:
            self._is_begun = True
            if not aborted.is_consistent():
                return False
        waiting: dict[int, tuple[int, int]] = {}  # first and last undecided batch by producer
        markers: dict[int, int] = {}
        end_offset = first_offset
        for count, (segment, position, header) in enumerate(_batches(segments, first_offset), 1):
            if segment.mark:
                return True  # compacted meanwhile
            if header.base_offset > last_offset and not any(
                first <= last_offset for first, _ in waiting.values()
            ):
                break
            if segment.unverified is not None and segment.unverified.damages:
                break
            producer_id = header.producer_id
            if header.is_control:
                if producer_id in waiting and not _agrees(
                    aborted, producer_id, markers.get(producer_id, -1), waiting.pop(producer_id),
                    is_aborted=not _commits(segment, position, header),
                ):  # fmt: skip
                    return False
                markers[producer_id] = header.base_offset
            elif header.is_transactional:
                first, _ = waiting.get(producer_id, (header.base_offset, 0))
                waiting[producer_id] = (first, header.base_offset)
            end_offset = header.next_offset
            if count % _BATCHES_IN_A_STEP == 0:
                yield
        undecided = min((first for first, _ in waiting.values()), default=end_offset)
        self._remember(first_offset, max(undecided, last_offset + 1))
        return True

    def _remember(self, first_offset: int, end_offset: int) -> None:
        apart = [one for one in self._known if one[1] < first_offset or end_offset < one[0]]
        met = [one for one in self._known if one not in apart]
        start = min([first_offset, *(one[0] for one in met)])
        end = max([end_offset, *(one[1] for one in met)])
        self._known = sorted([*apart, (start, end)])


def _start(range_: tuple[int, int]) -> int:
    return range_[0]


def _agrees(
    aborted: AbortedTransactions,
    producer_id: int,
    since: int,
    batches: tuple[int, int],
    *,
    is_aborted: bool,
) -> bool:
    """Whether a transaction's batches, from the first to the last, all agree with the index.

    Args:
        since: offset of the producer's previous marker; -1: unknown.
    """
    first, last = batches
    entries = [
        entry
        for entry in aborted.between(first, last + 1)
        if entry.producer_id == producer_id and entry.first_offset > since
    ]
    if is_aborted:
        return any(entry.first_offset <= first and last <= entry.last_offset for entry in entries)
    return not any(entry.first_offset <= last and first <= entry.last_offset for entry in entries)


def _batches(
    segments: Sequence[Segment], first_offset: int
) -> Iterator[tuple[Segment, int, BatchHeader]]:
    for segment in segments:
        start = segment.position_of(first_offset) if segment is segments[0] else 0
        if start is not None:
            for position, header in segment.headers(start):
                yield segment, position, header


def _commits(segment: Segment, position: int, header: BatchHeader) -> bool:
    try:
        marker = read_marker(segment.batch_at(position, header), 0, header)
    except Refused:  # compaction removed its record, as no batch of its transaction is left
        return True
    return marker is None or marker.commit
