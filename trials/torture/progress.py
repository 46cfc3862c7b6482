"""Progress of a campaign on standard error: a bar on a terminal, a line for each run elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from ...console.tables import print_error
from .campaign import Failure, Watcher
from .run import RunOutcome
from .schedule import Schedule

_RUNS_A_LINE: Final = 10


@contextmanager
def showing(runs: int, *, every_run: bool = False) -> Iterator[Watcher]:
    """A watcher for a campaign of so many runs.

    Args:
        every_run: whether each run has a line, also on a terminal.
    """
    if every_run or not sys.stderr.isatty():
        yield _Lines(runs, every_run=every_run)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"), console=Console(stderr=True), transient=True,
    ) as drawn:  # fmt: skip
        yield _Bar(drawn, runs)


def in_words(schedule: Schedule) -> str:
    """A schedule in one line."""
    return "; ".join(map(str, schedule.steps)) or "no faults"


def steps_in_words(count: int) -> str:
    """A number of steps."""
    return "no steps" if count == 0 else "1 step" if count == 1 else f"{count} steps"


class _Lines(Watcher):
    def __init__(self, runs: int, *, every_run: bool) -> None:
        self._runs = runs
        self._every_run = every_run
        self._done = 0
        self._began_s = time.monotonic()

    def ran(self, number: int, schedule: Schedule, outcome: RunOutcome) -> None:
        self._done += 1
        if not self._every_run and not outcome.violations:
            if self._done % _RUNS_A_LINE == 0:
                took_s = time.monotonic() - self._began_s
                self._say(f"{self._done} of {self._runs} runs, {took_s:.0f} s: nothing is wrong")
            return
        verdict = ", ".join(sorted(outcome.kinds)) or "ok"
        missed = len(schedule.steps) - len(outcome.fired)
        note = f" ({missed} did not happen)" if missed else ""
        self._say(
            f"run {number} of {self._runs}: {verdict}, {outcome.took_s:.1f} s: "
            f"{in_words(schedule)}{note}"
        )

    def shrinks(self, failure: Failure) -> None:
        self._say(f"run {failure.run} violates: {failure.violation.text}; it is shrunk")

    def tried(self, schedule: Schedule, *, fails: bool) -> None:
        if not self._every_run and not fails:
            return
        data = schedule.data
        steps = steps_in_words(len(schedule.steps))
        what = f"{steps}, copies: {schedule.copies}, records: {data.records}"
        self._say(f"  {'fails' if fails else 'passes'}: {what}: {in_words(schedule)}")

    def _say(self, text: str) -> None:
        print_error(text)
        sys.stderr.flush()


class _Bar(Watcher):
    def __init__(self, drawn: Any, runs: int) -> None:  # Any: rich is imported when it is needed
        self._drawn = drawn
        self._task = drawn.add_task("runs", total=runs, last="")
        self._tried = 0

    def ran(self, number: int, schedule: Schedule, outcome: RunOutcome) -> None:
        self._drawn.update(self._task, advance=1, last=in_words(schedule))

    def shrinks(self, failure: Failure) -> None:
        self._drawn.print(f"run {failure.run} violates: {failure.violation.text}", markup=False)
        self._drawn.update(self._task, description="shrinking", total=None)

    def tried(self, schedule: Schedule, *, fails: bool) -> None:
        self._tried += 1
        if fails:
            last = (
                f"{self._tried} tried; {steps_in_words(len(schedule.steps))}: {in_words(schedule)}"
            )
            self._drawn.update(self._task, completed=self._tried, last=last)
