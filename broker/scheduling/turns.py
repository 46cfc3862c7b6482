"""Runs long work in slices, so that the event loop serves other clients in between.

    turns = Turns()
    for partition in many:
        ...
        await turns.pause()
    answers = [... async for partition in turns.each(many)]

`pause` returns at once while the slice lasts. When the slice is over, `pause` waits until all other
paused jobs had a slice, one in each turn of the event loop: many long requests together stop the
loop for about as long as one does. All jobs that begin in one turn share one slice.

A job keeps its partial result in memory. So only a few requests continue in slices at a time; the
others wait at their first pause until one of them is answered (`RequestTurns`, in a handler's
context).

Timers that are due together share a slice in the same way: `run_in_turn`.

State may change during a pause. A decision and its replay have no pause between them.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from ..clock import SystemClock

Item = TypeVar("Item")

SLICE_S: Final = 0.0025
"""The time a job runs before `pause` lets the event loop run."""
_SLOTS: Final = 4
_SYSTEM_S: Final[Callable[[], float]] = SystemClock.monotonic_s


class Turns:
    """The slices of one job, created in the turn in which the job begins.

    Without a running event loop there is no other work, and `pause` never waits.
    """

    __slots__ = ("_ends_s", "_line", "_now_s")

    def __init__(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._line, self._now_s, self._ends_s = None, _SYSTEM_S, math.inf
            return
        line = self._line = _line_of(loop)
        self._now_s = line.now_s
        self._ends_s = line.first_slice_ends_s()

    def is_over(self) -> bool:
        """Whether the slice is used up, for work that can stop but cannot wait."""
        return self._now_s() >= self._ends_s

    async def pause(self) -> None:
        """Let the event loop run if the slice is used up; otherwise return at almost no cost."""
        if self._now_s() >= self._ends_s and self._line is not None:
            await self._line.wait()
            self._ends_s = self._now_s() + self._line.slice_s

    def each(self, items: Iterable[Item]) -> _Each[Item]:
        """The items, with a `pause` before each of them.

        Args:
            items: must not change during the loop; pass a copy if they may.
        """
        return _Each(self, items)


class _Each(Generic[Item]):
    """The iterator of `Turns.each`; unlike an async generator it needs no closing."""

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
    """The slices of a request; `leave` must be called when it is answered."""

    __slots__ = ("_has_slot",)

    def __init__(self) -> None:
        super().__init__()
        self._has_slot = False

    async def pause(self) -> None:
        """As `Turns.pause`; the first pause that waits also waits for a slot among the requests."""
        if self._now_s() >= self._ends_s and self._line is not None:
            if not self._has_slot:
                await self._line.enter()
                self._has_slot = True
            await super().pause()

    def leave(self) -> None:
        """Give the slot to another request: this one is answered, or waits for something else.

        If it pauses again, it waits for a slot again.
        """
        if self._has_slot and self._line is not None:
            self._has_slot = False
            self._line.leave()


class _Line:
    """The paused jobs of one event loop, in the order of their pauses."""

    __slots__ = (
        "_due", "_ends_s", "_entering", "_is_turn_known", "_runs_due", "_slots", "_waiting",
        "_wakes", "now_s", "slice_s",
    )  # fmt: skip

    def __init__(self) -> None:
        self.now_s = _SYSTEM_S
        self.slice_s = SLICE_S
        self._due: dict[Callable[[], None], None] = {}  # in order of arrival
        self._runs_due = False
        self._entering: deque[asyncio.Future[None]] = deque()
        self._slots = _SLOTS
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._wakes = False
        self._is_turn_known = False
        self._ends_s = 0.0

    def first_slice_ends_s(self) -> float:
        """The end of the slice that all jobs beginning in this turn of the loop share."""
        if not self._is_turn_known:
            self._is_turn_known = True
            self._ends_s = self.now_s() + self.slice_s
            asyncio.get_running_loop().call_soon(self._next_turn)
        return self._ends_s

    def _next_turn(self) -> None:
        self._is_turn_known = False

    def add_due(self, work: Callable[[], None]) -> None:
        """Add the work of a timer; it runs once, even if it is added again before its turn."""
        self._due[work] = None
        if not self._runs_due:
            self._runs_due = True
            asyncio.get_running_loop().call_soon(self._run_due)

    def _run_due(self) -> None:
        """Run due work, one item after another, until the slice of this turn is over."""
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
        """Wait for a slot among the requests that continue in slices, in order of arrival."""
        if self._slots > 0:
            self._slots -= 1
            return
        future = asyncio.get_running_loop().create_future()
        self._entering.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # it got a slot in the same turn
                self.leave()
            raise

    def leave(self) -> None:
        """Return a slot."""
        while self._entering:
            future = self._entering.popleft()
            if not future.done():
                future.set_result(None)
                return
        self._slots += 1

    def wait(self) -> asyncio.Future[None]:
        """A future that is done when the calling job may continue."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        if not self._wakes:
            self._wakes = True
            asyncio.get_running_loop().call_soon(self._wake)
        return future

    def _wake(self) -> None:
        """Let the job that has waited longest continue."""
        waiting = self._waiting
        while waiting:
            future = waiting.popleft()
            if not future.done():  # cancelled with its request
                future.set_result(None)
                break
        self._wakes = bool(waiting)
        if waiting:
            asyncio.get_running_loop().call_soon(self._wake)


def measure_slices_by(now_s: Callable[[], float]) -> None:
    """Measure the slices of the running event loop by a clock's `monotonic_s`."""
    _line_of(asyncio.get_running_loop()).now_s = now_s


def set_slice_s(slice_s: float) -> None:
    """Set the length of the slices of the running event loop, instead of SLICE_S seconds.

    With 0, each pause lets the event loop run; with math.inf, none does.
    """
    _line_of(asyncio.get_running_loop()).slice_s = slice_s


def run_in_turn(work: Callable[[], None]) -> None:
    """Call the work of a timer in one of the next turns of the event loop.

    All such work of a process shares one slice in each turn, in order of arrival; at least one
    function is called in each turn.

    Args:
        work: must not raise; if long, it checks `Turns.is_over`. Work that is equal to waiting
            work is called once.
    """
    _line_of(asyncio.get_running_loop()).add_due(work)


_lines: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Line]] = WeakKeyDictionary()


def _line_of(loop: asyncio.AbstractEventLoop) -> _Line:
    line = _lines.get(loop)
    if line is None:
        line = _lines[loop] = _Line()
    return line
