"""Collects garbage in short steps, so that no collection stops the event loop for long.

A full collection of Python visits all objects that may be in a cycle, which takes a tenth of a
second for those of 5,000 waiting requests. Objects that survive the younger collections mostly
stay: they are frozen (`gc.freeze`), and the next collection visits only newer ones. A frozen object
is still freed with its last reference. A cycle of frozen objects is found by a full collection, at
most every `ALL_EVERY_S`.
"""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..clock import Clock, Timer

YOUNG_IN_A_STEP: Final = 4
"""Objects are frozen after so many middle collections, of some 8,000 objects each."""
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
        self._has_frozen = False
        self._thresholds = gc.get_threshold()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: Timer | None = None

    def start(self) -> None:
        """Freeze all present objects and take control; needs a running event loop."""
        self._loop = asyncio.get_running_loop()
        self._thresholds = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(*self._thresholds[:2], _NEVER)
        gc.callbacks.append(self._count_collection)
        gc.enable()
        self._schedule(ALL_EVERY_S)

    def stop(self) -> None:
        """Return control to Python."""
        if self._count_collection in gc.callbacks:
            gc.callbacks.remove(self._count_collection)
            gc.set_threshold(*self._thresholds)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._loop = None

    def collect_all(self) -> None:
        """Run a full collection, frozen objects included; takes 100 ms per million objects."""
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._has_frozen = False

    def _count_collection(self, phase: str, info: dict[str, int]) -> None:
        """Count a collection; Python calls this in any thread, before and after each one."""
        if phase == "stop" and info["generation"] == _MIDDLE:
            self._young += 1
            if self._young == YOUNG_IN_A_STEP and self._loop is not None:
                self._loop.call_soon_threadsafe(self._freeze_survivors)

    def _freeze_survivors(self) -> None:
        gc.collect()  # visits only the objects created since the last time
        gc.freeze()
        self._young = 0
        self._has_frozen = True

    def _collect_all_and_repeat(self) -> None:
        took_s = 0.0
        if self._has_frozen:
            began_s = self._clock.monotonic_s()
            self.collect_all()
            took_s = self._clock.monotonic_s() - began_s
        self._schedule(max(ALL_EVERY_S, took_s / _SHARE))

    def _schedule(self, wait_s: float) -> None:
        self._timer = self._clock.call_after_ms(wait_s * 1000, self._collect_all_and_repeat)
