"""Every request and event in every state: `table.txt` lists the outcomes.

The cells follow Kafka's TransactionCoordinator and TransactionMetadata of 4.1.1. Cells that a
client can produce are compared with a real Kafka too (tests/differential/transaction_table.txt).
The machine starts from a single record, so that the outcome depends on the state alone. For a state
marked as impossible, the machine is explored: no sequence of requests, events and restarts leads to
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions.coordinator import DAY_MS, Transactions
from ottla.coordinator.transactions.records import decode, encode
from ottla.coordinator.transactions.states import (
    LAST_EPOCH,
    MAY_FOLLOW,
    PREPARED,
    Expired,
    State,
    Transaction,
)
from ottla.protocol.errors import Code, Malformed, Refused
from tests.coordinator.transactions.conversation import (
    NOW_MS,
    ORDERS,
    PRODUCER,
    SHOP,
    STOCK,
    TIMEOUT_MS,
    new_machine,
    ticked,
    transaction_in,
)
from tests.coordinator.transactions.table import cells

NEVER = "-"  # no transactional id reaches the state


def _init(machine: Transactions, who: Producer | None) -> Outcome[Any]:
    return machine.init_producer_id(SHOP, timeout_ms=TIMEOUT_MS, expected=who, now_ms=NOW_MS)


def _verify(machine: Transactions, who: Producer) -> Outcome[Any]:
    machine.verify_partitions(SHOP, who, ORDERS)
    return Outcome(None)


def _markers(machine: Transactions) -> Outcome[Any]:
    """All markers of the prepared transaction are written, or are reported once more."""
    known = machine.describe(SHOP)
    if known.state not in PREPARED:
        known = known.prepared(commit=True, now_ms=NOW_MS)
    return machine.markers_written(known, now_ms=NOW_MS)


REQUESTS: dict[str, Callable[[Transactions, Producer], Outcome[Any]]] = {
    "init anew": lambda machine, who: _init(machine, None),
    "init goes on": _init,
    "add": lambda machine, who: machine.add_partitions(SHOP, who, STOCK, now_ms=NOW_MS),
    "add again": lambda machine, who: machine.add_partitions(SHOP, who, ORDERS, now_ms=NOW_MS),
    "verify": _verify,
    "end4 commit": lambda machine, who: machine.end(SHOP, who, commit=True, now_ms=NOW_MS),
    "end4 abort": lambda machine, who: machine.end(SHOP, who, commit=False, now_ms=NOW_MS),
    "end5 commit": lambda machine, who: machine.end_and_bump(SHOP, who, commit=True, now_ms=NOW_MS),
    "end5 abort": lambda machine, who: machine.end_and_bump(SHOP, who, commit=False, now_ms=NOW_MS),
    "markers": lambda machine, who: _markers(machine),
    "timeout": lambda machine, who: ticked(machine, NOW_MS + TIMEOUT_MS),
    "expiry": lambda machine, who: ticked(machine, NOW_MS + 7 * DAY_MS),
}
WHO: dict[str, Callable[[Producer], Producer]] = {
    "owner": lambda owner: owner,
    "retry": lambda owner: owner._replace(producer_epoch=owner.producer_epoch - 1),
    "stale": lambda owner: owner._replace(producer_epoch=owner.producer_epoch - 1),
    "older": lambda owner: owner._replace(producer_epoch=owner.producer_epoch - 2),
    "newer": lambda owner: owner._replace(producer_epoch=owner.producer_epoch + 1),
    "other": lambda owner: owner._replace(producer_id=owner.producer_id + 1),
    "last": lambda owner: owner,
    "fenced at last": lambda owner: owner,
}
"""The sender. `retry` owns the previous epoch, `stale` owned it once.

`last` has the last epoch; `fenced at last` the one above it, which no producer gets.
"""


def known_in(state: State, who: str) -> Transaction:
    owner = PRODUCER
    if who.endswith("last"):
        owner = owner._replace(producer_epoch=LAST_EPOCH + (who == "fenced at last"))
    known = transaction_in(state, owner)
    if who == "retry":
        return known._replace(last_producer_epoch=owner.producer_epoch - 1)
    return known


def come_of(machine: Transactions, known: Transaction, asked: Callable[[], Outcome[Any]]) -> str:
    """The content of a cell: the answer, unless it is empty, and the record, if there is one."""
    before = machine.describe(SHOP)
    try:
        outcome = asked()
    except Refused as refused:
        assert machine.describe(SHOP) == before
        return refused.code.name
    assert machine.describe(SHOP) == before, "a decision changes nothing"
    parts = []
    if isinstance(outcome.reply, Producer):
        parts.append(_epoch(known, outcome.reply))
    elif isinstance(outcome.reply, Code):
        parts.append(outcome.reply.name)
    for record in outcome.records:
        if isinstance(record, Expired):
            parts.append("> forgotten")
        else:
            assert before.state in MAY_FOLLOW[record.state]
            assert bool(outcome.effects) == (record.state in PREPARED)
            parts.append(f"> {record.state.name} {_epoch(known, record.producer)}")
        machine.replay(record)
    return " ".join(parts) or "nothing"


def _epoch(known: Transaction, now: Producer) -> str:
    if now.producer_id != known.producer_id:
        return f"new:{now.producer_epoch}"
    return f"{now.producer_epoch - known.producer_epoch:+d}"


def is_fenced_at_last(who: str) -> bool:
    return who == "fenced at last"


@cache
def reached_states() -> frozenset[tuple[State, bool]]:
    """The states that the machine reaches, each with whether its owner is fenced at last.

    The walk starts from ids with many, two and one epochs left. It takes every step from each
    transaction that differs from those before in more than times, ids and lower epochs.
    """
    start = transaction_in(State.EMPTY)
    waiting = [
        start._replace(producer_epoch=epoch)
        for epoch in (start.producer_epoch, LAST_EPOCH - 1, LAST_EPOCH)
    ]
    seen = {_distinct(each) for each in waiting}
    reached = set()
    while waiting:
        known = waiting.pop()
        is_fenced = known.producer_epoch > LAST_EPOCH and known.next_producer_id < 0
        reached.add((known.state, is_fenced))
        for after in _steps_from(known):
            if _distinct(after) not in seen:
                seen.add(_distinct(after))
                waiting.append(after)
    return frozenset(reached)


def _distinct(known: Transaction) -> tuple[object, ...]:
    return (
        known.state,
        max(known.producer_epoch, LAST_EPOCH - 2),
        known.producer_epoch - known.last_producer_epoch
        if known.last_producer_epoch >= 0
        else None,
        known.previous_producer_id < 0,
        known.next_producer_id < 0,
        known.client_version,
    )


def _steps_from(known: Transaction) -> Iterator[Transaction]:
    """Each request and event, from each sender, at each level of transaction.version; a restart."""
    restored = decode(*encode(known))
    assert isinstance(restored, Transaction)
    yield restored
    for level in range(3):
        for request in REQUESTS.values():
            for sender in WHO.values():
                machine = new_machine(transaction_version=level)
                machine.replay(known)
                try:
                    outcome = request(machine, sender(known.producer))
                except Refused:
                    continue
                yield from (each for each in outcome.records if isinstance(each, Transaction))


def check_log_excludes(state: State) -> None:
    """No restart reads one of Kafka's two transient states from the log."""
    if state in (State.DEAD, State.PREPARE_EPOCH_FENCE):
        with pytest.raises(Malformed, match=f"in state {state:d}"):
            decode(*encode(transaction_in(state)))


@pytest.mark.parametrize(("request_name", "who", "level", "state", "content"), cells())
def test_a_cell_of_the_table(
    request_name: str, who: str, level: int, state: State, content: str
) -> None:
    if content == NEVER:
        assert (state, is_fenced_at_last(who)) not in reached_states()
        check_log_excludes(state)
        return
    assert (state, is_fenced_at_last(who)) in reached_states()
    machine, known = new_machine(transaction_version=level), known_in(state, who)
    machine.replay(known)
    asker = WHO[who](known.producer)
    assert come_of(machine, known, lambda: REQUESTS[request_name](machine, asker)) == content


def test_the_table_is_whole() -> None:
    found = {(request, who, level) for request, who, level, _, _ in cells()}
    assert {state for *_, state, _ in cells()} == set(State)
    assert {request for request, *_ in found} == set(REQUESTS)
    for request in REQUESTS:
        asked_by_anyone = request not in ("init anew", "markers", "timeout", "expiry")
        wanted = set(WHO) if asked_by_anyone else {"owner", "last", "fenced at last"}
        assert {who for name, who, level in found if name == request and level == 2} == wanted


def test_no_cell_leads_into_kafkas_two_transient_states() -> None:
    """Kafka is in them while it waits for an append; here a decision includes its record."""
    reached = {
        content.split("> ")[1].split()[0]
        for *_, content in cells()
        if "> " in content and content != "> forgotten"
    }
    assert reached == {state.name for state in State} - {"DEAD", "PREPARE_EPOCH_FENCE"}
