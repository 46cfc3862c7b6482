"""Compares the producer's ledger with the records that consumers read.

Pure: compares a `Ledger` with the ids read under both isolation levels and with the totals that the
streaming query wrote. `Audit.faults()` describes each difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..orders import Ledger, Order, OrderFate


@dataclass(frozen=True, slots=True)
class Total:
    """The totals of one region, as the query counted them."""

    orders: int
    amount_cents: int


@dataclass(frozen=True, slots=True)
class Audit:
    """The numbers of a run: orders, except in `unknown_*`, which are transactions."""

    produced: int
    acknowledged: int
    committed: int
    aborted: int
    unknown_committed: int
    unknown_aborted: int
    torn_transactions: tuple[int, ...]
    seen_by_read_committed: int
    seen_by_read_uncommitted: int
    duplicates: int
    missing: int
    leaked: int
    lost: int
    wrong_totals: tuple[str, ...]

    def faults(self) -> list[str]:
        """The differences; empty if there are none."""
        found = []
        if self.produced == 0:
            found.append("nothing was produced")
        if self.duplicates:
            found.append(f"{self.duplicates} orders were duplicated")
        if self.missing:
            found.append(f"{self.missing} committed orders were not seen by read_committed")
        if self.leaked:
            found.append(f"{self.leaked} aborted or unknown orders were seen by read_committed")
        if self.lost:
            found.append(f"{self.lost} acknowledged orders are not in the log")
        found += [f"transaction {number} was seen in part" for number in self.torn_transactions]
        if self.committed + self.aborted != self.produced:
            found.append("committed and aborted orders do not add up to the produced ones")
        found += [f"the total of {region} is wrong" for region in self.wrong_totals]
        return found


def audit(
    ledger: Ledger,
    *,
    read_committed: Iterable[int],
    read_uncommitted: Iterable[int],
    totals: Mapping[str, Total],
) -> Audit:
    """Compare. Ids repeat as often as they were read; `totals` are the last ones by region."""
    committed_seen, all_seen = Counter(read_committed), Counter(read_uncommitted)
    committed, aborted = (
        ledger.ids(OrderFate.COMMITTED),
        ledger.ids(OrderFate.ABORTED, OrderFate.OPEN),
    )
    unknown_committed = unknown_aborted = 0
    torn = []
    for entry in ledger.entries:
        if entry.fate is not OrderFate.UNKNOWN:
            continue
        # The log decides, but only all or nothing: a commit is sent after every order of its
        # transaction is acknowledged.
        seen = sum(order in committed_seen for order in entry.ids())
        if 0 < seen < len(entry.ids()):
            torn.append(entry.number)
        if seen:
            unknown_committed += 1
            committed.update(entry.ids())
        else:
            unknown_aborted += 1
            aborted.update(entry.ids())
    return Audit(
        produced=sum(len(entry.ids()) for entry in ledger.entries),
        acknowledged=len(ledger.acknowledged),
        committed=len(committed),
        aborted=len(aborted),
        unknown_committed=unknown_committed,
        unknown_aborted=unknown_aborted,
        torn_transactions=tuple(torn),
        seen_by_read_committed=committed_seen.total(),
        seen_by_read_uncommitted=all_seen.total(),
        duplicates=max(_repeats(committed_seen), _repeats(all_seen)),
        missing=len(committed - committed_seen.keys()),
        leaked=len(committed_seen.keys() - committed),
        lost=len(ledger.acknowledged - all_seen.keys()),
        wrong_totals=_wrong(totals, committed),
    )


def totals_of(ids: Iterable[int]) -> dict[str, Total]:
    """The totals of these orders that the query should have counted, by region."""
    orders: Counter[str] = Counter()
    cents: Counter[str] = Counter()
    for order in (Order(order_id, transaction=0) for order_id in ids):
        orders[order.region] += 1
        cents[order.region] += order.amount_cents
    return {region: Total(orders[region], cents[region]) for region in orders}


def _repeats(seen: Counter[int]) -> int:
    return seen.total() - len(seen)


def _wrong(totals: Mapping[str, Total], committed: set[int]) -> tuple[str, ...]:
    """The regions whose total differs from that of the committed orders."""
    right = totals_of(committed)
    regions = sorted(right.keys() | totals.keys())
    return tuple(region for region in regions if totals.get(region) != right.get(region))
