"""The locks of acquired records: when each ends."""

from __future__ import annotations

import heapq
from typing import Final

from ..volatile import Volatile
from .in_flight import InFlight

_MOST_STALE: Final = 64


class Locks(Volatile):
    """When the locks of acquired records end: ranges of offsets in a heap.

    An acknowledgement leaves its range in the heap. It is removed when it is the earliest, or when
    most of the heap is like it.

    Args:
        in_flight: tells whether a range still has the lock.
    """

    __slots__ = ("_heap", "_in_flight", "_limit")

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self._heap: list[tuple[int, int, int]] = []
        self._limit = _MOST_STALE

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, due_ms: int, first_offset: int, last_offset: int) -> None:
        """Note the end of the lock of a range, whose runs have this `due_ms`."""
        heapq.heappush(self._heap, (due_ms, first_offset, last_offset))
        if len(self._heap) > self._limit:
            self._heap = [lock for lock in self._heap if self._is_held(lock)]
            heapq.heapify(self._heap)
            self._limit = max(2 * len(self._heap), _MOST_STALE)

    def next(self) -> int | None:
        """When the earliest lock ends; None without locks."""
        while self._heap:
            if self._is_held(self._heap[0]):
                return self._heap[0][0]
            heapq.heappop(self._heap)
        return None

    def take_due(self, now_ms: int) -> tuple[int, int, int] | None:
        """Remove the earliest lock that has ended: its time and its range; None without one."""
        due_ms = self.next()
        if due_ms is None or due_ms > now_ms:
            return None
        return heapq.heappop(self._heap)

    def _is_held(self, lock: tuple[int, int, int]) -> bool:
        due_ms, first_offset, last_offset = lock
        return any(
            run.due_ms == due_ms for run in self._in_flight.overlapping(first_offset, last_offset)
        )
