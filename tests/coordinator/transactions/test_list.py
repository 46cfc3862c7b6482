"""Describing and listing transactional ids (KIP-664, KIP-994, KIP-1152), and the states' rules."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.coordinator.transactions.coordinator import Transactions
from ottla.coordinator.transactions.states import MAY_FOLLOW, STATE_OF_TITLE, Expired, State
from ottla.protocol.errors import Refused
from tests.coordinator.transactions.conversation import (
    NOW_MS,
    PRODUCER,
    SHOP,
    STATES,
    machine_in,
    new_machine,
    transaction_in,
)


@pytest.fixture
def machine() -> Transactions:
    """Two transactional ids: `open` since 20 ms, and `idle`, which never had a transaction."""
    machine = new_machine()
    opened = transaction_in(State.ONGOING)._replace(transactional_id="open", producer_id=1)
    idle = transaction_in(State.EMPTY)._replace(transactional_id="idle", producer_id=2)
    machine.replay(opened)
    machine.replay(idle)
    return machine


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"open", "idle"}),
        ({"states": [State.ONGOING]}, {"open"}),
        ({"states": [State.EMPTY, State.PREPARE_ABORT]}, {"idle"}),
        ({"producer_ids": [2, 3]}, {"idle"}),
        ({"producer_ids": [3]}, set()),
        ({"open_longer_than_ms": 0}, {"open", "idle"}),
        ({"open_longer_than_ms": 19}, {"open", "idle"}),
        # What never had a transaction is older than any duration.
        ({"open_longer_than_ms": 20}, {"idle"}),
        ({"states": [State.ONGOING], "producer_ids": [2]}, set()),
    ],
)
def test_a_transactional_id_is_listed_when_it_passes_every_filter(
    machine: Transactions, filters: dict[str, Any], expected: set[str]
) -> None:
    listed = machine.listed(now_ms=NOW_MS, **filters)
    assert {known.transactional_id for known in listed} == expected


@pytest.mark.parametrize(
    ("transactional_id", "code"), [("", "INVALID_REQUEST"), ("no", "TRANSACTIONAL_ID_NOT_FOUND")]
)
def test_an_unknown_transactional_id_is_not_described(transactional_id: str, code: str) -> None:
    with pytest.raises(Refused, match=code):
        machine_in(State.EMPTY).describe(transactional_id)


def test_states_have_kafka_s_names() -> None:
    assert set(STATE_OF_TITLE) == {
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    }
    assert all(STATE_OF_TITLE[state.title] is state for state in State)


@pytest.mark.parametrize("after", STATES)
@pytest.mark.parametrize("before", STATES)
def test_replay_takes_no_step_that_is_not_in_the_table(before: State, after: State) -> None:
    machine = machine_in(before)
    record = transaction_in(after)._replace(updated_ms=NOW_MS)
    if before in MAY_FOLLOW[after]:
        machine.replay(record)
        assert machine.describe(SHOP) == record
    else:
        with pytest.raises(AssertionError):
            machine.replay(record)


@pytest.mark.parametrize("state", [State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT])
def test_an_open_transaction_is_not_forgotten(state: State) -> None:
    with pytest.raises(AssertionError):
        machine_in(state).replay(Expired(SHOP))


def test_a_tombstone_of_an_unknown_transactional_id_changes_nothing() -> None:
    machine = new_machine()
    machine.replay(Expired("nobody"))
    assert machine == new_machine()


@pytest.mark.parametrize("state", STATES)
def test_a_compacted_log_may_begin_in_any_state(state: State) -> None:
    assert machine_in(state).describe(SHOP).producer == PRODUCER


@pytest.mark.parametrize("state", STATES)
def test_a_restart_requests_the_markers_of_prepared_transactions(state: State) -> None:
    wanted = machine_in(state).unfinished()
    decided = state in (State.PREPARE_COMMIT, State.PREPARE_ABORT)
    assert [effect.transaction.state for effect in wanted] == ([state] if decided else [])


def test_machines_are_equal_when_they_know_the_same() -> None:
    assert machine_in(State.EMPTY) == machine_in(State.EMPTY)
    assert machine_in(State.EMPTY) != machine_in(State.ONGOING)
    assert machine_in(State.EMPTY) != "a machine"
