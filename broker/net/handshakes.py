"""Runs the handshakes of TLS in two threads, and limits their number and their time.

One handshake takes a millisecond of a processor with a key of RSA-2048, and several with a larger
one. The event loop serves other clients meanwhile: OpenSSL runs without the interpreter's lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from ..clock import Clock, Timer

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Result = TypeVar("Result")
HANDSHAKE_MS: Final = 10_000
"""The time for a handshake. Kafka has no such limit, except `connections.max.idle.ms`."""
UNFINISHED: Final = 1000
"""The number of unfinished handshakes; beyond it, the oldest is given up."""
_THREADS: Final = 2


class Shaking(Protocol):
    """A connection whose handshake is not finished."""

    def give_up(self, why: str) -> None:
        """Close it, and log the reason."""


class Handshakes:
    """The unfinished handshakes of a node.

    Args:
        clock: the time.
        unfinished: the largest number of them.
    """

    def __init__(self, clock: Clock, unfinished: int = UNFINISHED) -> None:
        self._clock = clock
        self._most = unfinished
        self._unfinished: dict[Shaking, None] = {}
        self._pool: ThreadPoolExecutor | None = None

    def __len__(self) -> int:
        return len(self._unfinished)

    def began(self, one: Shaking) -> Timer:
        """Count a handshake; return the timer that gives it up, to be cancelled at its end."""
        self._unfinished[one] = None
        if len(self._unfinished) > self._most:
            oldest = next(iter(self._unfinished))
            oldest.give_up(f"more than {self._most} handshakes are not finished")
            self._unfinished.pop(oldest, None)
        why = f"no TLS handshake within {HANDSHAKE_MS} ms"
        return self._clock.call_after_ms(HANDSHAKE_MS, partial(one.give_up, why))

    def ended(self, one: Shaking) -> None:
        """Forget a handshake, which is complete or has failed."""
        self._unfinished.pop(one, None)

    def run(self, step: Callable[[], Result]) -> asyncio.Future[Result]:
        """Run a step in a thread, in the order of the calls."""
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="handshake")
        return asyncio.get_running_loop().run_in_executor(self._pool, step)

    def close(self) -> None:
        """End the threads after the steps that they run now."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
