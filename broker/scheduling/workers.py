"""A few threads for work that needs nothing of the broker's state and takes long.

Decoding a large request, or opening and closing compressed records, would stop the event loop. In a
thread such work shares the processor with the loop: the interpreter switches between threads, and
the compression library works without its lock. No thread is there before the first use.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from ..clock import is_in_event_loop

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Result = TypeVar("Result")
_THREADS: Final = 2
# How long a thread computes before the event loop goes on; the interpreter's default is five times
# that, and an event loop that serves clients waits so long at each turn.
_SWITCH_INTERVAL_S: Final = 0.001


class Workers:
    """The threads that all nodes of a process share; work begins in the order of its asking."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._is_closed = False

    async def run(self, work: Callable[[], Result]) -> Result:
        """What `work` returns or raises.

        Args:
            work: touches nothing that the event loop changes meanwhile. It goes on to its end when
                whoever waits for it is cancelled. Without a running event loop, and after `close`,
                it runs at once.
        """
        if self._is_closed or not is_in_event_loop():
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._threads(), work)

    def start(self, work: Callable[[], None]) -> None:
        """Let a thread do `work`, which raises nothing, and do not wait for it.

        Without a running event loop, and after `close`, nothing is done.
        """
        if not self._is_closed and is_in_event_loop():
            self._threads().submit(work)

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            sys.setswitchinterval(_SWITCH_INTERVAL_S)
            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="worker")
        return self._pool

    def close(self) -> None:
        """Begin nothing more, and wait for the work that runs."""
        self._is_closed = True
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
