"""The campaign, with a runner that only pretends."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

from ottla.torturing.campaign import Plan, campaign
from ottla.torturing.checks import STUCK, TWICE, Violation, check_of
from ottla.torturing.contract import Contract
from ottla.torturing.generator import Profile, schedules
from ottla.torturing.run import Outcome
from ottla.torturing.schedule import APIS, Schedule

CONTRACT = Contract(("true",), check_of("copy"))


def test_a_schedule_that_fails_once_in_a_while_is_not_taken_for_smaller() -> None:
    replays: dict[Schedule, int] = {}

    def runner(_: Contract, schedule: Schedule, is_over: Callable[[], bool]) -> Outcome:
        """Fails with three records, and with fewer at the first replay alone."""
        replays[schedule] = replays.get(schedule, 0) + 1
        fails = schedule.data.records >= 3 or replays[schedule] == 1
        return Outcome(violations=[Violation(TWICE, "it is there twice")] if fails else [])

    failure = campaign(CONTRACT, Plan(), runner=runner).failure
    assert failure is not None
    assert failure.schedule.data.records == 3
    assert (failure.failed, failure.replays) == (3, 3)


def test_a_stuck_application_keeps_the_step_that_stops_it() -> None:
    """A slow machine may make a run without faults look stuck."""
    runs = 0

    def runner(_: Contract, schedule: Schedule, is_over: Callable[[], bool]) -> Outcome:
        nonlocal runs
        runs += 1
        is_calm = runs == 1
        stuck = [] if is_calm else [Violation(STUCK, "nothing happens")]
        return Outcome(violations=stuck, fired=schedule.steps)

    failure = campaign(CONTRACT, Plan(), runner=runner).failure
    assert failure is not None
    assert len(failure.schedule.steps) == 1
    assert (failure.failed, failure.replays) == (3, 3)


def test_an_application_that_is_stuck_once_is_noted_if_more_time_helps() -> None:
    def runner(contract: Contract, schedule: Schedule, is_over: Callable[[], bool]) -> Outcome:
        is_slow = bool(schedule.steps) and contract.idle_s == CONTRACT.idle_s
        violations = [Violation(STUCK, "nothing happens")] if is_slow else []
        return Outcome(violations=violations, fired=schedule.steps)

    report = campaign(CONTRACT, Plan(runs=4), runner=runner)
    assert report.failure is None
    assert len(report.not_confirmed) == 3


def test_a_failure_ends_the_runs_beside_it() -> None:
    is_beside = Event()
    given_up = []

    def runner(_: Contract, schedule: Schedule, is_over: Callable[[], bool]) -> Outcome:
        if not schedule.steps:
            return Outcome()
        if not is_beside.is_set():
            is_beside.set()
            while not is_over():
                pass
            given_up.append(schedule)
            return Outcome()
        return Outcome(violations=[Violation(TWICE, "it is there twice")])

    assert campaign(CONTRACT, Plan(jobs=2, shrink_s=0), runner=runner).failure is not None
    assert len(given_up) == 1


def test_a_copy_with_a_fault_at_its_requests_is_alone() -> None:
    found = schedules(1, Profile(dict.fromkeys(APIS, 99)), Schedule(copies=2))
    singles = [each for each, _ in zip(found, range(100), strict=False) if len(each.steps) == 1]
    assert {each.copies for each in singles if each.steps[0].do == "error"} == {1}
    others = [each for each in singles if each.steps[0].do in ("kill", "pause", "stop")]
    assert {each.copies for each in others} == {2}
