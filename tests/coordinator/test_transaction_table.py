"""Every request and event in every state, from everyone: `transaction_table.txt` says what comes.

A cell is read from Kafka's TransactionCoordinator and TransactionMetadata of 4.1.1; what a real one
can be brought to is compared with it too (tests/differential/transaction_table.txt). The machine is
asked from a single record, so that nothing but the state decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ottla.coordinator.outcome import Outcome, Producer
from ottla.coordinator.transactions.coordinator import DAY_MS, Transactions
from ottla.coordinator.transactions.states import (
    LAST_EPOCH,
    MAY_FOLLOW,
    PREPARED,
    Expired,
    State,
    Transaction,
)
from ottla.protocol.errors import Code, Refused
from tests.coordinator.transaction_table import cells
from tests.coordinator.transaction_talk import (
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

NEVER = "-"  # no transactional id is in the state


def _init(machine: Transactions, who: Producer | None) -> Outcome[Any]:
    return machine.init_producer_id(SHOP, timeout_ms=TIMEOUT_MS, expected=who, now_ms=NOW_MS)


def _verify(machine: Transactions, who: Producer) -> Outcome[Any]:
    machine.verify_partitions(SHOP, who, ORDERS)
    return Outcome(None)


def _markers(machine: Transactions) -> Outcome[Any]:
    """All are written: of what is prepared, or of what was, told once more."""
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
    "retry": lambda owner: replace(owner, producer_epoch=owner.producer_epoch - 1),
    "stale": lambda owner: replace(owner, producer_epoch=owner.producer_epoch - 1),
    "older": lambda owner: replace(owner, producer_epoch=owner.producer_epoch - 2),
    "newer": lambda owner: replace(owner, producer_epoch=owner.producer_epoch + 1),
    "other": lambda owner: replace(owner, producer_id=owner.producer_id + 1),
    "last": lambda owner: owner,
    "fenced at last": lambda owner: owner,
}
"""Who asks. `retry` has the epoch before as its own, `stale` had it once.

The epochs are used up for `last`, and one further, which nobody gets, for `fenced at last`.
"""


def known_in(state: State, who: str) -> Transaction:
    owner = PRODUCER
    if who.endswith("last"):
        owner = replace(owner, producer_epoch=LAST_EPOCH + (who == "fenced at last"))
    known = transaction_in(state, owner)
    if who == "retry":
        return replace(known, last_producer_epoch=owner.producer_epoch - 1)
    return known


def come_of(machine: Transactions, known: Transaction, asked: Callable[[], Outcome[Any]]) -> str:
    """What a cell holds: the answer, unless it is nothing, and the record, if there is one."""
    before = machine.describe(SHOP)
    try:
        outcome = asked()
    except Refused as refused:
        assert machine.describe(SHOP) == before
        return refused.code.name
    assert machine.describe(SHOP) == before, "deciding changes nothing"
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


@pytest.mark.parametrize(("request_name", "who", "level", "state", "content"), cells())
def test_a_cell_of_the_table(
    request_name: str, who: str, level: int, state: State, content: str
) -> None:
    if content == NEVER:
        assert who == "fenced at last" or state in (State.DEAD, State.PREPARE_EPOCH_FENCE)
        return
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


def test_no_step_leads_into_the_states_that_nobody_is_seen_in() -> None:
    """They are Kafka's way to wait for an append; here a decision and its record are one."""
    reached = {
        content.split("> ")[1].split()[0]
        for *_, content in cells()
        if "> " in content and content != "> forgotten"
    }
    assert reached == {state.name for state in State} - {"DEAD", "PREPARE_EPOCH_FENCE"}
