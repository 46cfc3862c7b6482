"""Runs long work that needs no state of the broker in a few threads.

Decoding a large request, or compressing and decompressing records, would stop the event loop. A
thread shares the processor with the loop: the interpreter switches between threads, and the
compression library releases the interpreter's lock. The threads start at their first use.
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
# The time a thread runs before the event loop goes on. An event loop that serves clients waits that
# long at each turn; the interpreter's default is five times as long.
_SWITCH_INTERVAL_S: Final = 0.001


class Workers:
    """The threads that all nodes of a process share; work starts in the order of the calls."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._is_closed = False

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run `work` in a thread; return or raise its outcome.

        Without a running event loop, and after `close`, it runs at once in this thread.

        Args:
            work: must not use objects that the event loop may change meanwhile. It runs to its end
                even if the waiting task is cancelled.
        """
        if self._is_closed or not is_in_event_loop():
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._threads(), work)

    def start(self, work: Callable[[], None]) -> None:
        """Run `work`, which must not raise, in a thread without waiting for it.

        Does nothing without a running event loop or after `close`.
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
        """Wait for the running work and drop the rest."""
        self._is_closed = True
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
