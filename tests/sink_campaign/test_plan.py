"""The rounds of a campaign cover every step, and come back from their seed."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from ottla.spark.exactly_once.crash_steps import STEPS_OF_TASKS, STEPS_OF_THE_DRIVER

from .plan import OF_A_TASK, OF_THE_DRIVER, Victim, rounds, write_id


def test_a_hundred_rounds_kill_each_victim_after_each_step_and_at_random_points() -> None:
    played = Counter((each.victim, each.step) for each in rounds(3, 100))
    steps = {(victim, step) for victim in OF_A_TASK for step in STEPS_OF_TASKS}
    steps |= {(victim, step) for victim in OF_THE_DRIVER for step in STEPS_OF_THE_DRIVER}
    assert all(played[each] == 1 for each in steps)
    assert all(played[victim, None] >= 7 for victim in Victim)


def test_a_round_depends_on_the_seed_and_its_number_alone() -> None:
    few, many = rounds(3, 50), rounds(3, 100)
    assert set(few) <= set(many)
    assert set(rounds(4, 50)) != set(few)


def test_rounds_with_executors_come_last() -> None:
    has_executors = [each.victim is Victim.EXECUTOR for each in rounds(3, 100)]
    assert has_executors == sorted(has_executors)


def test_names_of_writes_differ_and_begin_with_each_other() -> None:
    names = [write_id(number, attempt) for number in range(1, 300) for attempt in range(4)]
    assert len(set(names)) == len(names)
    first = [write_id(number, 0) for number in range(1, 101)]
    assert any(later.startswith(name) for name, later in pairwise(first))
    assert any(name.startswith(later) for name, later in pairwise(first))


def test_a_query_that_is_stopped_is_a_streaming_one() -> None:
    stopped = [each for each in rounds(3, 200) if each.victim is Victim.QUERY]
    assert stopped
    assert not any(each.is_batch for each in stopped)
