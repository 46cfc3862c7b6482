"""The broker's only clock. Everything below takes the time as an argument.

Records carry the wall time. What is measured in memory alone (sessions of members, rates, delays)
goes by the monotonic time, so that a step of the wall clock neither ends nor prolongs it.

And whether there are turns of an event loop, to do later what need not be done now.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final, Protocol


class Clock(Protocol):
    """What tells the time."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, as Kafka's timestamps are. It may step, forward and back."""

    def monotonic_ms(self) -> int:
        """Milliseconds since some moment. It never steps, as Kafka's `Time.hiResClockMs`.

        It stands still while the machine is suspended: no member has missed a heartbeat then.
        """


class SystemClock:
    """The machine's clock."""

    __slots__ = ()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000


# Seconds since some moment: how long work takes, also within one turn of the event loop. The loop's
# own time is too coarse for it: uvloop's counts whole milliseconds.
monotonic_s: Final = time.monotonic


def is_in_event_loop() -> bool:
    """Whether a later turn will come; without an event loop all is done at once."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
