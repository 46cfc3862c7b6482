"""Measures the use of a quota, and computes throttle times.

It has the arithmetic of Kafka's metrics (stats.Rate, stats.TokenBucket, QuotaUtils): a different
mean would throttle different clients. There is no clock: the time is an argument, in milliseconds.
"""

from __future__ import annotations

import math

from ....protocol.named_tuple import NamedTuple


class Window(NamedTuple):
    """The window of a measurement: `quota.window.num` samples of the same length."""

    samples: int
    sample_ms: int


class _Sample:
    __slots__ = ("last_ms", "start_ms", "value")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.value = 0.0


class Rate:
    """The use per second, over the last samples."""

    __slots__ = ("_current", "_samples", "_window")

    def __init__(self, window: Window) -> None:
        self._window = window
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        """Add a use; a negative value takes back an earlier one."""
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_ms >= self._window.sample_ms:
            sample = self._advance(now_ms)
        sample.value += value
        sample.last_ms = now_ms

    def _advance(self, now_ms: int) -> _Sample:
        # One sample more than the window has: the oldest may overlap its beginning.
        self._current = (self._current + 1) % (self._window.samples + 1)
        if self._current == len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def measure(self, now_ms: int) -> float:
        """The use per second."""
        window_ms = self.window_ms(now_ms)
        return sum(sample.value for sample in self._samples) / (window_ms / 1000)

    def window_ms(self, now_ms: int) -> int:
        """The time span of `measure`: at least all samples but one."""
        samples, sample_ms = self._window
        for sample in self._samples:
            if now_ms - sample.last_ms >= samples * sample_ms:
                sample.reset(now_ms)
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        elapsed_ms = now_ms - min(sample.start_ms for sample in self._samples)
        missing = samples - 1 - elapsed_ms // sample_ms
        return max(elapsed_ms + max(missing, 0) * sample_ms, 1)

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """The time without use after which the rate is down to a limit."""
        rate = self.measure(now_ms)
        if not rate > limit:
            return 0
        return math.floor((rate - limit) / limit * self.window_ms(now_ms) + 0.5)


class TokenBucket:
    """A bucket of tokens that fills at the limit's rate, up to the amount of a whole window."""

    __slots__ = ("_last_ms", "_tokens", "_window")

    def __init__(self, window: Window) -> None:
        self._window = window
        self._tokens = math.inf  # full; `_fill` caps it
        self._last_ms = 0

    def record(self, value: float, limit: float, now_ms: int) -> None:
        """Take tokens; their number may become negative."""
        self._fill(limit, now_ms)
        self._tokens = min(self._most(limit), self._tokens - value)

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """The time until the number of tokens is no longer negative."""
        self._fill(limit, now_ms)
        return math.floor(-self._tokens / limit * 1000 + 0.5) if self._tokens < 0 else 0

    def _fill(self, limit: float, now_ms: int) -> None:
        gained = limit * (now_ms - self._last_ms) / 1000
        self._tokens = min(self._most(limit), self._tokens + gained)
        self._last_ms = now_ms

    def _most(self, limit: float) -> float:
        return self._window.samples * self._window.sample_ms / 1000 * limit
