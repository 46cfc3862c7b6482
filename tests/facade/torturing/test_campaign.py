"""The campaign, with a runner that only pretends."""

from __future__ import annotations

from ottla.torturing.campaign import Plan, campaign
from ottla.torturing.checks import TWICE, Violation, check_of
from ottla.torturing.contract import Contract
from ottla.torturing.generator import Profile, schedules
from ottla.torturing.run import Outcome
from ottla.torturing.schedule import APIS, Schedule

CONTRACT = Contract(("true",), check_of("copy"))


def test_a_schedule_that_fails_once_in_a_while_is_not_taken_for_smaller() -> None:
    replays: dict[Schedule, int] = {}

    def runner(_: Contract, schedule: Schedule) -> Outcome:
        """Fails with three records, and with fewer at the first replay alone."""
        replays[schedule] = replays.get(schedule, 0) + 1
        fails = schedule.data.records >= 3 or replays[schedule] == 1
        return Outcome(violations=[Violation(TWICE, "it is there twice")] if fails else [])

    failure = campaign(CONTRACT, Plan(), runner=runner).failure
    assert failure is not None
    assert failure.schedule.data.records == 3
    assert (failure.failed, failure.replays) == (3, 3)


def test_a_copy_with_a_fault_at_its_requests_is_alone() -> None:
    found = schedules(1, Profile(dict.fromkeys(APIS, 99)), Schedule(copies=2))
    singles = [each for each, _ in zip(found, range(100), strict=False) if len(each.steps) == 1]
    assert {each.copies for each in singles if each.steps[0].do == "error"} == {1}
    others = [each for each in singles if each.steps[0].do in ("kill", "pause", "stop")]
    assert {each.copies for each in others} == {2}
