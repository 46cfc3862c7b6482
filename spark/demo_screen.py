"""The last screen of the demo: the numbers, the totals by region, and the checks."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest

from rich.console import Console
from rich.table import Table

from .audit.ledger_audit import Audit, Total
from .orders import Moment

_WHERE = {Moment.HALF_WRITTEN: "inside an open transaction", Moment.COMMITTING: "during a commit"}


@dataclass(frozen=True, slots=True)
class Kill:
    """One SIGKILL of the broker.

    Attributes:
        moment: of the transaction.
        while_counting: whether Spark was in the middle of a batch.
        away_ms: milliseconds until the broker answered again.
    """

    moment: Moment
    while_counting: bool
    away_ms: int


def checks(found: Audit) -> list[tuple[str, bool]]:
    """Each thing that the audit checks, and whether it holds."""
    return [
        ("no order is duplicated", not found.duplicates),
        ("read_committed saw every committed order", found.produced > 0 and not found.missing),
        ("read_committed saw no aborted order", not found.leaked),
        ("every acknowledged order is in the log", not found.lost),
        ("every transaction was seen whole or not at all", not found.torn_transactions),
        ("committed and aborted add up", found.committed + found.aborted == found.produced),
        ("Spark's totals equal the ledger's", not found.wrong_totals),
    ]


def print_json(found: Audit, totals: Mapping[str, Total], kills: Sequence[Kill]) -> None:
    """Print all results as one JSON value."""
    content = asdict(found) | {
        "totals": {region: asdict(total) for region, total in sorted(totals.items())},
        "kills": [asdict(each) | {"moment": each.moment.name.lower()} for each in kills],
        "checks": dict(checks(found)),
        "faults": found.faults(),
    }
    sys.stdout.write(json.dumps(content, indent=2) + "\n")


def print_results(
    console: Console, found: Audit, totals: Mapping[str, Total], kills: Sequence[Kill]
) -> None:
    """Print the numbers, the totals, the checks and the verdict."""
    console.print(_numbers(found, totals))
    for each in kills:
        during = " while Spark was counting" if each.while_counting else ""
        console.print(
            f"SIGKILL {_WHERE[each.moment]}{during}; back after {each.away_ms} ms",
            soft_wrap=True,
        )
    if found.unknown_committed or found.unknown_aborted:
        console.print(
            f"ends that the producer does not know: {found.unknown_committed} found committed, "
            f"{found.unknown_aborted} found aborted"
        )
    for text, holds in checks(found):
        console.print(f"[green]ok[/]      {text}" if holds else f"[red]FAILED  {text}")
    for fault in found.faults():
        console.print(f"[red]{fault}")
    console.print("[red]the numbers do not add up" if found.faults() else "the numbers add up")


def _numbers(found: Audit, totals: Mapping[str, Total]) -> Table:
    """Counts of orders on the left, Spark's totals by region on the right."""
    orders = [
        ("produced", found.produced),
        ("acknowledged", found.acknowledged),
        ("committed", found.committed),
        ("aborted", found.aborted),
        ("read_committed saw", found.seen_by_read_committed),
        ("read_uncommitted saw", found.seen_by_read_uncommitted),
        ("duplicates", found.duplicates),
        ("missing", found.missing),
    ]
    regions = [
        (region, total.orders, total.amount_cents, region in found.wrong_totals)
        for region, total in sorted(totals.items())
    ]
    summed = [sum(total.orders for total in totals.values())]
    summed.append(sum(total.amount_cents for total in totals.values()))
    regions.append(("all regions", summed[0], summed[1], False))
    table = Table(show_edge=False)
    table.add_column("orders", style="cyan", no_wrap=True)
    table.add_column("", justify="right")
    table.add_column("Spark's totals", style="cyan", no_wrap=True)
    table.add_column("orders", justify="right")
    table.add_column("amount", justify="right")
    for order, region in zip_longest(orders, regions):
        left = (order[0], str(order[1])) if order else ("", "")
        right = ("", "", "")
        if region:
            wrong = " [red](wrong)" if region[3] else ""
            right = (f"{region[0]}{wrong}", str(region[1]), f"{region[2] / 100:,.2f}")
        table.add_row(*left, *right)
    return table
