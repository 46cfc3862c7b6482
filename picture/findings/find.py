"""Puts the findings of a trace in order: what explains most comes first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from ...trace.events import Event
from ...trace.messages import Names, topic_names
from ..rows import Row, Rows, cut
from ..transactions import Transactions
from . import groups, reads, refusals, transactions
from .seen import Finding, Seen, seen_in

MOST: Final = 10
"""The findings that a reader is shown."""
_FINDERS: Final[tuple[Callable[[Seen], Iterator[Finding]], ...]] = (
    refusals.faults, refusals.stored_twice, transactions.ends, transactions.open_ones,
    reads.uncommitted, reads.beginnings, groups.lost_members, groups.replaced_members,
    refusals.refusals, groups.read_again, refusals.leaders, refusals.throttling, reads.deleted,
    groups.resumptions,
)  # fmt: skip


def findings_of(rows: Sequence[Row], names: Names, found: Transactions) -> list[Finding]:
    """What stands out in the rows of a trace, at most MOST sentences.

    Args:
        names: the topics' names by id.
        found: the transactions of the rows.
    """
    seen = seen_in(rows, names, found)
    all_found = [each for finder in _FINDERS for each in finder(seen)]
    found_first = sorted(all_found, key=lambda each: (each.weight, each.seq))[:MOST]
    return [each._replace(text=cut(each.text)) for each in found_first]


def findings_in(events: Iterable[Event]) -> list[Finding]:
    """What stands out in the events of a trace."""
    whole = list(events)
    names = topic_names(whole)
    rows = Rows(names).add_all(whole)
    found = Transactions(whole)
    found.add_all(rows)
    return findings_of(rows, names, found)
