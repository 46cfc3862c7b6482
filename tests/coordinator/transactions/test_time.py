"""Time: transactions past their timeout, and unused transactional ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions.coordinator import DAY_MS, EXPIRED_PER_DECISION, Transactions
from ottla.coordinator.transactions.states import AT_REST, NO_TIMEOUT_MS, Expired, State
from ottla.protocol.errors import Refused
from tests.coordinator.moments import at
from tests.coordinator.transactions.conversation import (
    NOW_MS,
    ORDERS,
    PRODUCER,
    SHOP,
    TIMEOUT_MS,
    begun,
    done,
    machine_in,
    new_machine,
    next_epoch,
    next_wall_deadline,
    ticked,
    told,
    transaction_in,
)


def test_a_producer_that_sleeps_past_its_timeout_is_aborted_and_fenced() -> None:
    machine = new_machine()
    shop = begun(machine, now_ms=10)
    assert next_wall_deadline(machine) == 10 + TIMEOUT_MS
    assert ticked(machine, now_ms=9 + TIMEOUT_MS) == Outcome(None)

    aborted = ticked(machine, now_ms=10 + TIMEOUT_MS)
    told(machine, aborted)
    assert aborted.effects == machine.unfinished()
    (abort,) = machine.unfinished()
    assert (abort.commit, abort.transaction.partitions) == (False, ORDERS)
    assert abort.transaction.producer == next_epoch(shop)
    with pytest.raises(Refused, match="PRODUCER_FENCED"):
        machine.end(SHOP, shop, commit=True, now_ms=11 + TIMEOUT_MS)


def test_after_the_timeout_a_late_commit_fails_and_a_late_abort_succeeds() -> None:
    machine = new_machine()
    shop = begun(machine, now_ms=0)
    done(machine, ticked(machine, now_ms=TIMEOUT_MS))
    with pytest.raises(Refused, match="PRODUCER_FENCED"):
        machine.end(SHOP, shop, commit=True, now_ms=TIMEOUT_MS)
    with pytest.raises(Refused, match="PRODUCER_FENCED"):
        machine.add_partitions(SHOP, shop, ORDERS, now_ms=TIMEOUT_MS)
    with pytest.raises(Refused, match="INVALID_TXN_STATE"):
        machine.end_and_bump(SHOP, shop, commit=True, now_ms=TIMEOUT_MS)
    late_abort = machine.end_and_bump(SHOP, shop, commit=False, now_ms=TIMEOUT_MS)
    assert late_abort == Outcome(next_epoch(shop))


def test_after_the_timeout_its_owner_goes_on_under_the_raised_epoch(machine: Transactions) -> None:
    shop = begun(machine, now_ms=0)
    done(machine, ticked(machine, now_ms=TIMEOUT_MS))
    again = machine.init_producer_id(SHOP, timeout_ms=1, expected=shop, now_ms=TIMEOUT_MS)
    assert again.reply == next_epoch(shop)


def test_growing_does_not_prolong_a_transaction(machine: Transactions) -> None:
    shop = begun(machine, now_ms=0)
    told(machine, machine.add_partitions(SHOP, shop, [("stock", 0)], now_ms=TIMEOUT_MS - 1))
    assert next_wall_deadline(machine) == TIMEOUT_MS


@pytest.mark.parametrize("state", [State.PREPARE_COMMIT, State.PREPARE_ABORT])
def test_a_decided_transaction_has_no_timeout(state: State) -> None:
    machine = machine_in(state)
    assert next_wall_deadline(machine) is None
    assert ticked(machine, now_ms=NOW_MS + 100 * DAY_MS) == Outcome(None)


@pytest.mark.parametrize("state", sorted(AT_REST))
def test_a_transactional_id_unused_for_a_week_is_forgotten(state: State) -> None:
    machine = machine_in(state)
    expires_ms = transaction_in(state).updated_ms + 7 * DAY_MS
    assert next_wall_deadline(machine) == expires_ms
    assert ticked(machine, expires_ms - 1) == Outcome(None)
    outcome = ticked(machine, now_ms=expires_ms)
    assert outcome == Outcome(None, (Expired(SHOP),), is_atomic=False)
    told(machine, outcome)
    assert machine == new_machine()
    assert next_wall_deadline(machine) is None
    with pytest.raises(Refused, match="INVALID_PRODUCER_ID_MAPPING"):
        machine.add_partitions(SHOP, PRODUCER, ORDERS, now_ms=expires_ms)


def test_the_deadline_is_the_earliest_of_all() -> None:
    machine = Transactions(next_producer_id=lambda: 1, transactional_id_expiration_ms=100)
    assert next_wall_deadline(machine) is None
    for at_ms, transactional_id in enumerate(("a", "b", "c")):
        told(machine, machine.init_producer_id(transactional_id, timeout_ms=50, now_ms=at_ms))
    assert next_wall_deadline(machine) == 100
    a = machine.describe("a").producer
    told(machine, machine.add_partitions("a", a, ORDERS, now_ms=60))
    assert next_wall_deadline(machine) == 101, "b, which is the oldest at rest"
    told(machine, ticked(machine, now_ms=101))
    assert next_wall_deadline(machine) == 102
    told(machine, ticked(machine, now_ms=102))
    assert next_wall_deadline(machine) == 110, "the transaction of a"


def test_each_transaction_is_aborted_by_a_decision_of_its_own() -> None:
    machine = Transactions(next_producer_id=lambda: 1)
    for number in range(5):
        told(machine, machine.init_producer_id(f"open-{number}", timeout_ms=50, now_ms=0))
        producer = machine.describe(f"open-{number}").producer
        told(machine, machine.add_partitions(f"open-{number}", producer, ORDERS, now_ms=0))
    sizes = []
    for outcome in machine.tick(at(100)):
        assert outcome.is_atomic
        sizes.append(len(outcome.records))
        told(machine, outcome)
    assert sizes == [1] * 5
    assert len(machine.unfinished()) == 5


def test_an_abort_that_the_log_does_not_take_is_decided_again_later(machine: Transactions) -> None:
    begun(machine, now_ms=0)
    (refused,) = machine.tick(at(TIMEOUT_MS))
    assert refused.records
    assert next_wall_deadline(machine) == TIMEOUT_MS + 1_000
    done(machine, ticked(machine, now_ms=TIMEOUT_MS + 1_000))
    assert machine.describe(SHOP).state is State.COMPLETE_ABORT


def test_unused_transactional_ids_are_forgotten_in_divisible_batches() -> None:
    machine = Transactions(next_producer_id=lambda: 1, transactional_id_expiration_ms=100)
    for number in range(EXPIRED_PER_DECISION + 5):
        told(machine, machine.init_producer_id(f"idle-{number}", timeout_ms=50, now_ms=0))
    sizes = []
    for outcome in machine.tick(at(100)):
        assert not outcome.is_atomic
        sizes.append(len(outcome.records))
        told(machine, outcome)
    assert sizes == [EXPIRED_PER_DECISION, 5]
    assert machine == new_machine()


@given(st.permutations(range(8)), st.integers(0, 8))
def test_the_next_deadline_is_that_of_the_oldest_open_transaction(
    order: list[int], ended: int
) -> None:
    machine = new_machine()
    owners = {}
    for number in order:
        outcome = machine.init_producer_id(f"x{number}", timeout_ms=TIMEOUT_MS, now_ms=number)
        producer = told(machine, outcome)
        assert isinstance(producer, Producer)
        owners[number] = producer
        told(machine, machine.add_partitions(f"x{number}", producer, ORDERS, now_ms=number))
    for number in order[:ended]:
        told(machine, machine.end(f"x{number}", owners[number], commit=True, now_ms=50))
    left = order[ended:]
    wanted = min(left) + TIMEOUT_MS if left else None  # the others wait for their markers
    assert next_wall_deadline(machine) == wanted


def test_a_two_phase_transaction_never_times_out(machine: Transactions) -> None:
    outcome = machine.init_producer_id(SHOP, timeout_ms=-1, now_ms=NOW_MS, in_two_phases=True)
    producer = told(machine, outcome)
    assert isinstance(producer, Producer)
    assert machine.describe(SHOP).timeout_ms == NO_TIMEOUT_MS
    told(machine, machine.add_partitions(SHOP, producer, ORDERS, now_ms=NOW_MS))
    assert next_wall_deadline(machine) is None
    assert ticked(machine, now_ms=1 << 50) == Outcome(None)
    assert machine.describe(SHOP).deadline_ms is None


def test_a_timeout_is_noticed_when_it_is_looked_for() -> None:
    """transaction.abort.timed.out.transaction.cleanup.interval.ms: until then all goes on."""
    machine = Transactions(next_producer_id=lambda: 7, timeout_check_interval_ms=10_000)
    shop = begun(machine, now_ms=1)
    assert next_wall_deadline(machine) == TIMEOUT_MS + 10_000
    assert ticked(machine, now_ms=TIMEOUT_MS + 9_999) == Outcome(None)
    late = machine.end(SHOP, shop, commit=True, now_ms=TIMEOUT_MS + 9_999)
    assert late.reply == shop
    assert len(ticked(machine, now_ms=TIMEOUT_MS + 10_000).records) == 1


def test_a_timeout_that_falls_on_a_look_is_noticed_by_it() -> None:
    machine = Transactions(next_producer_id=lambda: 7, timeout_check_interval_ms=10_000)
    begun(machine, now_ms=0)
    assert next_wall_deadline(machine) == TIMEOUT_MS
    assert len(ticked(machine, now_ms=TIMEOUT_MS).records) == 1
