"""All seeds pass, are repeatable, and cause the wanted events."""

from __future__ import annotations

import pytest

from ..seeds import (
    check_each_time_the_same,
    check_replay,
    first_of_each_test,
    happened_in,
    too_rare,
)
from .world import simulate

# The least number of each event in a hundred seeds; with fewer the test says little.
HAPPENS = {
    "a message doubled": 300,
    "a message late": 600,
    "a message lost": 150,
    "append refused": 80,
    "coordinator crashes": 100,
    "group deleted": 20,
    "heartbeat": 4_000,
    "group rebalances": 500,
    "heartbeat refused": 200,
    "instance restarts": 25,
    "internal topic fails": 20,
    "internal topic made": 100,
    "member dies": 30,
    "member has to rejoin": 100,
    "member leaves": 60,
    "member stalls": 60,
    "source grows": 40,
    "source made": 20,
    "standbys change": 100,
    "status ASSIGNMENT_DELAYED": 200,
    "status INCORRECTLY_PARTITIONED_TOPICS": 200,
    "status MISSING_INTERNAL_TOPICS": 100,
    "status MISSING_SOURCE_TOPICS": 500,
    "tasks given up": 100,
    "topic deleted": 40,
}


@pytest.mark.timeout(600)  # on a busy machine
@pytest.mark.parametrize("first", first_of_each_test())
def test_members_share_all_tasks_after_all_faults(first: int) -> None:
    happened_in(simulate, first)


@pytest.mark.timeout(600)
def test_the_seeds_cause_each_event_often_enough() -> None:
    assert not too_rare(simulate, HAPPENS)


def test_a_seed_is_the_same_run_each_time() -> None:
    check_each_time_the_same(simulate)


def test_the_printed_command_replays_the_seed() -> None:
    check_replay(simulate, "tests.simulation.streams_groups")
