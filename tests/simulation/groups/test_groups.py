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
    "ConsumerGroupHeartbeat": 2_000,
    "JoinGroup": 1_000,
    "LeaveGroup": 20,
    "OffsetCommit": 1_000,
    "TxnOffsetCommit": 300,
    "a message doubled": 500,
    "a message late": 1_000,
    "a message lost": 200,
    "append refused": 20,
    "new assignment": 500,
    "became a consumer group": 10,
    "became classic": 10,
    "commit refused": 30,
    "coordinator crashes": 150,
    "instance fenced": 10,
    "member killed": 200,
    "member lost": 150,
    "member stalls": 200,
    "member has to rejoin": 150,
    "append split": 3,
    "append too large": 20,
    "slice is over": 20,
    "much committed": 5,
    "offsets expired": 5,
    "offsets forgotten": 10,
    "parked request answered": 500,
    "partitions given up": 100,
    "rebalanced": 300,
    "timed out": 400,
    "topic deleted": 20,
    "topic grows": 60,
    "topic made": 30,
    "transaction ended": 300,
    "wall clock steps": 60,
    "zombie refused": 10,
}


@pytest.mark.timeout(600)  # on a busy machine
@pytest.mark.parametrize("first", first_of_each_test())
def test_groups_converge_and_no_partition_has_two_owners_and_no_offset_is_lost(first: int) -> None:
    happened_in(simulate, first)


@pytest.mark.timeout(600)
def test_the_seeds_cause_each_event_often_enough() -> None:
    assert not too_rare(simulate, HAPPENS)


def test_a_seed_is_the_same_run_each_time() -> None:
    check_each_time_the_same(simulate)


def test_the_printed_command_replays_the_seed() -> None:
    check_replay(simulate, "tests.simulation.groups")
