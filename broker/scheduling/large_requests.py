"""Requests of very many elements are handled one after another.

Decoded, such a request takes up to a hundred times its bytes, and so does its answer: one at a time
bounds the memory. Kafka bounds it by its few request handler threads (num.io.threads).
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Final

MOST_ELEMENTS: Final = 1000
"""What has more is decoded, or encoded, outside the event loop; so many take about 2 ms."""

_NEVER: Final = 1 << 30


class LargeRequests:
    """The large requests of a process."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def enter(self) -> Callable[[], None]:
        """Wait until no other large request is handled.

        No full garbage collection runs meanwhile: it would look at all elements again and again,
        and stops the event loop for a tenth of a second at a million of them.

        Returns:
            What lets the next one begin; to be called once.
        """
        await self._lock.acquire()
        thresholds = gc.get_threshold()
        gc.set_threshold(*thresholds[:2], _NEVER)

        def leave() -> None:
            gc.set_threshold(*thresholds)
            self._lock.release()

        return leave
