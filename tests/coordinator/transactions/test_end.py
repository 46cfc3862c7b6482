"""EndTxn: the decision to commit or abort, and its retries (KIP-98, KIP-890).

`table.txt` has its outcomes by state and epoch.
"""

from __future__ import annotations

import pytest

from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions.states import State, WriteMarkers
from ottla.protocol.errors import Code, Refused
from tests.coordinator.transactions.conversation import (
    FIRST_ID,
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
    told,
    transaction_in,
)


@pytest.mark.parametrize(
    ("transactional_id", "producer", "code"),
    [
        ("", PRODUCER, Code.INVALID_REQUEST),
        ("nobody", PRODUCER, Code.INVALID_PRODUCER_ID_MAPPING),
        (SHOP, Producer(8, 3), Code.INVALID_PRODUCER_ID_MAPPING),
        # The id is looked at before the epoch.
        (SHOP, Producer(8, 9), Code.INVALID_PRODUCER_ID_MAPPING),
    ],
)
def test_only_the_owner_of_the_id_may_end(
    transactional_id: str, producer: Producer, code: Code
) -> None:
    machine = machine_in(State.ONGOING)
    for end in (machine.end, machine.end_and_bump):
        with pytest.raises(Refused) as refused:
            end(transactional_id, producer, commit=True, now_ms=NOW_MS)
        assert refused.value.code == code


def test_markers_up_to_version_4_carry_the_epoch_of_the_request() -> None:
    machine = machine_in(State.ONGOING)
    outcome = machine.end(SHOP, PRODUCER, commit=True, now_ms=NOW_MS)
    (effect,) = outcome.effects
    assert isinstance(effect, WriteMarkers)
    assert effect.commit
    assert effect.coordinator_epoch == 4
    assert effect.transaction.producer == PRODUCER
    assert effect.transaction.partitions == ORDERS


def test_markers_from_version_5_on_carry_the_raised_epoch() -> None:
    machine = machine_in(State.ONGOING)
    outcome = machine.end_and_bump(SHOP, PRODUCER, commit=False, now_ms=NOW_MS)
    (effect,) = outcome.effects
    assert isinstance(effect, WriteMarkers)
    assert not effect.commit
    assert effect.transaction.producer == next_epoch(PRODUCER)


def test_after_the_markers_the_transaction_is_complete_and_keeps_its_start() -> None:
    machine = machine_in(State.ONGOING)
    done(machine, machine.end(SHOP, PRODUCER, commit=True, now_ms=NOW_MS), now_ms=NOW_MS + 1)
    known = machine.describe(SHOP)
    assert known.state is State.COMPLETE_COMMIT
    assert known.partitions == frozenset()
    assert known.started_ms == transaction_in(State.ONGOING).started_ms
    assert known.updated_ms == NOW_MS + 1


def test_until_the_markers_are_written_nothing_goes_on() -> None:
    machine = machine_in(State.ONGOING)
    told(machine, machine.end(SHOP, PRODUCER, commit=True, now_ms=NOW_MS))
    for ask in (
        lambda: machine.add_partitions(SHOP, PRODUCER, ORDERS, now_ms=NOW_MS),
        lambda: machine.verify_partitions(SHOP, PRODUCER, ORDERS),
        lambda: machine.init_producer_id(SHOP, timeout_ms=1, now_ms=NOW_MS),
        lambda: machine.end(SHOP, PRODUCER, commit=True, now_ms=NOW_MS),
    ):
        with pytest.raises(Refused, match="CONCURRENT_TRANSACTIONS"):
            ask()


def test_markers_are_complete_only_once() -> None:
    machine = machine_in(State.ONGOING)
    outcome = machine.end(SHOP, PRODUCER, commit=True, now_ms=NOW_MS)
    told(machine, outcome)
    (prepared,) = outcome.records
    told(machine, machine.markers_written(prepared, now_ms=NOW_MS))
    assert machine.markers_written(prepared, now_ms=NOW_MS) == Outcome(None)


def test_fifty_transactions_of_one_producer_raise_its_epoch_fifty_times() -> None:
    machine = new_machine()
    producer = begun(machine)
    for _ in range(50):
        told(machine, machine.add_partitions(SHOP, producer, ORDERS, now_ms=NOW_MS))
        end = machine.end_and_bump(SHOP, producer, commit=True, now_ms=NOW_MS)
        producer = done(machine, end)
    assert producer == Producer(FIRST_ID, 50)


def test_an_abort_without_a_partition_starts_and_ends_at_once() -> None:
    machine = machine_in(State.EMPTY)
    outcome = machine.end_and_bump(SHOP, PRODUCER, commit=False, now_ms=NOW_MS)
    assert done(machine, outcome) == next_epoch(PRODUCER)
    known = machine.describe(SHOP)
    assert (known.state, known.started_ms) == (State.COMPLETE_ABORT, NOW_MS)


LAST = Producer(7, 32766)
NEXT = Producer(FIRST_ID, 0)


@pytest.mark.parametrize("commit", [True, False])
def test_the_last_epoch_is_followed_by_a_new_producer_id(commit: bool) -> None:
    machine = machine_in(State.ONGOING, LAST)
    outcome = machine.end_and_bump(SHOP, LAST, commit=commit, now_ms=NOW_MS)
    assert outcome.reply == NEXT
    assert outcome.records[0].producer == next_epoch(LAST), "the markers go to the old id"
    done(machine, outcome)
    assert machine.describe(SHOP).producer == NEXT


def test_a_retry_at_the_last_epoch_is_answered_with_the_new_producer_id() -> None:
    machine = machine_in(State.ONGOING, LAST)
    done(machine, machine.end_and_bump(SHOP, LAST, commit=True, now_ms=NOW_MS))
    again = machine.end_and_bump(SHOP, LAST, commit=True, now_ms=NOW_MS)
    assert again == Outcome(NEXT)
    with pytest.raises(Refused, match="INVALID_TXN_STATE"):
        machine.end_and_bump(SHOP, LAST, commit=False, now_ms=NOW_MS)


def test_the_old_producer_id_is_unknown_once_it_was_replaced() -> None:
    machine = machine_in(State.ONGOING, LAST)
    done(machine, machine.end_and_bump(SHOP, LAST, commit=True, now_ms=NOW_MS))
    with pytest.raises(Refused, match="INVALID_PRODUCER_ID_MAPPING"):
        machine.add_partitions(SHOP, LAST, ORDERS, now_ms=NOW_MS)
    with pytest.raises(Refused, match="INVALID_PRODUCER_ID_MAPPING"):
        machine.end(SHOP, LAST, commit=True, now_ms=NOW_MS)
    told(machine, machine.add_partitions(SHOP, NEXT, ORDERS, now_ms=NOW_MS))
    with pytest.raises(Refused, match="INVALID_PRODUCER_ID_MAPPING"):
        machine.end_and_bump(SHOP, LAST, commit=True, now_ms=NOW_MS)


def test_up_to_version_4_the_last_epoch_is_used_on() -> None:
    machine = machine_in(State.ONGOING, LAST)
    assert done(machine, machine.end(SHOP, LAST, commit=True, now_ms=NOW_MS)) == LAST
    told(machine, machine.add_partitions(SHOP, LAST, ORDERS, now_ms=NOW_MS))


def test_no_producer_gets_the_epoch_reserved_for_fencing() -> None:
    fenced = next_epoch(LAST)
    machine = machine_in(State.COMPLETE_ABORT, fenced)
    with pytest.raises(Refused, match="PRODUCER_FENCED"):
        machine.add_partitions(SHOP, fenced, ORDERS, now_ms=NOW_MS)
    with pytest.raises(Refused, match="PRODUCER_FENCED"):
        machine.end_and_bump(SHOP, fenced, commit=False, now_ms=NOW_MS)
    # Its owner aborts late: the answer would need the epoch that no producer may have.
    with pytest.raises(Refused, match="PRODUCER_FENCED"):
        machine.end_and_bump(SHOP, LAST, commit=False, now_ms=NOW_MS)


def test_a_late_abort_after_an_abort_at_the_last_epoch_gets_a_new_producer_id() -> None:
    """The abort raised the epoch to the one kept for fencing, which no producer may have."""
    machine = machine_in(State.ONGOING, LAST)
    newer = machine.init_producer_id(SHOP, timeout_ms=TIMEOUT_MS, now_ms=NOW_MS)
    assert done(machine, newer) is Code.CONCURRENT_TRANSACTIONS
    aborted = machine.describe(SHOP)
    assert (aborted.producer, aborted.last_producer_epoch) == (
        next_epoch(LAST),
        LAST.producer_epoch,
    )
    late = machine.end_and_bump(SHOP, LAST, commit=False, now_ms=NOW_MS)
    assert late.reply.producer_id != LAST.producer_id
    assert late.reply.producer_epoch == 0
    assert done(machine, late) == late.reply
    again = machine.end_and_bump(SHOP, LAST, commit=False, now_ms=NOW_MS)
    assert (again.reply, again.records) == (late.reply, ())


@pytest.mark.parametrize("commit", [True, False])
def test_a_fenced_producer_does_not_get_the_epoch_of_its_successor(commit: bool) -> None:
    """Kafka takes an epoch one behind for a retry, though the end of it was an EndTxn 4."""
    machine = machine_in(State.EMPTY)
    zombie = PRODUCER
    owner = told(machine, machine.init_producer_id(SHOP, timeout_ms=TIMEOUT_MS, now_ms=NOW_MS))
    assert owner == next_epoch(zombie)
    told(machine, machine.add_partitions(SHOP, owner, ORDERS, now_ms=NOW_MS))
    done(machine, machine.end(SHOP, owner, commit=commit, now_ms=NOW_MS))
    for result in (True, False):
        with pytest.raises(Refused, match="PRODUCER_FENCED"):
            machine.end_and_bump(SHOP, zombie, commit=result, now_ms=NOW_MS)
