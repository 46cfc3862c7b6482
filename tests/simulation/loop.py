"""An event loop with timers and turns as events of the scheduler; without sockets and coroutines.

While it is `running`, the shards tick by themselves and the broker's own marker channel works.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ottla.broker.log_output import write_to
from ottla.broker.scheduling import turns

from .scheduler import START_MS, Scheduler

_SLICE_ENDS = 0.1
"""Chance that the event loop has other work."""


class SimulatedLoop:
    """The part of an event loop without input and output.

    Args:
        guard: runs a callback and handles its exceptions.
    """

    def __init__(self, scheduler: Scheduler, guard: Callable[[Callable[[], None]], None]) -> None:
        self._scheduler = scheduler
        self._guard = guard

    def get_debug(self) -> bool:
        return False

    def time(self) -> float:
        return (self._scheduler.now_ms - START_MS) / 1000

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:
        return self.call_later(0, callback, *args)

    def call_later(
        self, delay: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        this: Any = self
        handle = asyncio.TimerHandle(self.time() + delay, callback, args, this)

        def run() -> None:
            if not handle.cancelled():
                self._guard(lambda: callback(*args))

        self._scheduler.after(max(0, round(delay * 1000)), run)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer is skipped at its time."""

    def create_future(self) -> asyncio.Future[Any]:
        this: Any = self
        return asyncio.Future(loop=this)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        raise AssertionError(context)


class _Log:
    """The trace has the log lines of the shards and the markers."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def warning(self, event: str, **fields: object) -> None:
        if fields.pop("room") in ("shard", "markers"):
            self._scheduler.note(f"log: {event}", *fields.values())

    def debug(self, event: str, **fields: object) -> None:
        """Not in the trace."""

    error, info, trace = warning, debug, debug


@contextmanager
def running(scheduler: Scheduler, loop: SimulatedLoop | None) -> Iterator[None]:
    """Make it the running loop (None: no loop); the broker's log goes into the trace.

    The seed decides when a slice of work is over, because virtual time does not pass in it. This
    replaces `Turns.is_over`: a length set by `set_slice_s` would also make `Turns.pause` wait, and
    requests here wait for flushes alone.
    """
    jobs: Any = turns.Turns
    is_over = jobs.is_over
    output = write_to(_Log(scheduler))
    this: Any = loop
    if loop is not None:
        jobs.is_over = lambda job: scheduler.random.random() < _SLICE_ENDS
        asyncio._set_running_loop(this)
        turns.set_slice_s(math.inf)
    try:
        yield
    finally:
        asyncio._set_running_loop(None)
        jobs.is_over = is_over
        write_to(output)
