"""The rounds of a campaign cover every step, and come back from their seed."""

from __future__ import annotations

from collections import Counter

from ottla.spark.exactly_once.steps import STEPS_OF_TASKS, STEPS_OF_THE_DRIVER

from .plan import OF_A_TASK, OF_THE_DRIVER, Victim, rounds


def test_a_hundred_rounds_kill_each_victim_after_each_step_and_at_random_points() -> None:
    played = Counter((each.victim, each.step) for each in rounds(3, 100))
    steps = {(victim, step) for victim in OF_A_TASK for step in STEPS_OF_TASKS}
    steps |= {(victim, step) for victim in OF_THE_DRIVER for step in STEPS_OF_THE_DRIVER}
    assert all(played[each] == 1 for each in steps)
    assert all(played[victim, None] >= 8 for victim in Victim)


def test_a_round_depends_on_the_seed_and_its_number_alone() -> None:
    few, many = rounds(3, 50), rounds(3, 100)
    assert set(few) <= set(many)
    assert set(rounds(4, 50)) != set(few)


def test_rounds_with_executors_come_last() -> None:
    has_executors = [each.victim is Victim.EXECUTOR for each in rounds(3, 100)]
    assert has_executors == sorted(has_executors)
