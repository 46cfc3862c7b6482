"""A broker whose event loop measures its turns by the processor time of its thread.

`loop_lag.py` starts it. A line on standard input asks for the turns since the line before; the
answer is one line of JSON. Time in which another process has the processor does not count, so the
figures hold on a loaded machine. A turn is what runs between two waits for sockets.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from contextvars import Context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import uvloop

from ottla.broker.scheduling.holds import Holds
from ottla.broker.server import serve
from ottla.broker.settings.config import BrokerConfig


class _Selector(selectors.DefaultSelector):
    """Calls `between` before each wait and after it."""

    ended: Callable[[], None]
    began: Callable[[], None]

    def select(self, timeout: float | None = None) -> Any:  # Any: as selectors declares it
        """Wait for sockets."""
        self.ended()
        try:
            return super().select(timeout)
        finally:
            self.began()


class TurnLoop(asyncio.SelectorEventLoop):
    """Measures its turns, and the pieces of work in the longest one.

    Attributes:
        holds: the pieces of the turn that runs.
    """

    def __init__(self) -> None:
        selector = _Selector()
        selector.began, selector.ended = self._began, self._ended
        self.holds = Holds(time.thread_time)
        self._began_s = time.thread_time()
        self._take()
        super().__init__(selector)

    def _take(self) -> None:
        self._longest_s, self._busy_s, self._turns = 0.0, 0.0, 0
        self._works: dict[str, float] = {}

    def _began(self) -> None:
        self.holds.longest_s.clear()
        self._began_s = time.thread_time()

    def _ended(self) -> None:
        took_s = time.thread_time() - self._began_s
        self._turns += 1
        self._busy_s += took_s
        if took_s > self._longest_s:
            self._longest_s, self._works = took_s, dict(self.holds.longest_s)

    def report(self) -> None:
        """Print the turns since the last report."""
        works = sorted(self._works.items(), key=lambda work: -work[1])
        found = {
            "longest_ms": self._longest_s * 1000,
            "busy_ms": self._busy_s * 1000,
            "turns": self._turns,
            "works": [[name, took_s * 1000] for name, took_s in works],
        }
        self._take()
        print(json.dumps(found), flush=True)

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        """As asyncio's."""
        return super().call_soon(self.holds.run, callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        """As asyncio's."""
        return super().call_soon_threadsafe(self.holds.run, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: object,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As asyncio's."""
        return super().call_at(when, self.holds.run, callback, *args, context=context)


def _run(serving: Coroutine[Any, Any, int]) -> int:
    """Run the broker in a TurnLoop instead of uvloop's."""
    with asyncio.Runner(loop_factory=TurnLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, TurnLoop)
        here, begun = threading.get_ident(), [(0.0, 0.0)]

        def collected(phase: str, info: dict[str, int]) -> None:
            if threading.get_ident() == here and phase == "start":
                begun.append(loop.holds.begin())
            elif threading.get_ident() == here:
                loop.holds.end(begun.pop(), f"garbage collection {info['generation']}")

        gc.callbacks.append(collected)

        def listen() -> None:
            for _ in sys.stdin:
                loop.call_soon_threadsafe(loop.report)
            os.kill(os.getpid(), signal.SIGTERM)  # the bench is gone, perhaps without its `stop`

        threading.Thread(target=listen, daemon=True).start()
        return runner.run(serving)


def main() -> int:
    """Serve: DATA_DIRECTORY READY_FILE NAME=VALUE..."""
    directory, ready_file, *settings = sys.argv[1:]
    uvloop.run = _run  # type: ignore[assignment]  # as `serve` calls it
    config = BrokerConfig.from_settings(dict(each.split("=", 1) for each in settings))
    return serve(config, data_dir=Path(directory), ready_file=Path(ready_file))


if __name__ == "__main__":
    sys.exit(main())
