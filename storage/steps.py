"""Long work as a generator of short steps: between two of them anything else may be done.

What would block is handed out, to be called on whatever thread, and done when the generator goes
on. Whoever takes the steps decides how long to go on without a pause.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

T = TypeVar("T")
Blocking = Callable[[], None]
Steps = Generator[Blocking | None, None, T]


def elsewhere(work: Callable[[], T]) -> Steps[T]:
    """Hand out `work`; what it returns. What it raises, is raised by whoever calls it."""
    done: list[T] = []
    yield lambda: done.append(work())
    return done[0]


def at_once(steps: Steps[T]) -> T:
    """Take all steps without a pause; what they return."""
    while True:
        try:
            blocking = next(steps)
        except StopIteration as ended:
            result: T = ended.value
            return result
        if blocking is not None:
            blocking()
