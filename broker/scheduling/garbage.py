"""Collects garbage in short steps: no collection stops the event loop for long.

Python's collector now and then looks at all objects that may be in a cycle, which takes a tenth of
a second for those of 5,000 requests that wait. What has survived its younger collections mostly
stays: here it is set aside ("frozen"), and the next collection looks at what has come since. An
object that was set aside goes when nothing refers to it, as always. A cycle of such objects is
found by the collection that looks at all, at most every `ALL_EVERY_S`.
"""

from __future__ import annotations

import asyncio
import gc
from typing import Any, Final

from ..clock import monotonic_s

YOUNG_IN_A_STEP: Final = 4
"""After so many collections of the middle generation, some 8,000 objects each, a step is made."""
ALL_EVERY_S: Final = 600.0
_SHARE: Final = 1e-4
"""Of the time, what looking at all may take."""
_NEVER: Final = 1 << 30
_MIDDLE: Final = 1


class Garbage:
    """The collections of this process, from `start` to `stop`."""

    def __init__(self) -> None:
        self._young = 0
        self._has_set_aside = False
        self._thresholds = gc.get_threshold()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """What is there by now stays. The event loop runs."""
        self._loop = asyncio.get_running_loop()
        self._thresholds = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(*self._thresholds[:2], _NEVER)
        gc.callbacks.append(self._collected)
        gc.enable()
        self._timer = self._loop.call_later(ALL_EVERY_S, self._look_at_all_and_again)

    def stop(self) -> None:
        """Leave all to Python again."""
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)
            gc.set_threshold(*self._thresholds)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._loop = None

    def look_at_all(self) -> None:
        """Find cycles among what was set aside, too. Takes 100 ms for each million objects."""
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._has_set_aside = False

    def _collected(self, phase: str, info: dict[str, Any]) -> None:
        """Called by Python, in whatever thread, around each collection."""
        if phase == "stop" and info["generation"] == _MIDDLE:
            self._young += 1
            if self._young == YOUNG_IN_A_STEP and self._loop is not None:
                self._loop.call_soon_threadsafe(self._set_aside)

    def _set_aside(self) -> None:
        gc.collect()  # of what has come since the last time
        gc.freeze()
        self._young = 0
        self._has_set_aside = True

    def _look_at_all_and_again(self) -> None:
        took_s = 0.0
        if self._has_set_aside:
            began_s = monotonic_s()
            self.look_at_all()
            took_s = monotonic_s() - began_s
        later_s = max(ALL_EVERY_S, took_s / _SHARE)
        self._timer = asyncio.get_running_loop().call_later(later_s, self._look_at_all_and_again)
