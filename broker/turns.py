"""Long work in slices, so that the event loop serves other clients in between.

    turns = Turns()
    for partition in many:
        ...
        await turns.pause()

`pause` returns at once while the slice lasts. When the slice is over, `pause` waits until all other
paused jobs had a slice, one in each turn of the event loop: many long requests together stop the
loop for about as long as one does. All that begins in one turn shares one slice.

What a job saw before a pause may have changed behind it. A decision and its replay have no pause
between them.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import Final
from weakref import WeakKeyDictionary

from .clock import monotonic_s

SLICE_S: float = 0.0025
"""How long a job works before `pause` lets the event loop run."""


class Turns:
    """The slices of one job. Made in the turn in which the job begins.

    Without a running event loop there is no other work, and `pause` never waits.
    """

    __slots__ = ("_ends_s", "_line")

    def __init__(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._line, self._ends_s = None, math.inf
            return
        self._line = _line_of(loop)
        self._ends_s = self._line.first_slice_ends_s()

    def is_over(self) -> bool:
        """Whether the slice is used up, for work that can stop but cannot wait."""
        return monotonic_s() >= self._ends_s

    async def pause(self) -> None:
        """Let the event loop run if the slice is used up; if not, this costs next to nothing."""
        if monotonic_s() >= self._ends_s and self._line is not None:
            await self._line.wait()
            self._ends_s = monotonic_s() + SLICE_S


class _Line:
    """The paused jobs of one event loop, in the order of their pauses."""

    __slots__ = ("_ends_s", "_is_turn_known", "_waiting", "_wakes")

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._wakes = False
        self._is_turn_known = False
        self._ends_s = 0.0

    def first_slice_ends_s(self) -> float:
        """When the slice ends that all jobs share which begin in this turn of the loop."""
        if not self._is_turn_known:
            self._is_turn_known = True
            self._ends_s = monotonic_s() + SLICE_S
            asyncio.get_running_loop().call_soon(self._next_turn)
        return self._ends_s

    def _next_turn(self) -> None:
        self._is_turn_known = False

    def wait(self) -> asyncio.Future[None]:
        """Done when it is the next job's turn."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        if not self._wakes:
            self._wakes = True
            asyncio.get_running_loop().call_soon(self._wake)
        return future

    def _wake(self) -> None:
        """Give the next turn to the job that waits longest."""
        waiting = self._waiting
        while waiting:
            future = waiting.popleft()
            if not future.done():  # cancelled with its request
                future.set_result(None)
                break
        self._wakes = bool(waiting)
        if waiting:
            asyncio.get_running_loop().call_soon(self._wake)


_lines: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Line]] = WeakKeyDictionary()


def _line_of(loop: asyncio.AbstractEventLoop) -> _Line:
    line = _lines.get(loop)
    if line is None:
        line = _lines[loop] = _Line()
    return line
