"""Prepared transactions that InitProducerId keeps for a new producer (KIP-939)."""

from __future__ import annotations

import pytest

from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions.coordinator import Transactions
from ottla.coordinator.transactions.records import Encoder, decode, encode
from ottla.coordinator.transactions.states import LAST_EPOCH, Kept, State, Transaction
from ottla.protocol.errors import Code, Refused
from tests.coordinator.transactions.conversation import (
    FIRST_ID,
    NOW_MS,
    ORDERS,
    PRODUCER,
    SHOP,
    STOCK,
    TIMEOUT_MS,
    done,
    machine_in,
    new_machine,
    next_epoch,
    next_wall_deadline,
    ticked,
    told,
    transaction_in,
)

Reply = Producer | Kept | Code
FENCED = (Code.PRODUCER_FENCED, Code.INVALID_PRODUCER_ID_MAPPING)


def init(machine: Transactions, *, keep: bool, expected: Producer | None = None) -> Outcome[Reply]:
    return machine.init_producer_id(
        SHOP, timeout_ms=TIMEOUT_MS, now_ms=NOW_MS, expected=expected, keep_prepared=keep
    )


def keep(machine: Transactions) -> Producer:
    """Keep the open transaction; the producer that may end it."""
    kept = told(machine, init(machine, keep=True))
    assert isinstance(kept, Kept)
    return kept.producer


def open_at(epoch: int) -> tuple[Transactions, Producer]:
    producer = PRODUCER._replace(producer_epoch=epoch)
    return machine_in(State.ONGOING, producer), producer


def end(machine: Transactions, producer: Producer, *, bumps: bool, commit: bool) -> Producer:
    decide = machine.end_and_bump if bumps else machine.end
    return done(machine, decide(SHOP, producer, commit=commit, now_ms=NOW_MS))


def refusal_of(machine: Transactions, producer: Producer, *, bumps: bool = True) -> Code:
    with pytest.raises(Refused) as refused:
        end(machine, producer, bumps=bumps, commit=True)
    return refused.value.code


def reloaded(machine: Transactions) -> Transactions:
    """The machine after a restart from the last record of each id."""
    again = new_machine()
    record = decode(*encode(machine.describe(SHOP)))
    assert record is not None
    again.replay(record)
    return again


def test_a_kept_transaction_stays_open_and_its_answer_names_both_producers() -> None:
    machine, producer = open_at(3)
    before = machine.describe(SHOP)
    outcome = init(machine, keep=True)
    assert outcome.effects == ()
    assert told(machine, outcome) == Kept(next_epoch(producer), producer)
    known = machine.describe(SHOP)
    assert known.producer == producer
    assert (known.state, known.partitions, known.started_ms, known.timeout_ms) == (
        State.ONGOING,
        before.partitions,
        before.started_ms,
        before.timeout_ms,
    )


def test_each_call_keeps_the_transaction_and_fences_the_call_before() -> None:
    machine, producer = open_at(3)
    first = keep(machine)
    second = keep(machine)
    assert second == next_epoch(producer, 2)
    assert machine.describe(SHOP).producer == producer
    for fenced in (producer, first):
        assert refusal_of(machine, fenced) is Code.PRODUCER_FENCED
        assert refusal_of(machine, fenced, bumps=False) is Code.PRODUCER_FENCED
    end(machine, second, bumps=True, commit=True)
    assert machine.describe(SHOP).state is State.COMPLETE_COMMIT


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("commit", [False, True])
def test_the_end_has_markers_of_the_transaction_and_a_new_epoch_for_the_client(
    commit: bool, restarts: bool
) -> None:
    machine, producer = open_at(3)
    keep(machine)
    client = keep(machine)
    if restarts:
        machine = reloaded(machine)
    outcome = machine.end_and_bump(SHOP, client, commit=commit, now_ms=NOW_MS)
    (prepared,) = (record for record in outcome.records if isinstance(record, Transaction))
    assert prepared.producer == next_epoch(producer)
    assert prepared.partitions == ORDERS
    assert outcome.reply == next_epoch(client)
    told(machine, outcome)
    if restarts:
        machine = reloaded(machine)
    (effect,) = machine.unfinished()
    assert effect.transaction.producer == next_epoch(producer)
    assert refusal_of(machine, client) is Code.CONCURRENT_TRANSACTIONS
    assert refusal_of(machine, client, bumps=False) is Code.CONCURRENT_TRANSACTIONS
    told(machine, machine.markers_written(effect.transaction, now_ms=NOW_MS))
    if restarts:
        machine = reloaded(machine)
    known = machine.describe(SHOP)
    assert (known.producer, known.is_kept) == (next_epoch(client), False)
    retried = machine.end_and_bump(SHOP, client, commit=commit, now_ms=NOW_MS)
    assert retried == Outcome(next_epoch(client)), "a retry gets the same answer"


def test_a_client_without_epoch_bumps_ends_it_and_keeps_its_epoch() -> None:
    machine, producer = open_at(3)
    client = keep(machine)
    outcome = machine.end(SHOP, client, commit=True, now_ms=NOW_MS)
    assert outcome.reply == client
    (prepared,) = (record for record in outcome.records if isinstance(record, Transaction))
    assert prepared.producer == next_epoch(producer)
    done(machine, outcome)
    assert machine.describe(SHOP).producer == client
    assert end(machine, client, bumps=False, commit=True) == client


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("epoch", range(LAST_EPOCH - 3, LAST_EPOCH + 1))
def test_no_epoch_is_given_twice_where_they_are_used_up(epoch: int, restarts: bool) -> None:
    machine, producer = open_at(epoch)
    given = [producer]
    for _ in range(4):
        client = keep(machine)
        assert client not in given
        assert client.producer_epoch <= LAST_EPOCH
        assert machine.describe(SHOP).producer == producer
        for fenced in given:
            assert refusal_of(machine, fenced) in (
                Code.PRODUCER_FENCED,
                Code.INVALID_PRODUCER_ID_MAPPING,
            )
        given.append(client)
    if restarts:
        machine = reloaded(machine)
    following = end(machine, client, bumps=True, commit=True)
    assert following not in given
    assert following == machine.describe(SHOP).producer


@pytest.mark.parametrize("restarts", [False, True])
def test_a_retry_of_the_end_is_answered_after_the_epochs_of_the_kept_id_are_used_up(
    restarts: bool,
) -> None:
    machine, _ = open_at(LAST_EPOCH - 1)
    client = keep(machine)
    assert client.producer_epoch == LAST_EPOCH
    following = end(machine, client, bumps=True, commit=True)
    assert following == Producer(FIRST_ID, 0)
    if restarts:
        machine = reloaded(machine)
    assert end(machine, client, bumps=True, commit=True) == following
    with pytest.raises(Refused) as refused:
        machine.end_and_bump(SHOP, client, commit=False, now_ms=NOW_MS)
    assert refused.value.code is Code.INVALID_TXN_STATE


def test_it_is_answered_too_if_the_broker_restarts_before_the_markers_are_written() -> None:
    machine, _ = open_at(LAST_EPOCH - 1)
    client = keep(machine)
    following = told(machine, machine.end_and_bump(SHOP, client, commit=True, now_ms=NOW_MS))
    machine = reloaded(machine)
    (effect,) = machine.unfinished()
    told(machine, machine.markers_written(effect.transaction, now_ms=NOW_MS))
    assert end(machine, client, bumps=True, commit=True) == following


def test_a_third_id_follows_when_the_client_used_up_a_second_one() -> None:
    machine, producer = open_at(LAST_EPOCH)
    client = keep(machine)
    assert client == Producer(FIRST_ID, 0)
    kept = machine.describe(SHOP)
    machine.replay(kept._replace(next_producer_epoch=LAST_EPOCH))
    client = client._replace(producer_epoch=LAST_EPOCH)
    outcome = machine.end_and_bump(SHOP, client, commit=True, now_ms=NOW_MS)
    (prepared,) = (record for record in outcome.records if isinstance(record, Transaction))
    assert prepared.producer == producer._replace(producer_epoch=LAST_EPOCH + 1)
    assert prepared.previous_producer_id == client.producer_id
    told(machine, outcome)
    machine = reloaded(machine)
    (effect,) = machine.unfinished()
    told(machine, machine.markers_written(effect.transaction, now_ms=NOW_MS))
    machine = reloaded(machine)
    assert end(machine, client, bumps=True, commit=True) == outcome.reply


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("epoch", [3, LAST_EPOCH - 1, LAST_EPOCH])
def test_an_ordinary_initialization_aborts_a_kept_transaction(epoch: int, version: int) -> None:
    producer = PRODUCER._replace(producer_epoch=epoch)
    levels = [2]
    machine = Transactions(
        next_producer_id=iter(range(FIRST_ID, FIRST_ID + 9)).__next__,
        transaction_version=lambda: levels[0],
    )
    machine.replay(transaction_in(State.ONGOING, producer))
    client = keep(machine)
    levels[0] = version
    outcome = init(machine, keep=False)
    (prepared,) = (record for record in outcome.records if isinstance(record, Transaction))
    assert (prepared.state, prepared.producer) == (State.PREPARE_ABORT, next_epoch(producer))
    assert done(machine, outcome) is Code.CONCURRENT_TRANSACTIONS
    # The end of the client comes late. Since version 2 it is a retry of an end that was decided.
    assert refusal_of(machine, client) in (FENCED if version < 2 else (Code.INVALID_TXN_STATE,))
    if version == 2 and client.producer_epoch < LAST_EPOCH - 1:
        assert end(machine, client, bumps=True, commit=False) == next_epoch(client)
    again = told(machine, init(machine, keep=False))
    assert isinstance(again, Producer)
    assert again not in (producer, client)
    assert again.producer_epoch <= LAST_EPOCH
    for fenced in (producer, client):
        assert refusal_of(machine, fenced) in FENCED


def test_a_kept_transaction_with_a_timeout_is_aborted_by_it() -> None:
    machine, producer = open_at(3)
    client = keep(machine)
    outcome = ticked(machine, NOW_MS + TIMEOUT_MS)
    (prepared,) = (record for record in outcome.records if isinstance(record, Transaction))
    assert (prepared.state, prepared.producer) == (State.PREPARE_ABORT, next_epoch(producer))
    done(machine, outcome)
    assert refusal_of(machine, client) is Code.INVALID_TXN_STATE


def test_a_kept_transaction_in_two_phases_is_never_aborted(machine: Transactions) -> None:
    owner = told(
        machine, machine.init_producer_id(SHOP, timeout_ms=1, now_ms=NOW_MS, in_two_phases=True)
    )
    assert isinstance(owner, Producer)
    told(machine, machine.add_partitions(SHOP, owner, ORDERS, now_ms=NOW_MS))
    keep(machine)
    machine = reloaded(machine)
    assert next_wall_deadline(machine) is None
    assert ticked(machine, 1 << 60) == Outcome(None)


def test_no_producer_writes_to_a_kept_transaction() -> None:
    machine, producer = open_at(3)
    client = keep(machine)
    for partitions in (ORDERS, STOCK):
        with pytest.raises(Refused) as refused:
            machine.add_partitions(SHOP, client, partitions, now_ms=NOW_MS)
        assert refused.value.code is Code.INVALID_TXN_STATE
        with pytest.raises(Refused) as refused:
            machine.verify_partitions(SHOP, client, partitions)
        assert refused.value.code is Code.INVALID_TXN_STATE
        with pytest.raises(Refused) as refused:
            machine.add_partitions(SHOP, producer, partitions, now_ms=NOW_MS)
        assert refused.value.code is Code.PRODUCER_FENCED


@pytest.mark.parametrize("state", [State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT])
def test_without_an_open_transaction_keeping_is_an_ordinary_initialization(state: State) -> None:
    machine = machine_in(state)
    assert told(machine, init(machine, keep=True)) == next_epoch(PRODUCER)
    assert machine.describe(SHOP).state is State.EMPTY
    assert init(new_machine(), keep=True).reply == Producer(FIRST_ID, 0)


@pytest.mark.parametrize("state", [State.PREPARE_COMMIT, State.PREPARE_ABORT])
def test_a_decided_transaction_is_not_kept(state: State) -> None:
    with pytest.raises(Refused) as refused:
        init(machine_in(state), keep=True)
    assert refused.value.code is Code.CONCURRENT_TRANSACTIONS


def test_a_client_that_names_its_producer_must_be_the_one_that_may_end_the_transaction() -> None:
    machine, producer = open_at(3)
    client = keep(machine)
    for other in (producer, Producer(99, 0)):
        with pytest.raises(Refused) as refused:
            init(machine, keep=True, expected=other)
        assert refused.value.code is Code.PRODUCER_FENCED
    outcome = init(machine, keep=True, expected=client)
    assert outcome.reply == Kept(next_epoch(client), producer)


def test_records_of_transaction_version_0_cannot_keep_a_transaction() -> None:
    machine = new_machine(transaction_version=0)
    machine.replay(transaction_in(State.ONGOING))
    with pytest.raises(Refused) as refused:
        init(machine, keep=True)
    assert refused.value.code is Code.UNSUPPORTED_VERSION


def test_a_kept_transaction_survives_a_lower_transaction_version() -> None:
    machine, _ = open_at(3)
    keep(machine)
    kept = machine.describe(SHOP)
    assert decode(*Encoder({}).encode(kept)) == kept
