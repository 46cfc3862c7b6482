"""The broker's only clock. Everything below takes the time as an argument."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What tells the time."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, as Kafka's timestamps are."""


class SystemClock:
    """The machine's clock."""

    __slots__ = ()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


def monotonic_s() -> float:
    """Seconds since some moment: how long work takes, also within one turn of the event loop.

    The loop's own time stands still during a turn (uvloop's counts whole milliseconds).
    """
    return time.monotonic()
