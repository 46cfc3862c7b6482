"""Many runs: the calm one first, then schedules of the generator; the first violation is shrunk."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from threading import Event
from typing import Final, NamedTuple

from .checks import EXITS, KINDS, STUCK, Violation
from .contract import Contract
from .generator import Profile, schedules
from .run import RunOutcome, run
from .schedule import Schedule, ScheduleStep
from .shrinker import shrunk


class DoesNotWork(Exception):
    """The application fails without faults; the text has the reason.

    Args:
        outcome: of the run.

    Attributes:
        lines: the last lines of the copies.
    """

    def __init__(self, outcome: RunOutcome) -> None:
        why = outcome.violations[0].text
        super().__init__(f"the application does not work without faults: {why}")
        self.lines = [
            f"copy {copy}: {line}" for copy, all_ in outcome.last_lines.items() for line in all_
        ]


VERIFICATIONS: Final = 3
_REPLAYS: Final = 2
_MOST_CHOICES: Final = 4
_PATIENCE: Final = 2.0
Runner = Callable[[Contract, Schedule, Callable[[], bool]], RunOutcome]
"""Runs a schedule, until the function says that its outcome is of no interest any more."""


class CampaignPlan(NamedTuple):
    """What to run.

    Attributes:
        runs: at most so many.
        base: copies and data.
        most_steps: of a schedule.
        without: actions that do not happen.
        jobs: runs at the same time.
        shrink_s: the longest time for shrinking.
    """

    runs: int = 100
    seed: int = 1
    base: Schedule = Schedule()
    most_steps: int = 3
    hazards: bool = False
    without: frozenset[str] = frozenset()
    jobs: int = 1
    shrink_s: float = 60.0


@dataclass
class Failure:
    """A schedule that fails, and what was seen.

    Attributes:
        run: the number of the run that found it, from 1.
        original: before it was shrunk.
        replays, failed: of the shrunk one.
        candidates: the schedules that were tried meanwhile.
    """

    run: int
    original: Schedule
    schedule: Schedule
    outcome: RunOutcome
    replays: int = 0
    failed: int = 0
    candidates: int = 0
    shrink_s: float = 0.0

    @property
    def violation(self) -> Violation:
        """The worst."""
        return worst(self.outcome)

    @property
    def told(self) -> str:
        """The worst violation in one line."""
        return f"{self.violation.kind}: {self.violation.text}"

    @property
    def is_without_faults(self) -> bool:
        """Whether the first run fails, in which nothing happens: the application is wrong."""
        return self.run == 1


@dataclass
class Report:
    """What a campaign came to.

    Attributes:
        fired, not_fired: the steps by their actions.
        not_confirmed: what happened once, and not when it was repeated with more time.
    """

    runs: int = 0
    took_s: float = 0.0
    fired: Counter[str] = field(default_factory=Counter)
    not_fired: Counter[str] = field(default_factory=Counter)
    without_steps: int = 0
    not_confirmed: list[str] = field(default_factory=list)
    failure: Failure | None = None


class Watcher:
    """Hears what goes on; this one does nothing."""

    def ran(self, number: int, schedule: Schedule, outcome: RunOutcome) -> None:
        """A run has ended."""

    def shrinks(self, failure: Failure) -> None:
        """A violation was found."""

    def tried(self, schedule: Schedule, *, fails: bool) -> None:
        """A smaller schedule was replayed."""


def worst(outcome: RunOutcome) -> Violation:
    """The worst violation of an outcome that has some."""
    order = list(KINDS)
    return min(
        outcome.violations,
        key=lambda each: order.index(each.kind) if each.kind in order else len(order),
    )


def campaign(
    contract: Contract, plan: CampaignPlan, watcher: Watcher | None = None, *, runner: Runner = run
) -> Report:
    """Run schedules until one violates the check, and shrink it.

    Raises:
        DoesNotWork: it fails without faults.
        NoProgram, BrokerFailed, NoAnswer, ErrorAnswer: a run cannot take place.
    """
    return _Campaign(contract, plan, watcher or Watcher(), runner).report()


class _Judged(NamedTuple):
    """An outcome.

    Attributes:
        not_confirmed: what happened at first, and not with more time.
    """

    outcome: RunOutcome
    not_confirmed: str = ""


class _Campaign:
    def __init__(
        self, contract: Contract, plan: CampaignPlan, watcher: Watcher, runner: Runner
    ) -> None:
        self._contract = contract
        self._plan = plan
        self._watcher = watcher
        self._runner = runner
        self._report = Report()
        self._has_failure = Event()

    def report(self) -> Report:
        began_s = time.monotonic()
        calm = self._plan.base
        outcome = self._run(calm)
        self._count(1, calm, outcome)
        if outcome.violations and outcome.kinds <= {STUCK, EXITS}:
            raise DoesNotWork(outcome)
        failure = Failure(1, calm, calm, outcome) if outcome.violations else None
        if failure is None and self._plan.runs > 1:
            failure = self._search(Profile(outcome.apis))
        self._report.failure = failure
        if failure is not None and not failure.is_without_faults:
            self._watcher.shrinks(failure)
            self._shrink(failure)
        self._report.took_s = time.monotonic() - began_s
        return self._report

    def _search(self, profile: Profile) -> Failure | None:
        plan = self._plan
        wanted = schedules(
            plan.seed, profile, plan.base, most_steps=plan.most_steps, hazards=plan.hazards,
            without=plan.without,
        )  # fmt: skip
        numbered = enumerate(islice(wanted, plan.runs - 1), 2)
        failure: Failure | None = None
        waiting: dict[Future[_Judged], tuple[int, Schedule]] = {}
        with ThreadPoolExecutor(plan.jobs) as pool:
            while True:
                while failure is None and len(waiting) < plan.jobs:
                    number, schedule = next(numbered, (0, None))
                    if schedule is None:
                        break
                    future = pool.submit(self._judged, schedule)
                    waiting[future] = number, schedule
                if not waiting:
                    return failure
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    number, schedule = waiting.pop(future)
                    judged = future.result()
                    if failure is None:
                        failure = self._failure(number, schedule, judged)

    def _failure(self, number: int, schedule: Schedule, judged: _Judged) -> Failure | None:
        """The failure of a run, if it has one; the other runs end then."""
        outcome = judged.outcome
        self._count(number, schedule, outcome)
        if judged.not_confirmed:
            self._report.not_confirmed.append(f"run {number}: {judged.not_confirmed}")
        if not outcome.violations:
            return None
        self._has_failure.set()
        return Failure(number, schedule, schedule, outcome)

    def _run(self, schedule: Schedule) -> RunOutcome:
        return self._runner(self._contract, schedule, lambda: False)

    def _judged(self, schedule: Schedule) -> _Judged:
        """Run a schedule; an application that is only slow must be slow again with more time."""
        is_over = self._has_failure.is_set
        outcome = self._runner(self._contract, schedule, is_over)
        if outcome.kinds != {STUCK} or is_over():
            return _Judged(outcome)
        again = self._runner(self._patient(), schedule, is_over)
        return _Judged(again, "" if again.violations else outcome.violations[0].text)

    def _count(self, number: int, schedule: Schedule, outcome: RunOutcome) -> None:
        report = self._report
        report.runs += 1
        fired: list[ScheduleStep] = list(outcome.fired)
        report.fired.update(each.do for each in fired)
        report.not_fired.update(each.do for each in schedule.steps if each not in fired)
        report.without_steps += bool(schedule.steps) and not fired
        self._watcher.ran(number, schedule, outcome)

    def _patient(self) -> Contract:
        contract = self._contract
        return contract._replace(
            timeout_s=_PATIENCE * contract.timeout_s, idle_s=_PATIENCE * contract.idle_s
        )

    def _shrink(self, failure: Failure) -> None:
        """Find the smallest schedule that fails as reliably as the original."""
        kind = failure.violation.kind
        began_s = time.monotonic()
        deadline_s = began_s + self._plan.shrink_s
        found = [(failure.original, failure.outcome)]
        replays = max(_REPLAYS, self._plan.jobs)
        # A race that is lost once in a while makes no scenario.
        least = len(self._that_fail(failure.original, kind, replays))

        def fails(schedule: Schedule) -> bool:
            if schedule == self._plan.base or (kind == STUCK and not schedule.steps):
                return False  # the first run had no steps either, and went well
            failure.candidates += 1
            failing = self._that_fail(schedule, kind, replays, at_least=least)
            if len(failing) >= least:
                found.append((schedule, failing[0]))
            self._watcher.tried(schedule, fails=len(failing) >= least)
            return len(failing) >= least

        if least:
            shrunk(failure.original, fails, lambda: time.monotonic() > deadline_s)
        self._choose(failure, found, kind)
        failure.shrink_s = time.monotonic() - began_s

    def _choose(
        self, failure: Failure, found: list[tuple[Schedule, RunOutcome]], kind: str
    ) -> None:
        """Take the smallest schedule that always fails, or else the one that fails most often."""
        failure.replays, failure.failed = VERIFICATIONS, -1
        for schedule, outcome in found[: -_MOST_CHOICES - 1 : -1]:
            failing = self._that_fail(schedule, kind, VERIFICATIONS)
            if len(failing) > failure.failed:
                failure.failed, failure.schedule = len(failing), schedule
                failure.outcome = failing[-1] if failing else outcome
            if failure.failed == VERIFICATIONS:
                return

    def _that_fail(
        self, schedule: Schedule, kind: str, replays: int, *, at_least: int = 0
    ) -> list[RunOutcome]:
        """The outcomes of replays that fail in the same way, with all steps if it is stuck.

        Args:
            at_least: how many must fail; no replay follows when so many cannot any more.
        """
        failing: list[RunOutcome] = []
        left = replays
        while left and len(failing) + left >= at_least:
            at_once = min(left, self._plan.jobs)
            if at_once == 1:
                outcomes = [self._run(schedule)]
            else:
                with ThreadPoolExecutor(at_once) as pool:
                    outcomes = list(pool.map(self._run, [schedule] * at_once))
            failing += [each for each in outcomes if _fails(each, schedule, kind)]
            left -= at_once
        return failing


def _fails(outcome: RunOutcome, schedule: Schedule, kind: str) -> bool:
    is_whole = kind != STUCK or len(outcome.fired) == len(schedule.steps)
    return kind in outcome.kinds and is_whole
