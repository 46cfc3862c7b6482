"""Time that stands still, for an event loop and for a broker's clock."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from ottla.broker import clock
from tests.clocks import START_MS, at_rest

WAIT_MS: Final = 10
"""So long a request may wait: longer than the linger of a group coordinator's appends."""


class StillLoop(asyncio.SelectorEventLoop):
    """An event loop whose time goes on only in `rest`.

    Attributes:
        now_ms: its time.
    """

    def __init__(self) -> None:
        self.now_ms = 1_000_000
        super().__init__()

    def time(self) -> float:
        return self.now_ms / 1000

    async def rest(self) -> None:
        """Let all run that is ready, and what is due within WAIT_MS."""
        until_ms = self.now_ms + WAIT_MS
        while True:
            await at_rest()
            timers: list[Any] = self._scheduled  # type: ignore[attr-defined]  # asyncio's own
            waiting = (math.ceil(each.when() * 1000) for each in timers if not each.cancelled())
            due_ms = min(waiting, default=until_ms + 1)
            if due_ms > until_ms:
                return
            self.now_ms = max(self.now_ms, due_ms)
            await asyncio.sleep(0)


class _Time:
    """What a clock uses of the module `time`, by the time of a loop."""

    gmtime = staticmethod(time.gmtime)
    strftime = staticmethod(time.strftime)

    def __init__(self, loop: StillLoop) -> None:
        self._loop = loop

    def monotonic_ns(self) -> int:
        return self._loop.now_ms * 1_000_000

    def time_ns(self) -> int:
        return (START_MS + self._loop.now_ms) * 1_000_000


@contextmanager
def still_clock(loop: StillLoop) -> Iterator[clock.SystemClock]:
    """The clock of a broker, as it is but for its time; within the block there is no other one."""
    found = clock.SystemClock()
    found.monotonic_s = loop.time
    with patch.object(clock, "time", _Time(loop)):
        yield found
