"""Work in steps, some of which wait for the disk and so run in a thread."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from typing import Final

from ....storage.steps import Steps, T

NO_RESOURCES: Final = (OSError, MemoryError)
"""What such work may raise: the disk fails, or there is no thread or memory."""


async def in_thread(blocking: Callable[[], None]) -> None:
    """Run work in a thread. Raises what it raises, and OSError if no thread can be started."""
    try:
        done = asyncio.get_running_loop().run_in_executor(None, blocking)
    except RuntimeError as lack:  # the pool has taken the work, and may run it with later work
        raise BlockingIOError(errno.EAGAIN, str(lack)) from lack
    await done


async def in_threads(steps: Steps[T]) -> T:
    """Take all steps, each wait for the disk in a thread; return their result.

    Raises one of NO_RESOURCES.
    """
    try:
        while True:
            try:
                blocking = next(steps)
            except StopIteration as ended:
                result: T = ended.value
                return result
            if blocking is None:
                await asyncio.sleep(0)
            else:
                await in_thread(blocking)
    finally:
        steps.close()


def reason_of(failed: BaseException) -> str:
    """What a line of the log says of it: a MemoryError has no text."""
    return str(failed) or type(failed).__name__
