"""Puts the findings of a trace in order, from cause to effect, and marks the likely cause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from ...trace.events import Event
from ...trace.messages import Names, topic_names
from ..rows import Row, Rows, cut
from ..transactions import Transactions
from . import clock, groups, lost_members, reads, refusals, retries, transactions
from .seen import Finding, Seen, said, seen_in

_WORD: Final = re.compile(r"[\w.-]+")
MOST: Final = 10
"""The findings that a reader is shown."""
_CAUSES: Final = 2
"""The largest weight of a finding that may be marked as the likely cause."""
_FINDERS: Final[tuple[Callable[[Seen], Iterator[Finding]], ...]] = (
    refusals.faults, retries.stored_twice, retries.given_up, transactions.ends,
    transactions.open_ones, reads.uncommitted, reads.beginnings, lost_members.lost_members,
    groups.replaced_members, refusals.refusals, groups.read_again, refusals.leaders,
    refusals.throttling, reads.deleted, groups.resumptions, clock.moves,
)  # fmt: skip
"""In an order in which `refusals` comes behind those that tell of a refusal with its reason."""


def findings_of(
    rows: Sequence[Row], names: Names, found: Transactions, *, told_by: str | None = None
) -> list[Finding]:
    """What stands out in the rows of a trace: the MOST most telling sentences, in their stages.

    Of a stage the earlier event comes first. The most telling one of all is marked as the likely
    cause, unless it is of a kind that mostly is harmless, such as a moved clock.

    Args:
        names: the topics' names by id.
        found: the transactions of the rows.
        told_by: the text of a failure: of findings with the same weight and stage those tell most
            whose topics, ids and clients it names.
    """
    seen = seen_in(rows, names, found)
    all_found = [each for finder in _FINDERS for each in finder(seen)]
    named = _names_in(told_by or "", seen)

    def order(each: Finding) -> tuple[int, int, int, int]:
        words = named.intersection(_WORD.findall(each.text))
        return each.weight, each.stage, -len(words), each.seq

    chosen = sorted(all_found, key=order)[:MOST]
    if chosen and chosen[0].weight <= _CAUSES:
        chosen[0] = chosen[0]._replace(is_likely_cause=True)
    told = sorted(chosen, key=lambda each: (each.stage, each.seq))
    return [each._replace(text=cut(each.text)) for each in told]


def _names_in(text: str, seen: Seen) -> set[str]:
    """The names of the trace that a text has as words: partitions, transactional ids, clients."""
    words = set(_WORD.findall(text))
    known = {each.transactional_id for each in seen.transactions.all}
    known |= {each.client for each in seen.calls}
    partitions = {said(place) for place in seen.written if {place[0], said(place)} & words}
    return known & words | partitions


def findings_in(events: Iterable[Event], *, told_by: str | None = None) -> list[Finding]:
    """What stands out in the events of a trace, as `findings_of` has it."""
    whole = list(events)
    names = topic_names(whole)
    rows = Rows(names).add_all(whole)
    found = Transactions(whole)
    found.add_all(rows)
    return findings_of(rows, names, found, told_by=told_by)
