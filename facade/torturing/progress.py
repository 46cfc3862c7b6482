"""Progress of a campaign on standard error: a bar on a terminal, a line for each run elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ottla.torturing.campaign import Failure, Watcher
from ottla.torturing.run import Outcome
from ottla.torturing.schedule import Schedule


@contextmanager
def showing(runs: int) -> Iterator[Watcher]:
    """A watcher for a campaign of so many runs."""
    if not sys.stderr.isatty():
        yield _Lines(runs)
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
    def __init__(self, runs: int) -> None:
        self._runs = runs

    def ran(self, number: int, schedule: Schedule, outcome: Outcome) -> None:
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
        data = schedule.data
        steps = steps_in_words(len(schedule.steps))
        what = f"{steps}, copies: {schedule.copies}, records: {data.records}"
        self._say(f"  {'fails' if fails else 'passes'}: {what}: {in_words(schedule)}")

    def _say(self, text: str) -> None:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


class _Bar(Watcher):
    def __init__(self, drawn: Any, runs: int) -> None:  # Any: rich is imported when it is needed
        self._drawn = drawn
        self._task = drawn.add_task("runs", total=runs, last="")
        self._tried = 0

    def ran(self, number: int, schedule: Schedule, outcome: Outcome) -> None:
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
