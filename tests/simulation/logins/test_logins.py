"""All seeds pass, are repeatable, and cause the wanted events; planted bugs are found."""

from __future__ import annotations

import pytest

from ..seeds import (
    check_each_time_the_same,
    check_found,
    check_replay,
    first_of_each_test,
    happened_in,
    too_rare,
)
from .mutations import MUTATIONS
from .world import simulate

MODULE = "tests.simulation.logins"

# The least number of each event in a hundred seeds; with fewer the test says little.
HAPPENS = {
    "another user refused": 10,
    "closed": 1_000,
    "credentials changed": 400,
    "login by OAUTHBEARER": 100,
    "login by PLAIN": 200,
    "login by SCRAM-SHA-256": 100,
    "login by SCRAM-SHA-512": 100,
    "re-authentication": 50,
    "request served": 500,
    "sends a cut frame": 100,
    "session is over": 50,
    "wall clock steps": 100,
    "wrong secret refused": 300,
}


@pytest.mark.timeout(600)  # on a busy machine
@pytest.mark.parametrize("first", first_of_each_test())
def test_only_right_secrets_log_in_and_nothing_is_served_outside_a_session(first: int) -> None:
    happened_in(simulate, first)


@pytest.mark.timeout(600)
def test_the_seeds_cause_each_event_often_enough() -> None:
    assert not too_rare(simulate, HAPPENS)


def test_a_seed_is_the_same_run_each_time() -> None:
    check_each_time_the_same(simulate)


def test_the_printed_command_replays_the_seed() -> None:
    check_replay(simulate, MODULE)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_planted_bug_is_found(name: str) -> None:
    check_found(simulate, MODULE, MUTATIONS, name)
