"""Schedules follow from the seed, fit the application, and are made as small as possible."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pytest
from msgspec.structs import replace

from ottla.testing.data import RowFields
from ottla.trials.torture.generator import Profile, schedules
from ottla.trials.torture.inputs import portions_of
from ottla.trials.torture.schedule import (
    ABORTABLE,
    APIS,
    ERRORS,
    HAZARDS,
    At,
    Data,
    Schedule,
    ScheduleStep,
    WrongSchedule,
    check_schedule,
)
from ottla.trials.torture.shrinker import shrunk

TRANSACTIONAL = Profile(
    {
        **{"EndTxn": 5, "TxnOffsetCommit": 5, "AddOffsetsToTxn": 4, "JoinGroup": 9},
        **{"InitProducerId": 5, "Produce": 12},
    }
)
PLAIN = Profile({"OffsetCommit": 9, "ConsumerGroupHeartbeat": 1})
BASE = Schedule()


def made(count: int, *, seed: int = 1, profile: Profile = TRANSACTIONAL) -> list[Schedule]:
    return list(islice(schedules(seed, profile, BASE), count))


def kill(nth: int = 1, copy: int = 1, api: str = "EndTxn") -> ScheduleStep:
    return ScheduleStep(do="kill", at=At(api=api, nth=nth, copy=copy))


def test_the_same_seed_makes_the_same_schedules() -> None:
    assert made(200) == made(200)
    assert made(50) != made(50, seed=2)


@pytest.mark.parametrize("profile", [TRANSACTIONAL, PLAIN])
def test_all_schedules_are_right(profile: Profile) -> None:
    for schedule in made(1500, profile=profile):
        check_schedule(schedule)
        assert 1 <= len(schedule.steps) <= 3


def test_steps_are_at_requests_that_the_application_sends() -> None:
    of_transactional = {step.at.api for each in made(1500) for step in each.steps}
    assert "EndTxn" in of_transactional
    assert of_transactional & {"OffsetCommit", "ConsumerGroupHeartbeat"} == set()
    of_plain = {step.at.api for each in made(1500, profile=PLAIN) for step in each.steps}
    assert {"OffsetCommit", "ConsumerGroupHeartbeat"} <= of_plain
    assert of_plain & {"EndTxn", "JoinGroup", "Heartbeat"} == set()


def test_the_first_forty_schedules_have_each_sharp_step_of_transactions() -> None:
    seen = {
        (step.do, step.at.api) for each in made(60) if len(each.steps) == 1 for step in each.steps
    }
    assert {
        ("error", "TxnOffsetCommit"), ("error", "Produce"), ("error", "EndTxn"),
        ("kill", "EndTxn"), ("kill", "Produce"), ("pause", "Produce"), ("pause", "EndTxn"),
        ("fence", "Produce"), ("fence", "EndTxn"), ("start", "Produce"),
    } <= seen  # fmt: skip


def test_errors_that_an_old_client_never_gets_are_left_out() -> None:
    old = Profile({**TRANSACTIONAL.apis, "EndTxn": 3})
    codes = {(step.at.api, step.code) for each in made(1500, profile=old) for step in each.steps}
    assert ("Produce", ABORTABLE) in codes
    assert ("EndTxn", ABORTABLE) not in codes


def test_single_steps_and_random_schedules_alternate() -> None:
    sizes = [len(each.steps) for each in made(30)]
    assert [size > 1 for size in sizes[2::3]].count(True) >= 8
    assert set(sizes[0::3]) | set(sizes[1::3]) == {1}


def test_requests_arrive_late_or_twice_only_with_hazards() -> None:
    def actions(hazards: bool) -> set[str]:
        wanted = islice(schedules(1, TRANSACTIONAL, BASE, hazards=hazards), 1500)
        return {step.do for each in wanted for step in each.steps}

    assert actions(False) & HAZARDS.keys() == set()
    assert HAZARDS.keys() <= actions(True)


def test_the_data_has_unique_values_in_all_partitions() -> None:
    data = Data(records=7, aborted=5, partitions=3, output_partitions=3, portions=3)
    portions = portions_of(data)
    assert len(portions) == 3

    def rows(is_aborted: bool) -> list[RowFields]:
        return [
            row
            for portion in portions
            for batch in portion
            if batch.is_aborted == is_aborted
            for row in batch.rows
        ]

    assert [row["value"] for row in rows(False)] == [f"record-{number}" for number in range(7)]
    assert {row["value"] for row in rows(True)} == {f"aborted-{number}" for number in range(5)}
    assert {row["partition"] for row in rows(False)} == {0, 1, 2}
    assert any(batches[0].is_aborted for batches in portions)
    assert any(batches[-1].is_aborted for batches in portions)


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (ScheduleStep(do="kil", at=At(api="EndTxn")), "steps[0].do: kil is none of kill, pause,"),
        (
            ScheduleStep(do="kill", at=At(api="End")),
            "steps[0].at.api: End is none of Produce, Fetch,",
        ),
        (kill(nth=0), "steps[0].at.nth: 0 must be from 1 to 1000"),
        (kill(copy=3), "steps[0].at.copy: 3 must be from 1 to 2"),
        (
            ScheduleStep(do="kill", at=At(api="EndTxn", point="now")),
            "steps[0].at.point: now is none of before, after",
        ),
        (
            ScheduleStep(do="error", at=At(api="EndTxn"), code="FENCED_LEADER_EPOCH"),
            "steps[0].code: FENCED_LEADER_EPOCH is none of TRANSACTION_ABORTABLE,",
        ),
        (
            ScheduleStep(do="kill", at=At(api="EndTxn"), code="NOT_COORDINATOR"),
            "steps[0].code: NOT_COORDINATOR is only for do: error",
        ),
        (
            ScheduleStep(do="kill", at=At(api="EndTxn"), ms=5),
            "steps[0].ms: 5 is only for do: jump,",
        ),
        (
            ScheduleStep(do="pause", at=At(api="EndTxn"), meanwhile="gone"),
            "steps[0].meanwhile: gone is none of expelled, replaced, timed-out",
        ),
        (
            ScheduleStep(do="move_leader", at=At(api="EndTxn")),
            "steps[0].at.api: EndTxn is none of Produce, Fetch, ListOffsets",
        ),
        (
            ScheduleStep(do="error", at=At(api="EndTxn", point="after"), code=ABORTABLE),
            "steps[0].at.point: after is only for do: delay, kill,",
        ),
    ],
)
def test_a_wrong_step_is_refused_with_the_allowed_values(step: ScheduleStep, text: str) -> None:
    with pytest.raises(WrongSchedule) as refused:
        check_schedule(Schedule(steps=(step,)))
    assert str(refused.value).startswith(text)


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(WrongSchedule, match=r"copies: 0 must be from 1 to 8"):
        check_schedule(Schedule(copies=0))
    with pytest.raises(WrongSchedule, match=r"data\.portions: 4 must be from 1 to 3"):
        check_schedule(Schedule(data=Data(records=3, portions=4)))


def test_every_error_is_one_of_kafka_and_belongs_to_an_api() -> None:
    from ottla.protocol.errors import Code

    assert ERRORS.keys() <= set(APIS)
    assert {name for codes in ERRORS.values() for name in codes} <= set(Code.__members__)


def noise(count: int) -> list[ScheduleStep]:
    return [
        ScheduleStep(do="delay", at=At(api="Fetch", nth=nth + 1), ms=50) for nth in range(count)
    ]


def small(failing: Schedule, fails: Callable[[Schedule], bool]) -> Schedule:
    return shrunk(failing, fails, lambda: False)


def test_only_the_steps_that_matter_are_left() -> None:
    needed = {("kill", "EndTxn"), ("kill", "Produce")}

    def fails(schedule: Schedule) -> bool:
        return needed <= {(step.do, step.at.api) for step in schedule.steps}

    steps = (*noise(3), kill(nth=3, copy=2), *noise(2), kill(api="Produce", nth=2), *noise(1))
    found = small(Schedule(copies=3, steps=steps, data=Data(records=50)), fails)
    assert found.steps == (kill(), kill(api="Produce"))
    assert found.copies == 1
    assert found.data == Data(
        records=1, aborted=0, partitions=1, output_partitions=1, transactional=False, portions=1
    )


def test_data_that_matters_stays() -> None:
    def fails(schedule: Schedule) -> bool:
        data = schedule.data
        return data.aborted >= 1 and data.records >= 5 and schedule.copies >= 2

    found = small(Schedule(copies=4, data=Data(records=40, aborted=6)), fails)
    assert (found.copies, found.data.records, found.data.aborted) == (2, 5, 1)
    assert found.steps == ()


def test_a_copy_that_matters_keeps_its_number() -> None:
    def fails(schedule: Schedule) -> bool:
        return any(step.at.copy == 2 and step.at.nth == 2 for step in schedule.steps)

    found = small(Schedule(copies=3, steps=(kill(nth=2, copy=2), *noise(2))), fails)
    assert found.steps == (kill(nth=2, copy=2),)
    assert found.copies == 2


def test_no_schedule_is_replayed_twice_and_all_of_them_are_right() -> None:
    seen: list[Schedule] = []

    def fails(schedule: Schedule) -> bool:
        check_schedule(schedule)
        assert schedule not in seen
        seen.append(schedule)
        return len(schedule.steps) >= 2

    start = ScheduleStep(do="start", at=At(api="Fetch", copy=2))
    failing = Schedule(copies=3, steps=(kill(), start, kill(api="Produce"), *noise(2)))
    assert len(small(failing, fails).steps) == 2


def test_shrinking_stops_when_its_time_is_over() -> None:
    tries = 0

    def fails(schedule: Schedule) -> bool:
        nonlocal tries
        tries += 1
        return False

    failing = Schedule(copies=8, steps=tuple(noise(20)), data=Data(records=1000))
    shrunk(failing, fails, lambda: tries >= 3)
    assert tries == 3


def test_copies_that_steps_start_count() -> None:
    start = ScheduleStep(do="start", at=At(api="Fetch"))
    check_schedule(Schedule(copies=1, steps=(start, kill(copy=2))))
    assert replace(BASE, steps=(ScheduleStep(do="move_leader", at=At(api="Fetch")),)).nodes == 3
