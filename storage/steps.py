"""Runs long work as a generator of short steps, so that other work can run between two steps.

A step yields blocking work as a function; the caller runs it on any thread before it resumes the
generator. The caller also decides when to pause.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

T = TypeVar("T")
Blocking = Callable[[], None]
Steps = Generator[Blocking | None, None, T]


def elsewhere(work: Callable[[], T]) -> Steps[T]:
    """Yield `work` to the caller and return its result. Its exception is raised in the caller."""
    done: list[T] = []
    yield lambda: done.append(work())
    return done[0]


def at_once(steps: Steps[T]) -> T:
    """Run all steps without a pause; return their result."""
    while True:
        try:
            blocking = next(steps)
        except StopIteration as ended:
            result: T = ended.value
            return result
        if blocking is not None:
            blocking()
