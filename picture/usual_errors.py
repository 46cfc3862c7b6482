"""Finds the errors of rows that are no trouble: a healthy client expects them, and they end.

They stay in the text of their row, which calls them usual, and are not drawn as errors.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..trace.events import DecisionRefused, Fault
from ..trace.expected_errors import UNENDING, are_expected, why_expected
from ..trace.owners import client_of
from .rows import Row, cut, requests_of, told_in

_Kind = tuple[str, str, str]


def note_usual_errors(rows: Sequence[Row]) -> dict[str, str]:
    """Mark the rows whose errors are usual.

    An error is not usual if a fault of the lab made it, or if it comes again and again without an
    accepted request of its client and API behind it.

    Returns:
        The codes that are usual somewhere, with what a client does then.
    """
    told_of: dict[str, str] = {}
    refused: dict[_Kind, list[list[Row]]] = {}
    by_coordinators: dict[int, list[Row]] = {}
    for row in rows:
        if isinstance(row.event, DecisionRefused) and row.request_row >= 0:
            by_coordinators.setdefault(row.request_row, []).append(row)
    accepted: dict[tuple[str, str], int] = {}
    for number, exchange in requests_of(rows):
        told = told_in(rows, number)
        client = client_of(exchange.request)
        if not told.errors:
            if exchange.is_answered:
                accepted[client, exchange.api] = exchange.seq
            continue
        if any(isinstance(each, Fault) for each in exchange.changes):
            continue
        if are_expected(exchange.api, told.errors):
            kind = client, exchange.api, told.errors[0]
            refused.setdefault(kind, []).append([told, *by_coordinators.get(number, ())])
    for (client, api, _), found in refused.items():
        last = found[-1][0].exchange
        assert last is not None, "an answer of a request"
        if len(found) >= UNENDING and accepted.get((client, api), 0) < last.seq:
            continue
        for told, *refusals in found:
            told.text = cut(f"{told.text} (usual)")
            for row in (told, *refusals):
                row.is_usual = True
            told_of |= {each: why_expected(api, each) or "" for each in told.errors}
    return told_of
