"""Long work in slices, so that the event loop serves other clients in between.

    turns = Turns()
    for partition in many:
        ...
        await turns.pause()
    answers = [... async for partition in turns.each(many)]

`pause` returns at once while the slice lasts. When the slice is over, `pause` waits until all other
paused jobs had a slice, one in each turn of the event loop: many long requests together stop the
loop for about as long as one does. All that begins in one turn shares one slice.

A job keeps in memory what it has done so far. So only a few requests go on in slices at a time, and
the others wait at their first pause until one of those is answered (RequestTurns, which a handler
finds in its context).

Timers that come due together share a slice in the same way: `run_in_turn`.

What a job saw before a pause may have changed behind it. A decision and its replay have no pause
between them.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from ..clock import monotonic_s

Item = TypeVar("Item")

SLICE_S: float = 0.0025
"""How long a job works before `pause` lets the event loop run."""
_PLACES: Final = 4


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

    def each(self, items: Iterable[Item]) -> _Each[Item]:
        """The items, with a `pause` before each of them.

        Args:
            items: what the event loop may not change meanwhile; else a copy of it.
        """
        return _Each(self, items)


class _Each(Generic[Item]):
    """What an `async for` runs over. Unlike an async generator it needs no closing."""

    __slots__ = ("_items", "_turns")

    def __init__(self, turns: Turns, items: Iterable[Item]) -> None:
        self._items = iter(items)
        self._turns = turns

    def __aiter__(self) -> _Each[Item]:
        return self

    async def __anext__(self) -> Item:
        if self._turns.is_over():
            await self._turns.pause()
        for item in self._items:
            return item
        raise StopAsyncIteration


class RequestTurns(Turns):
    """The slices of a request. `leave` follows when it is answered."""

    __slots__ = ("_has_place",)

    def __init__(self) -> None:
        super().__init__()
        self._has_place = False

    async def pause(self) -> None:
        """As `Turns.pause`; the first one that waits also waits for a place among the requests."""
        if monotonic_s() >= self._ends_s and self._line is not None:
            if not self._has_place:
                await self._line.enter()
                self._has_place = True
            await super().pause()

    def leave(self) -> None:
        """Let another request go on: this one is answered, or waits for something else.

        It may pause again, and then waits for a place again.
        """
        if self._has_place and self._line is not None:
            self._has_place = False
            self._line.leave()


class _Line:
    """The paused jobs of one event loop, in the order of their pauses."""

    __slots__ = (
        "_due", "_ends_s", "_entering", "_is_turn_known", "_places", "_runs_due", "_waiting",
        "_wakes",
    )  # fmt: skip

    def __init__(self) -> None:
        self._due: dict[Callable[[], None], None] = {}  # in the order in which they came
        self._runs_due = False
        self._entering: deque[asyncio.Future[None]] = deque()
        self._places = _PLACES
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

    def add_due(self, work: Callable[[], None]) -> None:
        """What a timer does, once, however often it is added before its turn."""
        self._due[work] = None
        if not self._runs_due:
            self._runs_due = True
            asyncio.get_running_loop().call_soon(self._run_due)

    def _run_due(self) -> None:
        """Do some of what is due, one after the other, until the slice of this turn is over."""
        turns = Turns()
        try:
            while self._due:
                work = next(iter(self._due))
                del self._due[work]
                work()
                if turns.is_over():
                    break
        finally:
            self._runs_due = bool(self._due)
            if self._due:
                asyncio.get_running_loop().call_soon(self._run_due)

    async def enter(self) -> None:
        """Take a place among the requests that go on in slices, in the order of asking."""
        if self._places > 0:
            self._places -= 1
            return
        future = asyncio.get_running_loop().create_future()
        self._entering.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # given a place in the same turn
                self.leave()
            raise

    def leave(self) -> None:
        """Give a place back."""
        while self._entering:
            future = self._entering.popleft()
            if not future.done():
                future.set_result(None)
                return
        self._places += 1

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


def run_in_turn(work: Callable[[], None]) -> None:
    """Call what a timer does in one of the next turns of the event loop.

    All such work of a process has one slice in each turn, in the order in which it came; at least
    one of them is called in a turn.

    Args:
        work: does not raise, and looks at `Turns.is_over` where it is long. What is equal to work
            that waits already is called once.
    """
    _line_of(asyncio.get_running_loop()).add_due(work)


_lines: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Line]] = WeakKeyDictionary()


def _line_of(loop: asyncio.AbstractEventLoop) -> _Line:
    line = _lines.get(loop)
    if line is None:
        line = _lines[loop] = _Line()
    return line
