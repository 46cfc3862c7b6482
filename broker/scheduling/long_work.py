"""Runs long work in steps between requests; its blocking steps run in threads.

Decompressing and checking a batch, or searching one, may take seconds. At most `AT_A_TIME` batches
are open at a time, which limits the memory. The others wait in order of arrival.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from .turns import Turns

if TYPE_CHECKING:
    from ...storage.steps import Steps
    from .workers import Workers

T = TypeVar("T")
AT_A_TIME: Final = 4


class LongWork:
    """The long work of all nodes of a process.

    Args:
        workers: run the blocking steps.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._room = asyncio.Semaphore(AT_A_TIME)

    async def run(self, steps: Steps[T]) -> T:
        """Run the steps; return or raise their outcome.

        The steps end early if the waiting task is cancelled.

        Args:
            steps: the first one runs at once, beyond the limit: it must leave nothing open.
        """
        try:
            blocking = next(steps)
            turns = Turns()
            async with self._room:
                while True:
                    if blocking is not None:
                        await self._workers.run(blocking)
                    await turns.pause()
                    blocking = next(steps)
        except StopIteration as ended:
            result: T = ended.value
            return result
