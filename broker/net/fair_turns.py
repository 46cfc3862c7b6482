"""Fair scheduling: connections share the event loop evenly, however much each has sent.

A single request is answered at once, in the turn of the event loop that received it. Work beyond a
slice waits in a queue, as does all work once the turn has used its time: between two turns the loop
reads other sockets, runs timers and handles signals.

A connection is new when it enters the queue. It gets one request served before the connections that
had a slice and have more to do, so that a client with one request at a time never waits for another
client's flood (the queues of RFC 8290, FQ-CoDel).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

SLICE_S: Final = 0.001  # for one connection before the next
TURN_S: Final = 0.004  # for all connections in one turn of the loop
READ_BYTES: Final = 4 << 20  # of large requests received in one turn
_READERS: Final = 16  # held connections that read again in one turn
_ENDS: Final = 32  # connections closed in one turn: each close is a slow system call


class Served(Protocol):
    """A connection, as the scheduler sees it."""

    def serve(self, until_s: float) -> bool:
        """Do some work: at least one piece, and none that begins after `until_s`.

        Returns:
            whether there is more to do at once.
        """

    def hold(self) -> None:
        """Stop receiving until `release`."""

    def release(self) -> None:
        """Receive again."""

    def give_up(self, why: str) -> None:
        """Close it after a fault of the broker, and log the reason."""


class FairTurns:
    """Divides the time of one event loop among connections.

    Args:
        now_s: returns the time, in seconds, that slices are measured by.
        read_bytes: the bytes of large requests received in one turn.
    """

    def __init__(self, now_s: Callable[[], float], read_bytes: int = READ_BYTES) -> None:
        self.now_s = now_s
        self._read_bytes = self._left_to_read = read_bytes
        self._reads_later: deque[Served] = deque()
        self._ends_later: deque[Callable[[], None]] = deque()
        self._new: deque[Served] = deque()
        self._old: deque[Served] = deque()
        self._queued: set[Served] = set()
        self._is_scheduled = False
        self._left_s = TURN_S  # for work that is done at once; each scheduled turn renews it

    def __len__(self) -> int:
        return len(self._queued)

    def take(self, one: Served) -> None:
        """Serve a connection that has work, now or in a later turn."""
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
        """Note a large receipt; hold the connection if this turn has received enough."""
        self._left_to_read -= size_bytes
        if self._left_to_read <= 0 or self._reads_later:
            one.hold()
            self._reads_later.append(one)
            self._schedule()

    def end(self, close: Callable[[], None]) -> None:
        """Call `close` in one of the next turns: thousands of connections may end at once."""
        self._ends_later.append(close)
        self._schedule()

    def forget(self, one: Served) -> None:
        """Remove a connection, which is lost."""
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
        """Serve connections for one turn: an old one first, so that new ones cannot starve them,
        then the new ones, then the other old ones."""
        self._left_s, self._left_to_read = TURN_S, self._read_bytes
        try:
            self._take_turn()
        finally:  # also after a fault of one of them, which the event loop logs
            later = self._new or self._old or self._reads_later or self._ends_later
            self._is_scheduled = bool(later)
            if self._is_scheduled:
                asyncio.get_running_loop().call_soon(self._take_turns)

    def _take_turn(self) -> None:
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

    def _serve(self, queue: deque[Served], until_s: float) -> None:
        one = queue.popleft()
        if one not in self._queued:
            return  # forgotten
        # A new one gets a single request served, so that many new ones do not delay each other.
        slice_s = SLICE_S if queue is self._old else 0.0
        try:
            is_more = one.serve(min(self.now_s() + slice_s, until_s))
        except Exception as fault:
            self._queued.discard(one)
            one.give_up(f"a fault of the broker: {fault!r}")
            raise
        if is_more:
            self._old.append(one)
        else:
            self._queued.discard(one)
