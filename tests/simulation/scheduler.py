"""Virtual time, and an order of events that the seed decides.

A task is a generator that yields its waits. This module does not depend on the simulated code. The
same seed gives the same events in the same order, even with other hash seeds of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, Final, TypeVar

T = TypeVar("T")
Resume = Callable[[Any], None]
Wait = Callable[[Resume], None]
"""A wait of a task: a function that calls its argument once, some time later."""
Steps = Generator[Wait, Any, T]

_MOST_EVENTS: Final = 60_000
START_MS: Final = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a run.

    Attributes:
        trace: its events.
        happened: number of events of each kind.
    """

    trace: list[tuple[object, ...]]
    happened: dict[str, int]


class Process:
    """A client or broker, which can be killed, or paused and resumed.

    Attributes:
        paused_until_ms: until then it does nothing.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_alive = True
        self.paused_until_ms = 0


class Scheduler:
    """The events of one run, by time; the seed orders those of one moment.

    Attributes:
        random: source of every random choice of the run.
        trace: events with time, kind and details, as plain values.
        happened: number of events of each kind.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now_ms = START_MS
        self.trace: list[tuple[object, ...]] = []
        self.happened: dict[str, int] = {}
        self._events: list[tuple[int, float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._left = _MOST_EVENTS

    def note(self, kind: str, *details: object) -> None:
        """Add an event to the trace, and count it."""
        self.trace.append((self.now_ms - START_MS, kind, *details))
        self.happened[kind] = self.happened.get(kind, 0) + 1

    def after(self, delay_ms: int, event: Callable[[], None]) -> None:
        order = self.random.random()
        heappush(self._events, (self.now_ms + delay_ms, order, next(self._numbers), event))

    def jump(self, by_ms: int) -> None:
        """Let time pass at once; events due in between run late."""
        self.now_ms += by_ms

    def run(self, until_ms: int) -> None:
        """Run the events until then. Raises AssertionError if they never end."""
        while self._events and self._events[0][0] <= until_ms:
            due_ms, _, _, event = heappop(self._events)
            self.now_ms = max(self.now_ms, due_ms)
            self._left -= 1
            assert self._left > 0, f"{_MOST_EVENTS} events without an end"
            event()
        self.now_ms = max(self.now_ms, until_ms)

    # Tasks

    def spawn(self, process: Process, steps: Steps[Any]) -> None:
        """Run a task while its process is alive."""
        _Task(self, process, steps, lambda result: None).resume(None)

    def sleep(self, delay_ms: int) -> Wait:
        return lambda resume: self.after(delay_ms, lambda: resume(None))

    def gather(self, process: Process, parts: Sequence[Steps[Any]]) -> Wait:
        """Run tasks in parallel; their results or exceptions."""

        def wait(resume: Resume) -> None:
            results: list[Any] = [None] * len(parts)
            left = len(parts)

            def done(at: int, result: Any) -> None:
                nonlocal left
                results[at] = result
                left -= 1
                if left == 0:
                    resume(results)

            for at, part in enumerate(parts):
                task = _Task(self, process, _caught(part), lambda result, at=at: done(at, result))  # type: ignore[misc]  # mypy cannot type the default
                self.after(0, lambda task=task: task.resume(None))  # type: ignore[misc]  # mypy cannot type the default

        return wait


def _caught(part: Steps[Any]) -> Steps[Any]:
    try:
        return (yield from part)
    except TaskError as failed:
        return failed


class TaskError(Exception):
    """An exception of a task in `gather`, which its caller gets."""


class _Task:
    def __init__(
        self, scheduler: Scheduler, process: Process, steps: Steps[Any], done: Resume
    ) -> None:
        self._scheduler = scheduler
        self._process = process
        self._steps = steps
        self._done = done

    def resume(self, value: Any) -> None:
        process = self._process
        if not process.is_alive:
            return
        sleeps_ms = process.paused_until_ms - self._scheduler.now_ms
        if sleeps_ms > 0:
            self._scheduler.after(sleeps_ms, lambda: self.resume(value))
            return
        try:
            wait = self._steps.send(value)
        except StopIteration as stopped:
            self._done(stopped.value)
        else:
            wait(self.resume)
