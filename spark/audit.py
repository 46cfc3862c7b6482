"""Whether the numbers add up: the producer's ledger against what readers of the log were given.

Pure: compares a `Ledger` with the ids that came out under both isolation levels and with the totals
that the streaming query wrote. `Audit.faults()` says in words what does not add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .orders import Fate, Ledger, Order


@dataclass(frozen=True, slots=True)
class Total:
    """What the query counted for a region."""

    orders: int
    amount_cents: int


@dataclass(frozen=True, slots=True)
class Audit:
    """The numbers of a run. Orders are counted, except in `unknown_*`: those are transactions."""

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
        """What does not add up; empty when all is well."""
        found = []
        if self.produced == 0:
            found.append("nothing was produced")
        if self.duplicates:
            found.append(f"{self.duplicates} orders came more than once")
        if self.missing:
            found.append(f"{self.missing} committed orders were not seen by read_committed")
        if self.leaked:
            found.append(f"{self.leaked} aborted or unheard-of orders were seen by read_committed")
        if self.lost:
            found.append(f"{self.lost} acknowledged orders are not in the log")
        found += [f"transaction {number} was seen in part" for number in self.torn_transactions]
        if self.committed + self.aborted != self.produced:
            found.append("committed and aborted are not together what was produced")
        found += [f"the total of {region} is wrong" for region in self.wrong_totals]
        return found


def audit(
    ledger: Ledger,
    *,
    read_committed: Iterable[int],
    read_uncommitted: Iterable[int],
    totals: Mapping[str, Total],
) -> Audit:
    """Compare. The ids come as often as readers got them; `totals` are the last ones by region."""
    committed_seen, all_seen = Counter(read_committed), Counter(read_uncommitted)
    committed, aborted = ledger.ids(Fate.COMMITTED), ledger.ids(Fate.ABORTED, Fate.OPEN)
    unknown_committed = unknown_aborted = 0
    torn = []
    for entry in ledger.entries:
        if entry.fate is not Fate.UNKNOWN:
            continue
        # The log decides, but only between all and nothing: no commit is sent before every order
        # of its transaction is acknowledged.
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
    """What the query should count for each region when it is given these orders."""
    orders: Counter[str] = Counter()
    cents: Counter[str] = Counter()
    for order in (Order(order_id, transaction=0) for order_id in ids):
        orders[order.region] += 1
        cents[order.region] += order.amount_cents
    return {region: Total(orders[region], cents[region]) for region in orders}


def _repeats(seen: Counter[int]) -> int:
    return seen.total() - len(seen)


def _wrong(totals: Mapping[str, Total], committed: set[int]) -> tuple[str, ...]:
    """The regions whose total is not that of the committed orders."""
    right = totals_of(committed)
    regions = sorted(right.keys() | totals.keys())
    return tuple(region for region in regions if totals.get(region) != right.get(region))
