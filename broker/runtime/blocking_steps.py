"""Work in steps, some of which wait for the disk and so run in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Final

NO_RESOURCES: Final = (OSError, RuntimeError, MemoryError)
"""What work in threads and on files may raise: the disk fails, or there is no thread or memory."""


async def in_threads(steps: Iterator[Callable[[], None] | None]) -> None:
    """Take all steps; what they yield runs in a thread before the next step.

    Raises one of NO_RESOURCES.
    """
    loop = asyncio.get_running_loop()
    for blocking in steps:
        if blocking is None:
            await asyncio.sleep(0)
        else:
            await loop.run_in_executor(None, blocking)
