"""The campaign, with a runner that only pretends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from ottla.trials.torture.campaign import CampaignPlan, Failure, campaign
from ottla.trials.torture.checks import STUCK, TWICE, Violation, check_of
from ottla.trials.torture.contract import Contract
from ottla.trials.torture.generator import Profile, schedules
from ottla.trials.torture.run import RunOutcome
from ottla.trials.torture.schedule import APIS, Schedule

CONTRACT = Contract(("true",), check_of("copy"))


TWICE_THERE = Violation(TWICE, "it is there twice")


class Pretended:
    """A runner whose schedules with steps fail as often as a function says.

    Args:
        is_failing: takes the schedule, and how often it was run before.
    """

    def __init__(self, is_failing: Callable[[Schedule, int], bool]) -> None:
        self._is_failing = is_failing
        self.runs: Counter[Schedule] = Counter()

    def __call__(self, _: Contract, schedule: Schedule, is_over: Callable[[], bool]) -> RunOutcome:
        before = self.runs[schedule]
        self.runs[schedule] += 1
        fails = bool(schedule.steps) and self._is_failing(schedule, before)
        return RunOutcome(violations=[TWICE_THERE] if fails else [], fired=schedule.steps)


def failure_of(runner: Pretended, **plan: Any) -> Failure:
    failure = campaign(CONTRACT, CampaignPlan(**plan), runner=runner).failure
    assert failure is not None
    return failure


@pytest.mark.parametrize("jobs", [1, 4])
def test_a_schedule_that_fails_once_in_a_while_is_not_taken_for_smaller(jobs: int) -> None:
    runner = Pretended(lambda schedule, before: schedule.data.records >= 3 or before % 2 == 0)
    failure = failure_of(runner, jobs=jobs)
    assert failure.schedule.data.records == 3
    assert (failure.failed, failure.replays) == (3, 3)


@pytest.mark.parametrize("jobs", [1, 4])
def test_a_larger_schedule_that_always_fails_is_better_than_one_that_fails_at_first(
    jobs: int,
) -> None:
    replays = max(2, jobs)  # of a candidate
    runner = Pretended(lambda schedule, before: schedule.data.records >= 3 or before < replays)
    failure = failure_of(runner, jobs=jobs)
    assert failure.schedule.data.records >= 3
    assert (failure.failed, failure.replays) == (3, 3)


def test_a_failure_by_chance_is_not_shrunk() -> None:
    runner = Pretended(lambda _, before: before == 0)
    failure = failure_of(runner)
    assert failure.schedule == failure.original
    assert (failure.failed, failure.replays, failure.candidates) == (0, 3, 0)


def test_a_bug_that_needs_one_record_is_shrunk_by_few_replays() -> None:
    runner = Pretended(lambda _schedule, _before: True)
    failure = failure_of(runner)
    assert (failure.schedule.copies, failure.schedule.data.records) == (1, 1)
    assert failure.candidates <= 4


def test_a_first_run_that_fails_has_nothing_to_shrink() -> None:
    runs = 0

    def runner(_: Contract, schedule: Schedule, is_over: Callable[[], bool]) -> RunOutcome:
        nonlocal runs
        runs += 1
        return RunOutcome(violations=[TWICE_THERE])

    failure = campaign(CONTRACT, CampaignPlan(), runner=runner).failure
    assert failure is not None
    assert failure.is_without_faults
    assert (runs, failure.candidates) == (1, 0)


def test_a_stuck_application_keeps_the_step_that_stops_it() -> None:
    """A slow machine may make a run without faults look stuck."""
    runs = 0

    def runner(_: Contract, schedule: Schedule, is_over: Callable[[], bool]) -> RunOutcome:
        nonlocal runs
        runs += 1
        is_calm = runs == 1
        stuck = [] if is_calm else [Violation(STUCK, "nothing happens")]
        return RunOutcome(violations=stuck, fired=schedule.steps)

    failure = campaign(CONTRACT, CampaignPlan(), runner=runner).failure
    assert failure is not None
    assert len(failure.schedule.steps) == 1
    assert (failure.failed, failure.replays) == (3, 3)


def test_an_application_that_is_stuck_once_is_noted_if_more_time_helps() -> None:
    def runner(contract: Contract, schedule: Schedule, is_over: Callable[[], bool]) -> RunOutcome:
        is_slow = bool(schedule.steps) and contract.idle_s == CONTRACT.idle_s
        violations = [Violation(STUCK, "nothing happens")] if is_slow else []
        return RunOutcome(violations=violations, fired=schedule.steps)

    report = campaign(CONTRACT, CampaignPlan(runs=4), runner=runner)
    assert report.failure is None
    assert len(report.not_confirmed) == 3


def test_a_failure_ends_the_runs_beside_it() -> None:
    is_beside = Event()
    given_up = []

    def runner(_: Contract, schedule: Schedule, is_over: Callable[[], bool]) -> RunOutcome:
        if not schedule.steps:
            return RunOutcome()
        if not is_beside.is_set():
            is_beside.set()
            while not is_over():
                pass
            given_up.append(schedule)
            return RunOutcome()
        return RunOutcome(violations=[Violation(TWICE, "it is there twice")])

    assert campaign(CONTRACT, CampaignPlan(jobs=2, shrink_s=0), runner=runner).failure is not None
    assert len(given_up) == 1


def test_a_copy_with_a_fault_at_its_requests_is_alone() -> None:
    found = schedules(1, Profile(dict.fromkeys(APIS, 99)), Schedule(copies=2))
    singles = [each for each, _ in zip(found, range(100), strict=False) if len(each.steps) == 1]
    assert {each.copies for each in singles if each.steps[0].do == "error"} == {1}
    others = [each for each in singles if each.steps[0].do in ("kill", "pause", "stop")]
    assert {each.copies for each in others} == {2}
