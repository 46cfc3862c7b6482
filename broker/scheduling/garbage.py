"""Collects garbage in short steps, so that no collection stops the event loop for long.

A full collection of Python visits all objects that may be in a cycle, which takes a tenth of a
second for those of 5,000 waiting requests. Objects that survive the younger collections mostly
stay: they are set aside ("frozen"), and the next collection visits only newer ones. An object set
aside is still freed with its last reference. A cycle of such objects is found by a full collection,
at most every `ALL_EVERY_S`.
"""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..clock import Clock, Timer

YOUNG_IN_A_STEP: Final = 4
"""Objects are set aside after so many middle collections, of some 8,000 objects each."""
ALL_EVERY_S: Final = 600.0
_SHARE: Final = 1e-4
"""The maximum share of the time for full collections."""
_NEVER: Final = 1 << 30
_MIDDLE: Final = 1


class Garbage:
    """Controls the garbage collection of this process, from `start` to `stop`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._young = 0
        self._has_set_aside = False
        self._thresholds = gc.get_threshold()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: Timer | None = None

    def start(self) -> None:
        """Set all present objects aside and take control; needs a running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thresholds = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(*self._thresholds[:2], _NEVER)
        gc.callbacks.append(self._collected)
        gc.enable()
        self._look_later(ALL_EVERY_S)

    def stop(self) -> None:
        """Return control to Python."""
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)
            gc.set_threshold(*self._thresholds)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._loop = None

    def look_at_all(self) -> None:
        """Run a full collection, with the objects set aside; takes 100 ms per million objects."""
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._has_set_aside = False

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        """Count a collection; Python calls this in any thread, before and after each one."""
        if phase == "stop" and info["generation"] == _MIDDLE:
            self._young += 1
            if self._young == YOUNG_IN_A_STEP and self._loop is not None:
                self._loop.call_soon_threadsafe(self._set_aside)

    def _set_aside(self) -> None:
        gc.collect()  # visits only the objects created since the last time
        gc.freeze()
        self._young = 0
        self._has_set_aside = True

    def _look_at_all_and_again(self) -> None:
        took_s = 0.0
        if self._has_set_aside:
            began_s = self._clock.monotonic_s()
            self.look_at_all()
            took_s = self._clock.monotonic_s() - began_s
        self._look_later(max(ALL_EVERY_S, took_s / _SHARE))

    def _look_later(self, wait_s: float) -> None:
        self._timer = self._clock.call_after_ms(wait_s * 1000, self._look_at_all_and_again)
