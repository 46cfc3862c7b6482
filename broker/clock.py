"""The broker's only clock: the wall time, the monotonic time, and timers.

Nothing else in the rooms reads the time or sets timers (tests/test_layers.py), so another clock can
replace it as a whole. Records carry the wall time. Durations in memory alone (sessions of members,
rates, delays) use the monotonic time, so that a step of the wall clock neither ends nor prolongs
them. `on_jump` reports steps of the wall clock.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol

JUMP_CHECK_MS: Final = 1000
JUMP_MS: Final = 500
"""The wall time jumps when it gains or loses more than this between two checks."""


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Do not call it; one that was called or cancelled stays as it is."""


class Clock(Protocol):
    """The time, and timers.

    Attributes:
        monotonic_s: a function: seconds since some moment. Hot paths keep the function itself.
        is_held: whether time passes only when a test lets it.
    """

    is_held: bool

    @property
    def monotonic_s(self) -> Callable[[], float]: ...

    @property
    def live(self) -> Clock:
        """The clock of waits and measurements that decide nothing.

        By it go long polls, retries, throttling and slices. It goes on while this one is held; it
        is this one unless a test holds it.
        """

    def now_ms(self) -> int:
        """Milliseconds since 1970, as Kafka's timestamps are. It may step, forward and back."""

    def monotonic_ms(self) -> int:
        """Milliseconds since some moment. It never steps, as Kafka's `Time.hiResClockMs`.

        It stands still while the machine is suspended: no member has missed a heartbeat then.
        """

    def both_ms(self) -> tuple[int, int]:
        """Both times: `now_ms` and `monotonic_ms`."""

    def call_at_ms(self, due_ms: float, callback: Callable[..., object], *args: object) -> Timer:
        """Call something at a monotonic time, or in the next turn if that has passed."""

    def call_after_ms(
        self, wait_ms: float, callback: Callable[..., object], *args: object
    ) -> Timer:
        """Call something after a while."""

    async def sleep_ms(self, wait_ms: float) -> None:
        """Return after a while."""

    def on_jump(self, observer: Callable[[int], None]) -> Timer:
        """Call an observer with the milliseconds of each jump of the wall clock, until cancelled.

        A suspended machine wakes up with a jump forward. Needs a running event loop.
        """

    def after_advances(self, look: Callable[[], object]) -> None:
        """Have something look for what is due that looks only now and then, such as retention.

        A clock that a test moves calls it at the end of each advance, so that nothing is overdue
        then; other clocks never do.
        """


class SystemClock:
    """The machine's clock, with the timers of the running event loop."""

    is_held = False

    def __init__(self) -> None:
        self._observers: list[_JumpObserver] = []
        self._check: Timer | None = None
        self._ahead_ms = 0

    monotonic_s = staticmethod(time.monotonic)

    @property
    def live(self) -> Clock:
        return self

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def both_ms(self) -> tuple[int, int]:
        return time.time_ns() // 1_000_000, time.monotonic_ns() // 1_000_000

    def call_at_ms(self, due_ms: float, callback: Callable[..., object], *args: object) -> Timer:
        return self.call_after_ms(max(0, due_ms - self.monotonic_ms()), callback, *args)

    def call_after_ms(
        self, wait_ms: float, callback: Callable[..., object], *args: object
    ) -> Timer:
        return asyncio.get_running_loop().call_later(wait_ms / 1000, callback, *args)

    async def sleep_ms(self, wait_ms: float) -> None:
        await asyncio.sleep(wait_ms / 1000)

    def on_jump(self, observer: Callable[[int], None]) -> Timer:
        watching = _JumpObserver(observer, self._remove_observer)
        self._observers.append(watching)
        if self._check is None:
            self._ahead_ms = self.now_ms() - self.monotonic_ms()
            self._check = self.call_after_ms(JUMP_CHECK_MS, self._look_for_jump)
        return watching

    def after_advances(self, look: Callable[[], object]) -> None:
        """Time passes by itself here, so `look` is never called."""

    def _remove_observer(self, cancelled: _JumpObserver) -> None:
        """Remove an observer; without any the clocks are not compared."""
        if cancelled in self._observers:
            self._observers.remove(cancelled)
        if not self._observers and self._check is not None:
            self._check.cancel()
            self._check = None

    def _look_for_jump(self) -> None:
        """Compare the clocks, once a second."""
        before_ms, self._ahead_ms = self._ahead_ms, self.now_ms() - self.monotonic_ms()
        by_ms = self._ahead_ms - before_ms
        self._check = self.call_after_ms(JUMP_CHECK_MS, self._look_for_jump)
        if abs(by_ms) > JUMP_MS:
            self.jumped(by_ms)

    def jumped(self, by_ms: int) -> None:
        """Report a jump of the wall clock to the observers."""
        for watching in [*self._observers]:
            watching.observer(by_ms)


class _JumpObserver:
    """An observer of a clock; `cancel` calls `on_cancel` with it."""

    __slots__ = ("_on_cancel", "observer")

    def __init__(
        self, observer: Callable[[int], None], on_cancel: Callable[[_JumpObserver], None]
    ) -> None:
        self._on_cancel = on_cancel
        self.observer = observer

    def cancel(self) -> None:
        self._on_cancel(self)


def utc_timestamp() -> str:
    """The wall time for a log line: 2026-01-31T12:00:00.123Z."""
    now_ms = time.time_ns() // 1_000_000
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now_ms // 1000))
    return f"{seconds}.{now_ms % 1000:03}Z"


@asynccontextmanager
async def within_ms(clock: Clock, limit_ms: float) -> AsyncIterator[None]:
    """Limit the time of a block. Raises TimeoutError, and the block is cancelled."""
    async with asyncio.timeout(None) as limit:
        timer = clock.call_after_ms(limit_ms, limit.reschedule, 0.0)
        try:
            yield
        finally:
            timer.cancel()


def is_in_event_loop() -> bool:
    """Whether a later turn will come; without an event loop all is done at once."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
