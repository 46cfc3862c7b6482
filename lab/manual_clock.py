"""A clock that a test moves: time stands still except in `advance_ms`.

The decisions of the broker go by it: timeouts, sessions, retention, expiry, the times of records.
What a client waits for by its own limit goes by `live`, which is real time plus what was advanced:
a Fetch that waits for records is answered after its max_wait_ms although time stands still.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any, Final

from ..broker.clock import SystemClock, Timer

MOST_ROUNDS: Final = 500
"""How often a job that looks at all logs, such as retention, runs in one advance."""
_REST_S: Final = 0.25
_WORK_REST_S: Final = 10.0
# Each advance adds it to the monotonic seconds: the difference of two rounded times may else be a
# little less than what has passed between them, and a limit would seem not to be reached.
_ROUNDING_S: Final = 1e-8
_SYSTEM: Final = SystemClock()


class ManualClock(SystemClock):
    """Time passes only in `advance_ms`; for a running event loop with real sockets.

    Args:
        wall_ms: the wall time at the start; None for the machine's.

    Attributes:
        is_busy: returns whether work goes on that no callback of the event loop shows, such as
            flushes in threads and requests between nodes.
    """

    is_held = True

    def __init__(self, wall_ms: int | None = None) -> None:
        super().__init__()
        self._wall_ms = _SYSTEM.now_ms() if wall_ms is None else wall_ms
        self._start_ms = _SYSTEM.monotonic_ms()
        self.passed_ms = 0.0
        self._advances = 0
        self._timers: list[_ManualTimer] = []
        self._numbers = count()
        self._one_at_a_time = asyncio.Lock()
        self._live = _LiveClock(self)
        self._round_ms, self._until_ms = 0.0, 0.0  # of an advance
        self._looks: list[Callable[[], object]] = []
        self._sleeping: dict[asyncio.Future[None], float] = {}  # with the time of their begin
        self.is_busy: Callable[[], bool] = lambda: False
        self.monotonic_s = self._monotonic_s

    def _monotonic_s(self) -> float:
        return (self._start_ms + self.passed_ms) / 1000 + self._advances * _ROUNDING_S

    @property
    def live(self) -> SystemClock:
        return self._live

    def now_ms(self) -> int:
        return self._wall_ms + int(self.passed_ms)

    def monotonic_ms(self) -> int:
        return self._start_ms + int(self.passed_ms)

    def both_ms(self) -> tuple[int, int]:
        return self.now_ms(), self.monotonic_ms()

    def call_at_ms(self, due_ms: float, callback: Callable[..., object], *args: Any) -> Timer:
        due_ms -= self._start_ms
        if due_ms <= self.passed_ms:  # in the next turn, without an advance
            return asyncio.get_running_loop().call_soon(callback, *args)
        timer = _ManualTimer(due_ms, next(self._numbers), callback, args)
        heapq.heappush(self._timers, timer)
        return timer

    def call_after_ms(self, wait_ms: float, callback: Callable[..., object], *args: Any) -> Timer:
        return self.call_at_ms(self._start_ms + self.passed_ms + wait_ms, callback, *args)

    async def sleep_ms(self, wait_ms: float) -> None:
        """As Clock.sleep_ms, or longer: only jobs that run again and again sleep by this clock.

        A day has thousands of rounds of them. In one advance they make MOST_ROUNDS, and one at its
        end, so that they find the same. They find what an advance makes due at its end, too, if it
        is shorter than their interval.
        """
        rested = asyncio.get_running_loop().create_future()
        longer_ms = min(self._round_ms, self._until_ms - self.passed_ms)
        timer = self.call_after_ms(max(wait_ms, longer_ms), _set, rested)
        self._sleeping[rested] = self.passed_ms
        try:
            await rested
        finally:
            timer.cancel()
            del self._sleeping[rested]

    def after_advances(self, look: Callable[[], object]) -> None:
        self._looks.append(look)

    def on_jump(self, observer: Callable[[int], None]) -> Timer:
        """As SystemClock.on_jump; the wall clock jumps only in `advance_ms`."""
        timer = super().on_jump(observer)
        if self._check is not None:
            self._check.cancel()
        return timer

    async def advance_ms(self, wait_ms: int) -> None:
        """Let time pass; return when all that became due has happened.

        Timers are called in the order of their deadlines, each at the time that it is due. What
        it begins comes to rest before the next one. At the end all jobs look that look now and
        then.

        Args:
            wait_ms: if negative, the wall clock is set back, and nothing becomes due.
        """
        async with self._one_at_a_time:
            if wait_ms < 0:
                self._wall_ms += wait_ms
                self.jumped(wait_ms)
                return
            self._round_ms = wait_ms / MOST_ROUNDS
            self._until_ms = self.passed_ms + wait_ms
            self._advances += 1
            try:
                with _watch_callbacks() as watched:
                    await self._pass(wait_ms, watched)
            finally:
                self._round_ms = 0.0

    async def _pass(self, wait_ms: int, watched: _Watched) -> None:
        until_ms = self._until_ms
        # Waits that begin meanwhile end in real time: a client that polls again and again would
        # poll for ever.
        ending = self._live.due_within(wait_ms)
        await self._at_rest(watched)
        while True:
            while self._timers and self._timers[0].callback is None:
                heapq.heappop(self._timers)
            due_ms = self._timers[0].due_ms if self._timers else until_ms + 1
            while ending and ending[0][1].callback is None:
                ending.pop(0)
            timer: _ManualTimer | _LiveTimer
            if ending and ending[0][0] <= min(due_ms, until_ms):
                due_ms, timer = ending.pop(0)
            elif due_ms <= until_ms:
                timer = heapq.heappop(self._timers)
            else:
                break
            self.passed_ms = max(self.passed_ms, due_ms)
            timer.run()
            await self._at_rest(watched)
        self.passed_ms = until_ms
        await self._at_rest(watched)
        overdue = [each for each, began_ms in self._sleeping.items() if began_ms < until_ms]
        looks: list[Callable[[], object]] = [
            *self._looks,
            *(partial(_set, rested) for rested in overdue),
        ]
        for look in looks:
            look()
            await self._at_rest(watched)

    async def _at_rest(self, watched: _Watched) -> None:
        """Return when no callback is left to call and no work in the background goes on.

        Requests of clients may come at any time, so the wait has a limit.
        """
        now_s = _SYSTEM.monotonic_s
        began_s = now_s()
        while True:
            calls = watched.calls
            await asyncio.sleep(0)
            is_quiet = watched.calls == calls + 1  # this task's own
            is_busy = watched.in_threads > 0 or self.is_busy()
            if is_quiet and not is_busy:
                return
            if now_s() - began_s > (_WORK_REST_S if is_busy else _REST_S):
                return
            if is_quiet:
                await _SYSTEM.sleep_ms(0.2)


class _LiveClock(SystemClock):
    """Real time plus what a manual clock has advanced."""

    def __init__(self, manual: ManualClock) -> None:
        super().__init__()
        self._manual = manual
        self._timers: set[_LiveTimer] = set()
        self.monotonic_s = self._monotonic_s

    def _monotonic_s(self) -> float:
        return _SYSTEM.monotonic_s() + self._manual.passed_ms / 1000

    def now_ms(self) -> int:
        return self._manual.now_ms()

    def monotonic_ms(self) -> int:
        return int(self.monotonic_s() * 1000)

    def both_ms(self) -> tuple[int, int]:
        return self.now_ms(), self.monotonic_ms()

    def call_at_ms(self, due_ms: float, callback: Callable[..., object], *args: Any) -> Timer:
        timer = _LiveTimer(self._timers, due_ms, callback, args)
        wait_ms = max(0, due_ms - self.monotonic_s() * 1000)
        timer.handle = _SYSTEM.call_after_ms(wait_ms, timer.run)
        return timer

    def call_after_ms(self, wait_ms: float, callback: Callable[..., object], *args: Any) -> Timer:
        return self.call_at_ms(self.monotonic_s() * 1000 + wait_ms, callback, *args)

    async def sleep_ms(self, wait_ms: float) -> None:
        rested = asyncio.get_running_loop().create_future()
        timer = self.call_after_ms(wait_ms, _set, rested)
        try:
            await rested
        finally:
            timer.cancel()

    def due_within(self, wait_ms: float) -> list[tuple[float, _LiveTimer]]:
        """The timers that become due, with the manual clock's `passed_ms` at which they do."""
        now_ms, passed_ms = self.monotonic_s() * 1000, self._manual.passed_ms
        due = [(passed_ms + max(0.0, each.due_ms - now_ms), each) for each in self._timers]
        until_ms = passed_ms + wait_ms
        return sorted((each for each in due if each[0] <= until_ms), key=lambda each: each[0])


class _Timer:
    __slots__ = ("args", "callback", "due_ms")

    def __init__(
        self, due_ms: float, callback: Callable[..., object], args: tuple[Any, ...]
    ) -> None:
        self.due_ms = due_ms
        self.callback: Callable[..., object] | None = callback
        self.args = args

    def run(self) -> None:
        callback, args = self.callback, self.args
        self.cancel()
        if callback is not None:
            callback(*args)

    def cancel(self) -> None:
        self.callback, self.args = None, ()


class _ManualTimer(_Timer):
    __slots__ = ("_number",)

    def __init__(
        self, due_ms: float, number: int, callback: Callable[..., object], args: tuple[Any, ...]
    ) -> None:
        super().__init__(due_ms, callback, args)
        self._number = number

    def __lt__(self, other: _ManualTimer) -> bool:
        return (self.due_ms, self._number) < (other.due_ms, other._number)


class _LiveTimer(_Timer):
    """A timer that the event loop calls, or an advance before it."""

    __slots__ = ("_all", "handle")

    def __init__(
        self, among: set[_LiveTimer], due_ms: float, callback: Callable[..., object],
        args: tuple[Any, ...],
    ) -> None:  # fmt: skip
        super().__init__(due_ms, callback, args)
        self._all = among
        self.handle: Timer | None = None
        among.add(self)

    def cancel(self) -> None:
        super().cancel()
        self._all.discard(self)
        if self.handle is not None:
            self.handle.cancel()


class _Watched:
    """What the event loop has been given to do.

    Attributes:
        calls: the number of callbacks for the next turn.
        in_threads: the number of calls that threads have not answered yet.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.in_threads = 0

    def ended(self, _future: object) -> None:
        """Count the answer of a thread."""
        self.in_threads -= 1


@contextmanager
def _watch_callbacks() -> Iterator[_Watched]:
    """Count the callbacks of the running event loop. Tasks look its methods up for each call."""
    loop: Any = asyncio.get_running_loop()
    watched = _Watched()
    soon, from_thread, run_in_executor = (
        loop.call_soon, loop.call_soon_threadsafe, loop.run_in_executor,
    )  # fmt: skip

    def call_soon(*args: Any, **more: Any) -> Any:
        watched.calls += 1
        return soon(*args, **more)

    def call_soon_threadsafe(*args: Any, **more: Any) -> Any:
        watched.calls += 1
        return from_thread(*args, **more)

    def in_executor(*args: Any) -> Any:
        future = run_in_executor(*args)
        watched.in_threads += 1
        future.add_done_callback(watched.ended)
        return future

    loop.call_soon, loop.call_soon_threadsafe = call_soon, call_soon_threadsafe
    loop.run_in_executor = in_executor
    try:
        yield watched
    finally:
        del loop.call_soon, loop.call_soon_threadsafe, loop.run_in_executor


def _set(rested: asyncio.Future[None]) -> None:
    if not rested.done():
        rested.set_result(None)
