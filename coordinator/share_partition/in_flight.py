"""The records between the start and the end of a share partition, in batches of runs.

A batch is what one fetch has acquired together. Kafka keeps one state for a batch, or one for each
offset when they differ; here a batch has runs of neighbours with the same state, so that a batch of
a million records takes little memory while its members treat them alike.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..volatile import Volatile
from .states import RecordState

if TYPE_CHECKING:
    from .changes import Change


class Run(Volatile):
    """Neighbouring records with the same state.

    Attributes:
        member_id: the member that has acquired them; empty if none has.
        due_ms: the monotonic time at which their lock ends; 0 without one.
        change: the change that waits for the share coordinator; None without one. `state` is
            already the new state then.
        member_before: who has them again if the change fails.
    """

    __slots__ = (
        "change", "delivery_count", "due_ms", "first_offset", "last_offset", "member_before",
        "member_id", "state",
    )  # fmt: skip

    def __init__(
        self, first_offset: int, last_offset: int, state: RecordState, delivery_count: int
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.state = state
        self.delivery_count = delivery_count
        self.member_id = ""
        self.due_ms = 0
        self.change: Change | None = None
        self.member_before = ""

    def __len__(self) -> int:
        return self.last_offset - self.first_offset + 1

    @property
    def is_available(self) -> bool:
        """Whether a member may acquire the records."""
        return self.state is RecordState.AVAILABLE and self.change is None

    @property
    def is_settled(self) -> bool:
        """Whether the start of the partition may pass the records."""
        return self.state.is_terminal and self.change is None

    def is_like(self, other: Run) -> bool:
        """Whether one run could be both."""
        return (
            self.state is other.state
            and self.delivery_count == other.delivery_count
            and self.due_ms == other.due_ms
            and self.change is other.change
            and self.member_id == other.member_id
            and self.member_before == other.member_before
        )

    def cut(self, offset: int) -> Run:
        """End before an offset, and return the rest."""
        rest = Run(offset, self.last_offset, self.state, self.delivery_count)
        rest.member_id, rest.due_ms = self.member_id, self.due_ms
        rest.change, rest.member_before = self.change, self.member_before
        self.last_offset = offset - 1
        return rest


class InFlightBatch(Volatile):
    """Records that were acquired together.

    Args:
        run: the one run that it has at first.
        is_gap: no member has fetched the records yet. The stored state has records behind them, so
            they lie within the partition.

    Attributes:
        size: how many records it had at first.
    """

    __slots__ = ("_firsts", "first_offset", "is_gap", "last_offset", "runs", "size")

    def __init__(self, run: Run, *, is_gap: bool = False) -> None:
        self.first_offset = run.first_offset
        self.last_offset = run.last_offset
        self.runs = [run]
        self._firsts = [run.first_offset]
        self.is_gap = is_gap
        self.size = len(run)

    def cut(self, offset: int) -> None:
        """Have a run begin at an offset that lies within the batch."""
        at = bisect_right(self._firsts, offset) - 1
        if self._firsts[at] != offset:
            self.runs.insert(at + 1, self.runs[at].cut(offset))
            self._firsts.insert(at + 1, offset)

    def overlapping(self, first_offset: int, last_offset: int) -> list[Run]:
        """The runs with records of a range, whole."""
        at = max(bisect_right(self._firsts, first_offset) - 1, 0)
        runs = self.runs[at : bisect_right(self._firsts, last_offset)]
        return runs[1:] if runs and runs[0].last_offset < first_offset else runs

    def pieces(self, first_offset: int, last_offset: int) -> list[Run]:
        """The runs of a range, cut at its ends if necessary."""
        first_offset = max(first_offset, self.first_offset)
        last_offset = min(last_offset, self.last_offset)
        if first_offset > last_offset:
            return []
        self.cut(first_offset)
        if last_offset < self.last_offset:
            self.cut(last_offset + 1)
        return self.runs[
            bisect_left(self._firsts, first_offset) : bisect_right(self._firsts, last_offset)
        ]

    def join(self, first_offset: int, last_offset: int) -> None:
        """Make one run of neighbours that are alike, in and around a range."""
        at = max(bisect_right(self._firsts, first_offset) - 2, 0)
        end = min(bisect_right(self._firsts, last_offset) + 1, len(self.runs))
        joined: list[Run] = []
        for run in self.runs[at:end]:
            if joined and joined[-1].is_like(run):
                joined[-1].last_offset = run.last_offset
            else:
                joined.append(run)
        if len(joined) < end - at:
            self.runs[at:end] = joined
            self._firsts[at:end] = [run.first_offset for run in joined]

    def drop_before(self, offset: int) -> list[Run]:
        """Begin at an offset that lies within the batch; return the runs before it."""
        self.cut(offset)
        at = bisect_left(self._firsts, offset)
        dropped = self.runs[:at]
        del self.runs[:at], self._firsts[:at]
        self.first_offset = offset
        return dropped

    def drop_from(self, offset: int) -> None:
        """End before an offset that lies within the batch and is not its first."""
        self.cut(offset)
        at = bisect_left(self._firsts, offset)
        del self.runs[at:], self._firsts[at:]
        self.last_offset = offset - 1


class InFlight(Volatile):
    """All batches of a share partition, by offset; they never overlap."""

    __slots__ = ("_firsts", "batches")

    def __init__(self) -> None:
        self.batches: list[InFlightBatch] = []
        self._firsts: list[int] = []

    def __bool__(self) -> bool:
        return bool(self.batches)

    @property
    def last_offset(self) -> int:
        """The last record of the last batch; there must be one."""
        return self.batches[-1].last_offset

    def add(self, batch: InFlightBatch) -> None:
        """Add a batch that overlaps no other."""
        at = bisect_right(self._firsts, batch.first_offset)
        self.batches.insert(at, batch)
        self._firsts.insert(at, batch.first_offset)

    def floor(self, offset: int) -> InFlightBatch | None:
        """The last batch that begins at or before an offset."""
        at = bisect_right(self._firsts, offset) - 1
        return self.batches[at] if at >= 0 else None

    def between(self, first_offset: int, last_offset: int) -> list[InFlightBatch]:
        """The batches that begin within a range, or hold its first offset."""
        at = bisect_right(self._firsts, first_offset) - 1
        if at < 0 or self.batches[at].last_offset < first_offset:
            at += 1
        return self.batches[at : bisect_right(self._firsts, last_offset)]

    def pieces(self, first_offset: int, last_offset: int) -> Iterator[tuple[InFlightBatch, Run]]:
        """The runs of a range with their batches, cut at its ends if necessary."""
        for batch in self.between(first_offset, last_offset):
            for run in batch.pieces(first_offset, last_offset):
                yield batch, run

    def overlapping(self, first_offset: int, last_offset: int) -> Iterator[Run]:
        """The runs with records of a range, whole."""
        for batch in self.between(first_offset, last_offset):
            yield from batch.overlapping(first_offset, last_offset)

    def drop_before(self, offset: int) -> list[Run]:
        """Forget what lies before an offset; return the runs that are gone."""
        dropped: list[Run] = []
        gone = 0
        for batch in self.batches:
            if batch.last_offset >= offset:
                if batch.first_offset < offset:
                    dropped += batch.drop_before(offset)
                    self._firsts[gone] = offset
                break
            dropped += batch.runs
            gone += 1
        del self.batches[:gone], self._firsts[:gone]
        return dropped

    def begin_later(self, batch: InFlightBatch, offset: int) -> None:
        """Have one batch begin at an offset within it, or go if nothing is left of it."""
        at = bisect_left(self._firsts, batch.first_offset)
        if offset > batch.last_offset:
            del self.batches[at], self._firsts[at]
        else:
            batch.drop_before(offset)
            self._firsts[at] = offset
