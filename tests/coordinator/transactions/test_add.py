"""Partitions join a transaction, by request or by the write itself (KIP-98, KIP-890)."""

from __future__ import annotations

import pytest

from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions.states import ADDS_EXPLICITLY, AT_REST, BUMPS_EPOCHS, State
from ottla.protocol.errors import Code, Refused
from tests.coordinator.transactions.conversation import (
    NOW_MS,
    ORDERS,
    PRODUCER,
    SHOP,
    STOCK,
    machine_in,
    new_machine,
    next_epoch,
    told,
    transaction_in,
)


@pytest.mark.parametrize("state", sorted(AT_REST))
def test_the_first_partition_starts_the_transaction(state: State) -> None:
    machine = machine_in(state)
    told(machine, machine.add_partitions(SHOP, PRODUCER, ORDERS, now_ms=NOW_MS))
    known = machine.describe(SHOP)
    assert (known.state, known.partitions) == (State.ONGOING, ORDERS)
    assert (known.started_ms, known.updated_ms) == (NOW_MS, NOW_MS)


def test_no_partition_at_all_starts_it_too() -> None:
    machine = machine_in(State.EMPTY)
    told(machine, machine.add_partitions(SHOP, PRODUCER, (), now_ms=NOW_MS))
    assert machine.describe(SHOP).state is State.ONGOING


def test_a_transaction_grows_and_keeps_its_start() -> None:
    machine = machine_in(State.ONGOING)
    told(machine, machine.add_partitions(SHOP, PRODUCER, STOCK, now_ms=NOW_MS))
    known = machine.describe(SHOP)
    assert known.partitions == ORDERS | STOCK
    assert known.started_ms == transaction_in(State.ONGOING).started_ms


def test_a_partition_already_in_the_transaction_is_not_logged_again() -> None:
    machine = machine_in(State.ONGOING)
    some = sorted(ORDERS)[:1]
    assert machine.add_partitions(SHOP, PRODUCER, some, now_ms=NOW_MS) == Outcome(None)


@pytest.mark.parametrize("version", [ADDS_EXPLICITLY, BUMPS_EPOCHS])
def test_the_log_contains_the_clients_transaction_version(version: int) -> None:
    machine = machine_in(State.EMPTY)
    outcome = machine.add_partitions(SHOP, PRODUCER, ORDERS, now_ms=NOW_MS, client_version=version)
    assert outcome.records[0].client_version == version


@pytest.mark.parametrize(
    ("transactional_id", "producer", "code"),
    [
        ("", PRODUCER, Code.INVALID_REQUEST),
        ("nobody", PRODUCER, Code.INVALID_PRODUCER_ID_MAPPING),
        (SHOP, Producer(8, 3), Code.INVALID_PRODUCER_ID_MAPPING),
        (SHOP, next_epoch(PRODUCER, -1), Code.PRODUCER_FENCED),
        (SHOP, next_epoch(PRODUCER), Code.PRODUCER_FENCED),
    ],
)
@pytest.mark.parametrize("state", sorted(AT_REST | {State.ONGOING}))
def test_only_the_owner_of_the_id_may_add_or_verify(
    state: State, transactional_id: str, producer: Producer, code: Code
) -> None:
    machine = machine_in(state)
    with pytest.raises(Refused) as refused:
        machine.add_partitions(transactional_id, producer, ORDERS, now_ms=NOW_MS)
    assert refused.value.code == code
    with pytest.raises(Refused) as refused:
        machine.missing_partitions(transactional_id, producer, ORDERS)
    assert refused.value.code == code
    assert machine == machine_in(state)


@pytest.mark.parametrize("state", [State.PREPARE_COMMIT, State.PREPARE_ABORT])
def test_a_decided_transaction_does_not_grow(state: State) -> None:
    """Kafka's log lets a batch through here, as its own transaction is still open (KIP-890)."""
    machine = machine_in(state)
    with pytest.raises(Refused, match="CONCURRENT_TRANSACTIONS"):
        machine.add_partitions(SHOP, PRODUCER, ORDERS, now_ms=NOW_MS)
    with pytest.raises(Refused, match="CONCURRENT_TRANSACTIONS"):
        machine.verify_partitions(SHOP, PRODUCER, ORDERS)


def test_a_partition_of_the_open_transaction_is_verified() -> None:
    machine = machine_in(State.ONGOING)
    machine.verify_partitions(SHOP, PRODUCER, ORDERS)
    assert machine.missing_partitions(SHOP, PRODUCER, ORDERS | STOCK) == STOCK


def test_a_partition_that_was_not_added_aborts_the_client_s_transaction() -> None:
    machine = machine_in(State.ONGOING)
    with pytest.raises(Refused, match=r"TRANSACTION_ABORTABLE.*stock-0"):
        machine.verify_partitions(SHOP, PRODUCER, ORDERS | STOCK)


@pytest.mark.parametrize("state", sorted(AT_REST))
def test_without_an_open_transaction_nothing_is_verified(state: State) -> None:
    machine = machine_in(state)
    assert machine.missing_partitions(SHOP, PRODUCER, ORDERS) == ORDERS


def test_below_level_1_nothing_is_decided_that_its_values_cannot_hold() -> None:
    """Kafka's are of version 0 there, which has no place for the client's version."""
    machine = new_machine(transaction_version=0)
    machine.replay(transaction_in(State.ONGOING))
    for refused in (
        lambda: machine.add_partitions(SHOP, PRODUCER, STOCK, now_ms=NOW_MS),
        lambda: machine.end_and_bump(SHOP, PRODUCER, commit=True, now_ms=NOW_MS),
    ):
        with pytest.raises(Refused, match="UNSUPPORTED_VERSION"):
            refused()
    assert machine.add_partitions(SHOP, PRODUCER, ORDERS, now_ms=NOW_MS) == Outcome(None)
    added = machine.add_partitions(
        SHOP, PRODUCER, STOCK, now_ms=NOW_MS, client_version=ADDS_EXPLICITLY
    )
    assert added.records
    assert machine.end(SHOP, PRODUCER, commit=True, now_ms=NOW_MS).records
