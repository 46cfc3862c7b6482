"""The audit of the demo finds each kind of wrong numbers."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from ottla.spark.audit.ledger_audit import Audit, Total, audit
from ottla.spark.orders import Entry, Ledger, Order, OrderFate

# Ten orders each: 0-9 committed, 10-19 aborted, 20-29 of unknown outcome.
COMMITTED, ABORTED, UNKNOWN = range(10), range(10, 20), range(20, 30)


def ledger() -> Ledger:
    entries = [
        Entry(0, 0, 10, OrderFate.COMMITTED),
        Entry(1, 10, 20, OrderFate.ABORTED),
        Entry(2, 20, 30, OrderFate.UNKNOWN),
    ]
    return Ledger(entries, acknowledged=set(range(30)))


def totals_of(ids: Iterable[int]) -> dict[str, Total]:
    totals: dict[str, Total] = {}
    for order in (Order(order_id, 0) for order_id in ids):
        before = totals.get(order.region, Total(0, 0))
        totals[order.region] = Total(before.orders + 1, before.amount_cents + order.amount_cents)
    return totals


def audited(
    read_committed: Iterable[int],
    read_uncommitted: Iterable[int] = range(30),
    totals: dict[str, Total] | None = None,
) -> Audit:
    committed = list(read_committed)
    right = totals_of(set(committed)) if totals is None else totals
    return audit(
        ledger(), read_committed=committed, read_uncommitted=read_uncommitted, totals=right
    )


def test_a_clean_run_has_no_faults_and_its_numbers_are_those_of_the_ledger() -> None:
    found = audited(COMMITTED)
    assert found.faults() == []
    assert (found.produced, found.committed, found.aborted) == (30, 10, 20)
    assert (found.seen_by_read_committed, found.seen_by_read_uncommitted) == (10, 30)


def test_a_transaction_with_unknown_outcome_is_complete_or_absent() -> None:
    absent, present = audited(COMMITTED), audited([*COMMITTED, *UNKNOWN])
    assert absent.faults() == present.faults() == []
    assert (absent.unknown_committed, absent.unknown_aborted) == (0, 1)
    assert (present.unknown_committed, present.unknown_aborted) == (1, 0)
    assert present.committed == 20


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (audited([*COMMITTED, 3]), "1 orders were duplicated"),
        (audited(COMMITTED, [*range(30), 12]), "1 orders were duplicated"),
        (audited(range(8)), "2 committed orders were not seen by read_committed"),
        (audited([*COMMITTED, 12]), "1 aborted or unknown orders were seen"),
        (audited([*COMMITTED, 99]), "1 aborted or unknown orders were seen"),
        (audited([*COMMITTED, *range(20, 25)]), "transaction 2 was seen in part"),
        (audited([*COMMITTED, 20]), "transaction 2 was seen in part"),
        (audited([*COMMITTED, 29]), "transaction 2 was seen in part"),
        (audited([*COMMITTED, *range(20, 29)]), "transaction 2 was seen in part"),
        (audited(COMMITTED, range(29)), "1 acknowledged orders are not in the log"),
        (audited(COMMITTED, totals={}), "the total of"),
        (audited(COMMITTED, totals=totals_of(range(9))), "the total of"),
        (audited(COMMITTED, totals=totals_of([*COMMITTED, 12])), "the total of"),
    ],
)
def test_each_violation_is_reported(found: Audit, fault: str) -> None:
    assert any(fault in each for each in found.faults()), found


def test_an_open_transaction_counts_as_aborted() -> None:
    unfinished = ledger()
    unfinished.entries[1].fate = OrderFate.OPEN
    found = audit(
        unfinished,
        read_committed=COMMITTED,
        read_uncommitted=range(30),
        totals=totals_of(COMMITTED),
    )
    assert found.faults() == []
    assert found.aborted == 20


def test_a_run_without_orders_fails_the_audit() -> None:
    empty = audit(Ledger(), read_committed=[], read_uncommitted=[], totals={})
    assert empty.faults() == ["nothing was produced"]
