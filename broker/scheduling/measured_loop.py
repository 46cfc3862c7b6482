"""An event loop that times each of its callbacks, for `ottla serve --metrics`.

A callback costs half a microsecond more, which is why the loop is not used without the option.
Callbacks of sockets are called from C and are not timed here; dispatch times the requests.
"""

from __future__ import annotations

from asyncio import Handle, TimerHandle
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING

import uvloop

if TYPE_CHECKING:
    from .holds import Holds


class MeasuredLoop(uvloop.Loop):
    """uvloop's loop; tasks, timers and later calls are counted in `holds`."""

    def __init__(self, holds: Holds) -> None:
        super().__init__()
        self.holds = holds

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> Handle:
        return super().call_soon(self.holds.run, callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> Handle:
        return super().call_soon_threadsafe(self.holds.run, callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: object,
        context: Context | None = None,
    ) -> TimerHandle:
        due_s = self.holds.now_s() + delay
        return super().call_later(
            delay, self.holds.run_timer, due_s, callback, *args, context=context
        )
