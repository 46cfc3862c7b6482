"""`make torture`: `ottla torture` finds each planted bug, and nothing in the right applications.

A planted bug must be found in less than a minute, with at most three steps after shrinking, and the
schedule must fail again in each replay. A right application must pass --runs schedules. `--only`
chooses applications; `--json FILE` gets a line for each, and adds to those that are there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

from ottla.trials.torture import reports
from ottla.trials.torture.campaign import CampaignPlan, Report, Watcher, campaign
from ottla.trials.torture.checks import check_of
from ottla.trials.torture.contract import Contract
from ottla.trials.torture.run import RunOutcome
from ottla.trials.torture.scenario_file import Application
from ottla.trials.torture.schedule import Schedule

from ..conform.clients import NotThere
from .programs import PLANTED, RIGHT, planted, right

FIND_S: Final = 60.0
MOST_STEPS: Final = 3
RUNS_OF_PLANTED: Final = 100
TOLD_EACH: Final = 50


class Verdict(NamedTuple):
    """How an application did.

    Attributes:
        is_right: it has no bug.
        found_s: the time until the first violation; None for none.
        complaints: what should have been otherwise.
    """

    name: str
    is_right: bool
    report: Report
    found_s: float | None
    complaints: tuple[str, ...]

    def fields(self, plan: CampaignPlan) -> dict[str, Any]:
        """For JSON. Any: of JSON."""
        report = self.report
        found: dict[str, Any] = {
            "application": self.name, "is_right": self.is_right, "seed": plan.seed,
            "runs": report.runs, "took_s": round(report.took_s, 1),
            "fired": dict(report.fired), "not_fired": dict(report.not_fired),
            "not_confirmed": report.not_confirmed, "complaints": self.complaints,
        }  # fmt: skip
        if (failure := report.failure) is not None:
            found |= {
                "found_s": self.found_s, "found_in_run": failure.run,
                "anomaly": failure.violation.kind, "text": failure.violation.text,
                "steps": [str(each) for each in failure.schedule.steps],
                "copies": failure.schedule.copies, "records": failure.schedule.data.records,
                "shrink_s": round(failure.shrink_s, 1),
                "replays_that_fail": f"{failure.failed} of {failure.replays}",
            }  # fmt: skip
        return found


class Clock(Watcher):
    """Remembers when the first violation was found, and prints some progress."""

    def __init__(self) -> None:
        self._began_s = monotonic()
        self.found_s: float | None = None

    def ran(self, number: int, schedule: Schedule, outcome: RunOutcome) -> None:
        """Print each fiftieth run, and note when the first one fails."""
        if outcome.violations and self.found_s is None:
            self.found_s = monotonic() - self._began_s
        if number % TOLD_EACH == 0:
            say(f"    {number} runs, {monotonic() - self._began_s:.0f} s")


def judged(name: str, command: list[str], plan: CampaignPlan, *, is_right: bool) -> Verdict:
    """Torture an application."""
    contract = Contract(tuple(command), check_of("copy"))
    clock = Clock()
    report = campaign(contract, plan, clock)
    complain = _of_right if is_right else _of_planted
    return Verdict(name, is_right, report, clock.found_s, tuple(complain(report, clock.found_s)))


def _of_right(report: Report, _found_s: float | None) -> Iterator[str]:
    if report.failure is not None:
        yield f"it fails: {report.failure.violation.text}"


def _of_planted(report: Report, found_s: float | None) -> Iterator[str]:
    failure = report.failure
    if failure is None or found_s is None:
        yield "the bug is not found"
        return
    if found_s > FIND_S:
        yield f"the bug is found after {found_s:.0f} s only"
    if len(failure.schedule.steps) > MOST_STEPS:
        yield f"its schedule has {len(failure.schedule.steps)} steps"
    if failure.failed < failure.replays:
        yield f"it fails in {failure.failed} of {failure.replays} replays only"


def sentence(verdict: Verdict) -> str:
    """A verdict as a line."""
    report, failure = verdict.report, verdict.report.failure
    if failure is None:
        text = f"passes {report.runs} runs in {report.took_s:.0f} s"
    else:
        steps = "; ".join(map(str, failure.schedule.steps)) or "no steps"
        text = (
            f"{failure.violation.kind} after {verdict.found_s:.1f} s (run {failure.run}), shrunk in"
            f" {failure.shrink_s:.0f} s, fails in {failure.failed} of {failure.replays} replays:"
            f" {steps}"
        )
    complaints = "".join(f"\n    {each}" for each in verdict.complaints)
    return f"{verdict.name}: {text}{complaints}"


def main() -> int:
    """Torture the applications; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture")
    parser.add_argument("--only", action="append", choices=(*PLANTED, *RIGHT))
    parser.add_argument("--runs", type=int, default=1000, help="of a right application")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--shrink-time", type=float, default=60.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--scenarios", type=Path, help="a directory for what fails")
    given = parser.parse_args()
    plan = CampaignPlan(seed=given.seed, jobs=given.jobs, shrink_s=given.shrink_time)
    is_failed = False
    for name in given.only or (*PLANTED, *RIGHT):
        is_right = name in RIGHT
        try:
            command = right(name) if is_right else planted(name)
        except NotThere as missing:
            say(f"{name}: left out: {missing}")
            continue
        runs = given.runs if is_right else RUNS_OF_PLANTED
        verdict = judged(name, command, plan._replace(runs=runs), is_right=is_right)
        say(sentence(verdict))
        is_failed |= bool(verdict.complaints)
        if given.scenarios is not None and (failure := verdict.report.failure) is not None:
            application = Application(command=tuple(command))
            scenario = reports.scenario_of(application, plan, failure)
            file = given.scenarios / f"{name}-{given.seed}.yaml"
            file.write_text(reports.scenario_text(scenario, failure))
        if given.json is not None:
            with given.json.open("a") as file:
                file.write(json.dumps(verdict.fields(plan)) + "\n")
    return 1 if is_failed else 0


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
