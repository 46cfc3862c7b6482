"""The rules of the index of aborted transactions: its entries against the markers of the log.

An entry arrives before the batch at its last offset. The active segment's index may be written
later, so a missing entry is judged there only if a later one exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .rows import ABORT, AbortedEntry, LogBatch, PartitionTransaction, SegmentStart
from .rules import Finding, evidence

_MISSING_KEPT: Final = 100


class IndexFold:
    """The entries and markers of one partition, in the order of offsets."""

    def __init__(self) -> None:
        self._segment: SegmentStart | None = None  # None: indexes are not known
        self._entry: AbortedEntry | None = None  # that waits for its marker
        self._missing: list[Finding] = []  # in the active segment

    def segment(self, row: SegmentStart) -> Iterator[Finding]:
        """A data file begins."""
        self._segment = row
        yield from ()

    def entry(self, entry: AbortedEntry, last_hole: int) -> Iterator[Finding]:
        """An entry; its marker is the next batch."""
        yield from self.end(last_hole)
        self._entry = entry
        yield from self._missing
        self._missing.clear()

    def batch(self, batch: LogBatch, last_hole: int) -> Iterator[Finding]:
        """A batch, before it is judged: the waiting entry must be of this one."""
        entry = self._entry
        if entry is None:
            return
        if batch.base_offset != entry.last_offset or not (
            batch.control and batch.producer_id == entry.producer_id
        ):
            yield from self.end(last_hole)

    def claims(self, batch: LogBatch) -> bool:
        """Whether the waiting entry is of this batch."""
        return self._entry is not None and self._entry.last_offset == batch.base_offset

    def committed(self, marker: LogBatch) -> Iterator[Finding]:
        """A commit marker, for which an entry waits."""
        entry, self._entry = self._entry, None
        if entry is not None:
            yield _finding("aborted-index-extra", "its marker is a commit", entry, marker)

    def aborted(
        self, ended: PartitionTransaction, stable_offset: int, before: LogBatch | None
    ) -> Iterator[Finding]:
        """An abort marker ended a transaction with data.

        Args:
            stable_offset: the last stable offset behind the marker.
            before: the producer's previous marker.
        """
        entry, self._entry = self._entry, None
        segment = self._segment
        if entry is None:
            if segment is None:
                return
            missing = Finding(
                "aborted-index-missing",
                "an aborted transaction is not in the index: readers get its records",
                ended.topic,
                ended.partition,
                ended.marker_offset,
                ended.producer_id,
                ended.marker_epoch,
                evidence=evidence(segment, ended),
            )
            if not segment.is_last:
                yield missing
            elif len(self._missing) < _MISSING_KEPT:
                self._missing.append(missing)
            return
        if entry.first_offset > ended.first_offset:
            text = f"the transaction begins at {ended.first_offset}, its entry later"
            yield _finding("aborted-index-late", text, entry, ended)
        elif before is not None and entry.first_offset <= before.base_offset:
            text = f"the entry covers the producer's transaction before, up to {before.base_offset}"
            yield _finding("aborted-index-early", text, entry, before, ended)
        if entry.last_stable_offset > stable_offset:
            text = f"the last stable offset behind the marker is {stable_offset}"
            yield _finding("aborted-index-stable-offset", text, entry, ended)

    def end(self, last_hole: int) -> Iterator[Finding]:
        """No batch follows for the waiting entry."""
        entry, self._entry = self._entry, None
        if entry is not None and last_hole < entry.first_offset:
            yield _finding("aborted-index-extra", f"there is no {ABORT} marker", entry)


def _finding(
    rule: str, why: str, entry: AbortedEntry, *others: LogBatch | PartitionTransaction
) -> Finding:
    return Finding(
        rule,
        f"the entry of offsets {entry.first_offset} to {entry.last_offset}: {why}",
        entry.topic,
        entry.partition,
        entry.last_offset,
        entry.producer_id,
        evidence=evidence(entry, *others),
    )
