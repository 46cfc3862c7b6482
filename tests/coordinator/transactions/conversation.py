"""A transaction coordinator and its clients, for tests."""

from __future__ import annotations

from itertools import count
from typing import TypeVar

from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions.coordinator import Transactions
from ottla.coordinator.transactions.states import (
    AT_REST,
    BUMPS_EPOCHS,
    Partition,
    State,
    Transaction,
    WriteMarkers,
)
from tests.coordinator.moments import at

Reply = TypeVar("Reply")

SHOP = "shop"
PRODUCER = Producer(7, 3)
FIRST_ID = 1000  # of the ids a machine hands out
TIMEOUT_MS = 60_000
ORDERS: frozenset[Partition] = frozenset({("orders", 0), ("orders", 1)})
STOCK: frozenset[Partition] = frozenset({("stock", 0)})
NOW_MS = 500_000

# Those a transactional id is ever seen in; the other two are Kafka's way of waiting for an append.
STATES = [state for state in State if state not in (State.DEAD, State.PREPARE_EPOCH_FENCE)]


def new_machine(transaction_version: int = BUMPS_EPOCHS) -> Transactions:
    ids = count(FIRST_ID)
    return Transactions(
        next_producer_id=lambda: next(ids),
        coordinator_epoch=4,
        transaction_version=lambda: transaction_version,
    )


def next_wall_deadline(machine: Transactions) -> int | None:
    """When `tick` is next due, by the wall time in ms; None for never."""
    due = (machine._timeouts.next(), machine._expirations.next())
    return min((each for each in due if each is not None), default=None)


def transaction_in(state: State, producer: Producer = PRODUCER) -> Transaction:
    """The transaction of `shop`, owned by `producer`, in a state."""
    return Transaction(
        SHOP,
        producer.producer_id,
        producer.producer_epoch,
        TIMEOUT_MS,
        state,
        frozenset() if state in AT_REST else ORDERS,
        updated_ms=NOW_MS - 10,
        started_ms=-1 if state is State.EMPTY else NOW_MS - 20,
    )


def machine_in(state: State, producer: Producer = PRODUCER) -> Transactions:
    machine = new_machine()
    machine.replay(transaction_in(state, producer))
    return machine


def told(machine: Transactions, outcome: Outcome[Reply]) -> Reply:
    """Replay what was decided; its reply. The markers stay unwritten."""
    for record in outcome.records:
        machine.replay(record)
    return outcome.reply


def ticked(machine: Transactions, now_ms: int) -> Outcome[None]:
    """The first due decision; an empty outcome if none is due."""
    return next(machine.tick(at(now_ms)), Outcome(None))


def done(machine: Transactions, outcome: Outcome[Reply], *, now_ms: int = NOW_MS) -> Reply:
    """Replay what was decided and write its markers, as the broker does in one turn."""
    reply = told(machine, outcome)
    for effect in outcome.effects:
        assert isinstance(effect, WriteMarkers)
        told(machine, machine.markers_written(effect.transaction, now_ms=now_ms))
    return reply


def begun(machine: Transactions, *, now_ms: int = NOW_MS) -> Producer:
    """A new producer of `shop` with an open transaction on ORDERS."""
    outcome = machine.init_producer_id(SHOP, timeout_ms=TIMEOUT_MS, now_ms=now_ms)
    producer = told(machine, outcome)
    assert isinstance(producer, Producer)
    told(machine, machine.add_partitions(SHOP, producer, ORDERS, now_ms=now_ms))
    return producer


def next_epoch(producer: Producer, bumps: int = 1) -> Producer:
    return producer._replace(producer_epoch=producer.producer_epoch + bumps)
