"""Counts how long each piece of work holds the event loop, for the metrics page.

Only `ottla serve --metrics` measures: its loop (measured_loop.py) and its dispatch
(../requests/measured_dispatch.py) time each call. Without the option nothing is timed.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from ..clock import SystemClock

BUCKETS_S: Final = (0.001, 0.005, 0.02, 0.1, 0.5)
LIMIT_S: Final = 0.02
"""The work of one turn is sliced so that no request holds the loop for longer."""
_NAMED_S: Final = 0.001


class Histogram:
    """A histogram of durations.

    Attributes:
        bounds_s: the upper bound of each bucket.
        counts: one more than bounds, for the rest.
    """

    __slots__ = ("bounds_s", "counts", "sum_s")

    def __init__(self, bounds_s: Sequence[float]) -> None:
        self.bounds_s = bounds_s
        self.counts = [0] * (len(bounds_s) + 1)
        self.sum_s = 0.0

    def observe(self, took_s: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(self.bounds_s, took_s)] += 1
        self.sum_s += took_s


class Holds:
    """The pieces of work of one event loop. Work inside another piece counts only for itself.

    Args:
        now_s: returns the time, in seconds, that the pieces are measured by.

    Attributes:
        pieces: the durations of all pieces.
        lags: how late timers are called.
        longest_s: the longest piece of each kind of work since `take_longest`, from 1 ms.
        over_limit: pieces longer than LIMIT_S, by kind of work.
    """

    def __init__(self, now_s: Callable[[], float] = SystemClock.monotonic_s) -> None:
        self.now_s = now_s
        self.pieces = Histogram(BUCKETS_S)
        self.lags = Histogram(BUCKETS_S)
        self.longest_s: dict[str, float] = {}
        self.over_limit: Counter[str] = Counter()
        self._inner_s = 0.0

    def run(self, callback: Callable[..., object], *args: object) -> None:
        """Call a callback of the loop and count its time under its name."""
        outer_s, self._inner_s = self._inner_s, 0.0
        began_s = self.now_s()
        try:
            callback(*args)
        finally:
            self._count(began_s, outer_s, callback)

    def run_timer(self, due_s: float, callback: Callable[..., object], *args: object) -> None:
        """Call a timer; count how late it is.

        Args:
            due_s: by `now_s`.
        """
        self.lags.observe(max(0.0, self.now_s() - due_s))
        self.run(callback, *args)

    def begin(self) -> tuple[float, float]:
        """Begin a piece; pass the result to `end`."""
        outer_s, self._inner_s = self._inner_s, 0.0
        return self.now_s(), outer_s

    def end(self, begun: tuple[float, float], work: str) -> None:
        """End a piece.

        Args:
            work: the kind of work, such as the name of an API.
        """
        self._count(*begun, work)

    def take_longest(self) -> dict[str, float]:
        """The longest piece of each kind of work since the last call, in seconds."""
        taken, self.longest_s = self.longest_s, {}
        return taken

    def _count(self, began_s: float, outer_s: float, of: Callable[..., object] | str) -> None:
        elapsed_s = self.now_s() - began_s
        took_s, self._inner_s = elapsed_s - self._inner_s, outer_s + elapsed_s
        self.pieces.observe(took_s)
        if took_s < _NAMED_S:
            return
        work = of if isinstance(of, str) else work_of(of)
        if took_s > self.longest_s.get(work, 0.0):
            self.longest_s[work] = took_s
        if took_s > LIMIT_S:
            self.over_limit[work] += 1


def work_of(callback: Callable[..., object]) -> str:
    """The kind of work of a callback: the name of its task or of its function.

    Tasks of requests have the name of the API.
    """
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        name = owner.get_name()
        if not name.startswith("Task-"):
            return name
        callback = owner.get_coro()  # type: ignore[assignment]  # it has a name as well
    name = getattr(callback, "__qualname__", "") or type(callback).__name__
    return str(name)
