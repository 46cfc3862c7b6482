"""Progress of long work: drawn on standard error, on a terminal only, after a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_AFTER_S = 1.0


@contextmanager
def counting(noun: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A function to be called with the number of things done since its last call.

    Args:
        noun: of the things, in plural.
        total: None if it is unknown.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    drawing = _Drawing(noun, total)
    try:
        yield drawing.advance
    finally:
        drawing.close()


class _Drawing:
    def __init__(self, noun: str, total: int | None) -> None:
        self._noun, self._total = noun, total
        self._done = 0
        self._starts_s = time.monotonic() + _AFTER_S
        self._progress: Any = None

    def advance(self, number: int) -> None:
        self._done += number
        if self._progress is None and time.monotonic() > self._starts_s:
            self._start()
        if self._progress is not None:
            self._progress.update(self._task, completed=self._done)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(self._noun, total=self._total)
        self._progress.start()

    def close(self) -> None:
        if self._progress is not None:
            with suppress(OSError):
                self._progress.stop()
