"""Who is served next: connections share the event loop fairly, however much each has sent.

A request that comes alone is answered in the wake-up that brought it. What is more than a slice of
work waits in a queue, and so does everything once a turn of the loop has done as much as it should:
between two turns the loop reads other sockets, runs timers and sees signals.

A connection that comes to the queue is new: it gets one request before those that have had a slice
and still want more, so that a client with one request at a time never waits for a flood of others
(the queues of RFC 8290, FQ-CoDel).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from ..clock import monotonic_s

SLICE_S: Final = 0.001  # for one connection before the next
TURN_S: Final = 0.004  # for all of them before the loop does something else
READ_BYTES: Final = 4 << 20  # of large requests that are received in a turn
_READERS: Final = 16  # that read on in a turn, after they had to wait for one
_ENDS: Final = 32  # connections that are closed in a turn: the system takes its time for each


class Served(Protocol):
    """One that shares."""

    def serve(self, until_s: float) -> bool:
        """Do some work: at least one piece, and no further one from `until_s` on.

        Returns:
            whether there is work left that could be done now.
        """

    def hold(self) -> None:
        """Receive nothing until `release`."""

    def release(self) -> None:
        """Receive again."""


class FairTurns:
    """Gives out the time of one event loop.

    Args:
        now_s: the time that slices are measured by.
        read_bytes: of large requests that are received in a turn.
    """

    def __init__(
        self, now_s: Callable[[], float] = monotonic_s, read_bytes: int = READ_BYTES
    ) -> None:
        self.now_s = now_s
        self._read_bytes = self._left_to_read = read_bytes
        self._reads_later: deque[Served] = deque()
        self._ends_later: deque[Callable[[], None]] = deque()
        self._new: deque[Served] = deque()
        self._old: deque[Served] = deque()
        self._queued: set[Served] = set()
        self._is_scheduled = False
        self._left_s = TURN_S  # at once; what is beyond has a turn scheduled, which renews it

    def __len__(self) -> int:
        return len(self._queued)

    def take(self, one: Served) -> None:
        """Serve one that has work now, or soon."""
        if not self._queued:
            left_s = self._left_s
            if left_s > 0:
                began_s = self.now_s()
                is_more = one.serve(began_s + (SLICE_S if left_s > SLICE_S else left_s))
                self._left_s = left_s - (self.now_s() - began_s)
                if is_more:
                    self._queue(self._old, one)
                return
        if one not in self._queued:
            self._queue(self._new, one)

    def received(self, one: Served, size_bytes: int) -> None:
        """Have one that received much wait for a later turn when this one has had enough."""
        self._left_to_read -= size_bytes
        if self._left_to_read <= 0 or self._reads_later:
            one.hold()
            self._reads_later.append(one)
            self._schedule()

    def end(self, close: Callable[[], None]) -> None:
        """Close a connection, when thousands leave at once in a later turn."""
        self._ends_later.append(close)
        self._schedule()

    def forget(self, one: Served) -> None:
        """Its connection is lost."""
        self._queued.discard(one)

    def _queue(self, where: deque[Served], one: Served) -> None:
        self._queued.add(one)
        where.append(one)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._take_turns)

    def _take_turns(self) -> None:
        """One turn of the loop: an old one, so that new ones never keep all from it, and the new
        ones before the other old ones."""
        self._left_s, self._left_to_read = TURN_S, self._read_bytes
        for _ in range(min(_READERS, len(self._reads_later))):
            self._reads_later.popleft().release()
        for _ in range(min(_ENDS, len(self._ends_later))):
            self._ends_later.popleft()()
        until_s = self.now_s() + TURN_S
        queue = self._old or self._new
        while queue:
            self._serve(queue, until_s)
            if self.now_s() >= until_s:
                break
            queue = self._new or self._old
        self._is_scheduled = bool(self._new or self._old or self._reads_later or self._ends_later)
        if self._is_scheduled:
            asyncio.get_running_loop().call_soon(self._take_turns)

    def _serve(self, queue: deque[Served], until_s: float) -> None:
        one = queue.popleft()
        if one not in self._queued:
            return  # forgotten
        # A new one gets a single request: many that come with a few each do not add up to a wait.
        slice_s = SLICE_S if queue is self._old else 0.0
        if one.serve(min(self.now_s() + slice_s, until_s)):
            self._old.append(one)
        else:
            self._queued.discard(one)
