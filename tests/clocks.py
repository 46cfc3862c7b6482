"""Clocks for tests: one that stands still, one that goes by the event loop, one moved by hand."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from ottla.broker.clock import SystemClock, Timer

START_MS: Final = 1_700_000_000_000
MOST_TURNS: Final = 100_000
"""After so many turns of the event loop without rest, work never ends."""


class StillClock(SystemClock):
    """The time stands still; timers are those of the event loop.

    Args:
        wall_ms: the wall time.

    Attributes:
        passed_ms: the monotonic time.
    """

    def __init__(self, wall_ms: int = START_MS) -> None:
        super().__init__()
        self.wall_ms = wall_ms
        self.passed_ms = 0

    def now_ms(self) -> int:
        return self.wall_ms

    def monotonic_ms(self) -> int:
        return self.passed_ms

    def both_ms(self) -> tuple[int, int]:
        return self.now_ms(), self.monotonic_ms()


class LoopClock(SystemClock):
    """The time of the running event loop, which a VirtualLoop lets pass without waiting.

    Attributes:
        step_ms: by how much the wall time has been set forward, or back.
    """

    def __init__(self) -> None:
        super().__init__()
        self.step_ms = 0

    @staticmethod
    def monotonic_s() -> float:
        loop = asyncio._get_running_loop()  # None: before there is one, no time has passed
        return 0.0 if loop is None else loop.time()

    def now_ms(self) -> int:
        return START_MS + self.step_ms + self.monotonic_ms()

    def monotonic_ms(self) -> int:
        return round(self.monotonic_s() * 1000)

    def both_ms(self) -> tuple[int, int]:
        return self.now_ms(), self.monotonic_ms()


class VirtualClock(SystemClock):
    """Time passes only in `advance_ms`, on whatever event loop.

    Timers lie in this clock and not in the event loop, so hours pass in milliseconds. Work that a
    timer begins comes to its rest before the next timer is called.
    """

    def __init__(self) -> None:
        super().__init__()
        self._wall_ms = START_MS
        self._monotonic_ms = 0.0
        self._timers: list[_VirtualTimer] = []
        self._numbers = count()
        self.monotonic_s = lambda: self._monotonic_ms / 1000

    def now_ms(self) -> int:
        return self._wall_ms + int(self._monotonic_ms)

    def monotonic_ms(self) -> int:
        return int(self._monotonic_ms)

    def both_ms(self) -> tuple[int, int]:
        return self.now_ms(), self.monotonic_ms()

    def call_at_ms(self, due_ms: float, callback: Callable[..., object], *args: Any) -> Timer:
        timer = _VirtualTimer(due_ms, next(self._numbers), callback, args)
        heapq.heappush(self._timers, timer)
        return timer

    def call_after_ms(self, wait_ms: float, callback: Callable[..., object], *args: Any) -> Timer:
        return self.call_at_ms(self._monotonic_ms + wait_ms, callback, *args)

    async def sleep_ms(self, wait_ms: float) -> None:
        rested = asyncio.get_running_loop().create_future()
        timer = self.call_after_ms(wait_ms, _set, rested)
        try:
            await rested
        finally:
            timer.cancel()

    def jump_ms(self, by_ms: int) -> None:
        """Set the wall clock forward or back, and report it to the observers."""
        self._wall_ms += by_ms
        self.jumped(by_ms)

    def pending(self) -> list[str]:
        """The names of the functions that timers will call."""
        called = [timer.callback for timer in self._timers if timer.callback is not None]
        return [getattr(each, "__qualname__", repr(each)) for each in called]

    async def advance_ms(self, wait_ms: float) -> None:
        """Let time pass: call what becomes due in its order, each with the time that it is due."""
        until_ms = self._monotonic_ms + wait_ms
        await asyncio.sleep(0)
        await at_rest()
        while self._timers and self._timers[0].due_ms <= until_ms:
            timer = heapq.heappop(self._timers)
            if timer.callback is None:
                continue
            self._monotonic_ms = max(self._monotonic_ms, timer.due_ms)
            timer.callback(*timer.args)
            await at_rest()
        self._monotonic_ms = until_ms


class _VirtualTimer:
    __slots__ = ("_number", "args", "callback", "due_ms")

    def __init__(
        self, due_ms: float, number: int, callback: Callable[..., object], args: tuple[Any, ...]
    ) -> None:
        self.due_ms = due_ms
        self._number = number
        self.callback: Callable[..., object] | None = callback
        self.args = args

    def __lt__(self, other: _VirtualTimer) -> bool:
        return (self.due_ms, self._number) < (other.due_ms, other._number)

    def cancel(self) -> None:
        self.callback, self.args = None, ()


def _set(rested: asyncio.Future[None]) -> None:
    if not rested.done():
        rested.set_result(None)


async def at_rest() -> None:
    """Return once every task and callback of the event loop waits for something."""
    loop: Any = asyncio.get_running_loop()
    for _ in range(MOST_TURNS):
        if not loop._ready:
            return
        await asyncio.sleep(0)
    raise AssertionError("the event loop never comes to rest")
