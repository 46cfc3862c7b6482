"""All seeds pass, are repeatable, and cause the wanted events."""

from __future__ import annotations

import pytest

from .seeds import check_each_time_the_same, check_replay, first_of_each_test, happened_in, too_rare
from .world import simulate

# The least number of each event in a hundred seeds; with fewer the test says little.
HAPPENS = {
    "AddPartitionsToTxn": 200,
    "TxnOffsetCommit": 100,
    "WriteTxnMarkers": 500,
    "a message doubled": 500,
    "a message late": 1000,
    "a message lost": 200,
    "broker crashes": 100,
    "broker crashes opening": 2,
    "client sees aborted": 80,
    "client sees committed": 400,
    "client sees nothing": 1,
    "clock jumps": 30,
    "coordinator fenced": 1,
    "duplicate batch": 30,
    "epoch bumped by its owner": 5,
    "append refused": 30,
    "crowd": 20,
    "expired": 5,
    "leader moves": 50,
    "markers will be refused": 100,
    "prepared transaction kept": 20,
    "producer fenced": 10,
    "producer id rotated": 5,
    "program killed": 50,
    "program sleeps": 50,
    "timed out": 50,
    "wall clock steps": 50,
}


@pytest.mark.timeout(600)  # on a busy machine
@pytest.mark.parametrize("first", first_of_each_test())
def test_transactions_are_atomic_and_none_is_lost_duplicated_or_stuck(first: int) -> None:
    happened_in(simulate, first)


@pytest.mark.timeout(600)
def test_the_seeds_cause_each_event_often_enough() -> None:
    assert not too_rare(simulate, HAPPENS)


def test_a_seed_is_the_same_run_each_time() -> None:
    check_each_time_the_same(simulate)


def test_the_printed_command_replays_the_seed() -> None:
    check_replay(simulate, "tests.simulation")
