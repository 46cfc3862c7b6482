"""Handles requests with very many elements one at a time, to limit memory.

Such a request takes up to a hundred times its size when decoded, and so does its answer. In Kafka
the number of request handler threads (num.io.threads) is the limit.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Final

MOST_ELEMENTS: Final = 1000
"""Larger requests and answers are decoded and encoded in a thread; so many take about 2 ms."""

_NEVER: Final = 1 << 30


class LargeRequests:
    """The large requests of a process."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def enter(self) -> Callable[[], None]:
        """Wait until no other large request is being handled.

        No full garbage collection runs until the request has left: each would visit all elements,
        and stop the event loop for a tenth of a second at a million of them.

        Returns:
            A function that lets the next large request enter; it must be called once.
        """
        await self._lock.acquire()
        thresholds = gc.get_threshold()
        gc.set_threshold(*thresholds[:2], _NEVER)

        def leave() -> None:
            gc.set_threshold(*thresholds)
            self._lock.release()

        return leave
