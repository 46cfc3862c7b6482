"""Merges the state batches of writes (PersisterStateBatchCombiner).

Where batches overlap, more deliveries win, then the higher state. Neighbours with the same state
and number of deliveries become one batch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from operator import itemgetter
from typing import Final

from .states import NO_OFFSET, StateBatch

_last_offset: Final = itemgetter(1)
_first_offset: Final = itemgetter(0)


def are_in_order(batches: Sequence[StateBatch]) -> bool:
    """Whether no batch is empty, and each is behind the one before."""
    behind = None
    for first, last, _, _ in batches:
        if last < first or (behind is not None and first <= behind):
            return False
        behind = last
    return True


def combine(
    so_far: tuple[StateBatch, ...], new: Sequence[StateBatch], start_offset: int
) -> tuple[StateBatch, ...]:
    """The batches of a state after a write, without what is before the start offset.

    The work grows with the number of new batches, and not with that of all: a write that
    acknowledges one of a thousand records is as fast as in a small state.

    Args:
        so_far: in order, as an earlier call has returned them.
        new: in any order; they may overlap. Empty ones are left out.
        start_offset: -1 for unknown.
    """
    kept = _from(so_far, start_offset)
    fresh = [
        each if each[0] >= start_offset else _cut(each, start_offset)
        for each in new
        if each[1] >= start_offset and each[1] >= each[0]
    ]
    if not fresh:
        return kept
    if not kept:
        return tuple(_swept(fresh))
    # Only neighbours of the new batches can change; one more on each side may become a part.
    first = min(map(_first_offset, fresh)) - 1
    last = max(map(_last_offset, fresh)) + 1
    begin = bisect_left(kept, first, key=_last_offset)
    end = bisect_left(kept, last + 1, key=_first_offset)
    return (*kept[:begin], *_merged(kept[begin:end], _swept(fresh)), *kept[end:])


def _from(batches: tuple[StateBatch, ...], start_offset: int) -> tuple[StateBatch, ...]:
    """The batches, in order, without what is before the start offset."""
    begin = bisect_left(batches, start_offset, key=_last_offset)
    if begin == len(batches):
        return ()
    first = _cut(batches[begin], start_offset)
    return batches[begin:] if first is batches[begin] else (first, *batches[begin + 1 :])


def _cut(batch: StateBatch, start_offset: int) -> StateBatch:
    if start_offset == NO_OFFSET or batch.first_offset >= start_offset:
        return batch
    return batch._replace(first_offset=start_offset)


def _swept(batches: Iterable[StateBatch]) -> list[StateBatch]:
    """The batches without overlaps: at each offset the strongest of them."""
    waiting = sorted(batches)
    if are_in_order(waiting):
        return _joined(waiting)
    out: list[StateBatch] = []
    active: list[tuple[int, int, int]] = []  # a heap, the strongest first: -count, -state, last
    at, position = waiting[0].first_offset, 0
    while position < len(waiting) or active:
        if not active:
            at = waiting[position].first_offset
        while position < len(waiting) and waiting[position].first_offset <= at:
            each = waiting[position]
            heappush(active, (-each.delivery_count, -each.delivery_state, each.last_offset))
            position += 1
        while active and active[0][2] < at:
            heappop(active)
        if not active:
            continue
        count, state, until = active[0]
        if position < len(waiting):
            until = min(until, waiting[position].first_offset - 1)
        _add(out, StateBatch(at, until, -state, -count))
        at = until + 1
    return out


def _merged(older: Sequence[StateBatch], newer: Sequence[StateBatch]) -> list[StateBatch]:
    """Two sequences, each in order, as one: at each offset the stronger of both."""
    out: list[StateBatch] = []
    left, right = iter(older), iter(newer)
    one, other = next(left, None), next(right, None)
    while one is not None and other is not None:
        if one[0] == other[0] and one[1] == other[1]:
            _add(out, _stronger(one, other))
            one, other = next(left, None), next(right, None)
        elif one[1] < other[0]:
            _add(out, one)
            one = next(left, None)
        elif other[1] < one[0]:
            _add(out, other)
            other = next(right, None)
        elif one[0] < other[0]:
            _add(out, one._replace(last_offset=other[0] - 1))
            one = one._replace(first_offset=other[0])
        elif other[0] < one[0]:
            _add(out, other._replace(last_offset=one[0] - 1))
            other = other._replace(first_offset=one[0])
        else:
            last = min(one[1], other[1])
            _add(out, _stronger(one, other)._replace(last_offset=last))
            one = one._replace(first_offset=last + 1) if last < one[1] else next(left, None)
            other = other._replace(first_offset=last + 1) if last < other[1] else next(right, None)
    for rest, more in ((one, left), (other, right)):
        if rest is not None:
            _add(out, rest)
            for each in more:
                _add(out, each)
    return out


def _stronger(one: StateBatch, other: StateBatch) -> StateBatch:
    """The batch with more deliveries, or with the higher state if these are as many."""
    if (one[3], one[2]) > (other[3], other[2]):
        return one
    return other


def _joined(batches: Sequence[StateBatch]) -> list[StateBatch]:
    """Batches in order, the same neighbours as one."""
    out: list[StateBatch] = []
    behind = state = count = None
    for batch in batches:
        if batch[0] == behind and batch[2] == state and batch[3] == count:
            out[-1] = out[-1]._replace(last_offset=batch[1])
        else:
            out.append(batch)
        behind, state, count = batch[1] + 1, batch[2], batch[3]
    return out


def _add(out: list[StateBatch], batch: StateBatch) -> None:
    """Append a batch, or lengthen the last one if it is the same and ends there."""
    if out:
        tail = out[-1]
        if tail[1] + 1 == batch[0] and tail[2] == batch[2] and tail[3] == batch[3]:
            out[-1] = tail._replace(last_offset=batch[1])
            return
    out.append(batch)
