"""Takes the steps of long work beside the requests: in slices, and what blocks in other threads.

Opening and checking a batch, or searching one, may take seconds. However many such batches come, no
more than `AT_A_TIME` are open: memory is bounded by what so many take. The others wait in the order
in which they came.
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
    """What all nodes of a process have open at a time.

    Args:
        workers: call what blocks.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._room = asyncio.Semaphore(AT_A_TIME)

    async def run(self, steps: Steps[T]) -> T:
        """What the steps come to, or raise; they end when whoever waits for them is cancelled.

        Args:
            steps: the first one needs no room: it leaves nothing open behind it.
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
