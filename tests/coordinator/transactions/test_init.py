"""InitProducerId: present and past owners of a transactional id (KIP-98, KIP-360)."""

from __future__ import annotations

import pytest

from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions.coordinator import Transactions
from ottla.coordinator.transactions.records import decode, encode
from ottla.coordinator.transactions.states import AT_REST, Kept, State, WriteMarkers
from ottla.protocol.errors import Code, Refused
from tests.coordinator.transactions.conversation import (
    FIRST_ID,
    NOW_MS,
    ORDERS,
    PRODUCER,
    SHOP,
    begun,
    done,
    machine_in,
    new_machine,
    next_epoch,
    told,
)

LAST = Producer(7, 32766)


def init(
    machine: Transactions, expected: Producer | None = None, timeout_ms: int = 1000
) -> Outcome[Producer | Kept | Code]:
    return machine.init_producer_id(SHOP, timeout_ms=timeout_ms, expected=expected, now_ms=NOW_MS)


def test_a_new_transactional_id_gets_a_new_producer_id_at_epoch_0(machine: Transactions) -> None:
    assert told(machine, init(machine)) == Producer(FIRST_ID, 0)
    known = machine.describe(SHOP)
    assert (known.state, known.started_ms, known.updated_ms) == (State.EMPTY, -1, NOW_MS)


def test_a_new_transactional_id_ignores_the_expected_producer(machine: Transactions) -> None:
    """Its id may have expired while the client slept."""
    assert told(machine, init(machine, Producer(777, 3))) == Producer(FIRST_ID, 0)


@pytest.mark.parametrize("state", sorted(AT_REST))
def test_each_init_gets_the_next_epoch_and_fences_the_previous_owner(state: State) -> None:
    machine = machine_in(state)
    assert told(machine, init(machine)) == next_epoch(PRODUCER)
    with pytest.raises(Refused, match="PRODUCER_FENCED"):
        machine.add_partitions(SHOP, PRODUCER, ORDERS, now_ms=NOW_MS)
    with pytest.raises(Refused, match="PRODUCER_FENCED"):
        init(machine, PRODUCER)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_timeout_is_positive_and_not_over_the_maximum(timeout_ms: int) -> None:
    with pytest.raises(Refused, match="INVALID_TRANSACTION_TIMEOUT"):
        init(new_machine(), timeout_ms=timeout_ms)


def test_the_maximum_itself_is_a_timeout_and_a_new_one_replaces_the_old() -> None:
    machine = new_machine()
    told(machine, init(machine, timeout_ms=900_000))
    told(machine, init(machine, timeout_ms=22_000))
    assert machine.describe(SHOP).timeout_ms == 22_000


def test_an_empty_transactional_id_is_no_id() -> None:
    with pytest.raises(Refused, match="INVALID_REQUEST"):
        new_machine().init_producer_id("", timeout_ms=1, now_ms=NOW_MS)


def test_an_open_transaction_is_aborted_first_and_the_client_comes_again() -> None:
    machine = machine_in(State.ONGOING)
    outcome = init(machine)
    assert outcome.reply is Code.CONCURRENT_TRANSACTIONS
    (aborted,) = outcome.records
    assert aborted.state is State.PREPARE_ABORT
    assert aborted.producer == next_epoch(PRODUCER), "the epoch of the markers is nobody's"
    assert outcome.effects == (WriteMarkers(aborted, 4),)
    done(machine, outcome)
    assert told(machine, init(machine)) == next_epoch(PRODUCER, 2)


@pytest.mark.parametrize("state", [State.PREPARE_COMMIT, State.PREPARE_ABORT])
def test_a_decided_transaction_is_waited_for(state: State) -> None:
    machine = machine_in(state)
    for expected in (None, PRODUCER, Producer(8, 0)):
        with pytest.raises(Refused, match="CONCURRENT_TRANSACTIONS"):
            init(machine, expected)


@pytest.mark.parametrize("state", sorted(AT_REST))
def test_a_client_recovers_from_an_error_with_its_producer_id_and_epoch(state: State) -> None:
    machine = machine_in(state)
    assert told(machine, init(machine, PRODUCER)) == next_epoch(PRODUCER)


def test_a_client_that_repeats_itself_is_answered_again() -> None:
    machine = machine_in(State.EMPTY)
    for _ in range(3):
        assert told(machine, init(machine, PRODUCER)) == next_epoch(PRODUCER)
    assert told(machine, init(machine, next_epoch(PRODUCER))) == next_epoch(PRODUCER, 2)
    with pytest.raises(Refused, match="PRODUCER_FENCED"):
        init(machine, PRODUCER)


@pytest.mark.parametrize(
    "stranger", [Producer(8, 3), next_epoch(PRODUCER), next_epoch(PRODUCER, -1), Producer(8, 32766)]
)
def test_an_init_with_another_producer_is_fenced(stranger: Producer) -> None:
    with pytest.raises(Refused, match="PRODUCER_FENCED"):
        init(machine_in(State.COMPLETE_COMMIT), stranger)


def test_a_client_goes_on_under_the_epoch_its_aborted_transaction_left() -> None:
    machine = machine_in(State.ONGOING)
    assert done(machine, init(machine, PRODUCER)) is Code.CONCURRENT_TRANSACTIONS
    assert told(machine, init(machine, PRODUCER)) == next_epoch(PRODUCER)


def test_a_client_with_an_unanswered_end_continues_under_the_raised_epoch() -> None:
    machine = new_machine()
    producer = begun(machine)
    done(machine, machine.end_and_bump(SHOP, producer, commit=True, now_ms=NOW_MS))
    assert told(machine, init(machine, producer)) == next_epoch(producer)


@pytest.mark.parametrize("expected", [None, LAST])
def test_when_the_epochs_are_used_up_the_producer_id_changes(expected: Producer | None) -> None:
    machine = machine_in(State.COMPLETE_COMMIT, LAST)
    assert told(machine, init(machine, expected)) == Producer(FIRST_ID, 0)
    with pytest.raises(Refused, match="INVALID_PRODUCER_ID_MAPPING"):
        machine.end(SHOP, LAST, commit=True, now_ms=NOW_MS)


def test_the_change_of_ids_is_answered_again_to_the_client_that_asked_once() -> None:
    """Answering again is a change too, with which Kafka forgets the id before."""
    machine = machine_in(State.COMPLETE_COMMIT, LAST)
    for _ in range(2):
        assert told(machine, init(machine, LAST)) == Producer(FIRST_ID, 0)
    with pytest.raises(Refused, match="PRODUCER_FENCED"):
        init(machine, LAST)


def test_a_producer_replaced_by_a_new_id_is_fenced_after_its_end_too() -> None:
    """It is distinguished from an unknown producer, which gets INVALID_PRODUCER_ID_MAPPING."""
    machine = machine_in(State.EMPTY, LAST)
    assert told(machine, init(machine)) == Producer(FIRST_ID, 0)
    with pytest.raises(Refused, match="PRODUCER_FENCED"):
        machine.end_and_bump(SHOP, LAST, commit=False, now_ms=NOW_MS)
    with pytest.raises(Refused, match="INVALID_PRODUCER_ID_MAPPING"):
        machine.end(SHOP, LAST, commit=False, now_ms=NOW_MS)


def test_a_fenced_client_does_not_get_the_new_producer_id() -> None:
    machine, restarted = machine_in(State.COMPLETE_COMMIT, LAST), new_machine()
    outcome = init(machine)
    told(machine, outcome)
    record = decode(*encode(outcome.records[0]))
    assert record is not None
    restarted.replay(record)
    for each in (machine, restarted):
        with pytest.raises(Refused, match="PRODUCER_FENCED"):
            init(each, LAST)


def test_the_change_of_ids_is_answered_again_after_a_restart() -> None:
    restarted = new_machine()
    record = decode(*encode(init(machine_in(State.COMPLETE_COMMIT, LAST), LAST).records[0]))
    assert record is not None
    restarted.replay(record)
    assert told(restarted, init(restarted, LAST)) == Producer(FIRST_ID, 0)


def test_the_last_epoch_is_answered_again_too() -> None:
    """Kafka fails with UNKNOWN_SERVER_ERROR here."""
    before = next_epoch(LAST, -1)
    machine = machine_in(State.EMPTY, before)
    for _ in range(2):
        assert told(machine, init(machine, before)) == LAST


@pytest.mark.parametrize("expected", [None, LAST])
def test_a_transaction_aborted_at_the_last_epoch_leaves_a_new_producer_id(
    expected: Producer | None,
) -> None:
    """A client that says who it is gets UNKNOWN_SERVER_ERROR from Kafka here."""
    machine = machine_in(State.ONGOING, LAST)
    assert done(machine, init(machine)) is Code.CONCURRENT_TRANSACTIONS
    assert machine.describe(SHOP).producer == next_epoch(LAST)
    assert told(machine, init(machine, expected)) == Producer(FIRST_ID, 0)
    if expected is not None:
        assert told(machine, init(machine, expected)) == Producer(FIRST_ID, 0)


@pytest.mark.parametrize("level", [0, 1])
def test_no_producer_gets_the_epoch_of_an_abort_below_transaction_version_2(level: int) -> None:
    """Neither of the owner that it fenced, nor of the one before."""
    machine = new_machine(level)
    first = told(machine, init(machine))
    assert isinstance(first, Producer)
    second = told(machine, init(machine, first))
    assert second == next_epoch(first)
    told(machine, machine.add_partitions(SHOP, second, ORDERS, now_ms=NOW_MS, client_version=0))
    assert done(machine, init(machine)) is Code.CONCURRENT_TRANSACTIONS
    assert machine.describe(SHOP).producer == next_epoch(second)
    for fenced in (first, second):
        with pytest.raises(Refused, match="PRODUCER_FENCED"):
            init(machine, fenced)
