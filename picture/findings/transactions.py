"""Findings: transactions that were aborted by others, or that are open at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...trace.events import Decision, Request
from ..transactions import OPEN, PicturedTransaction
from .seen import Finding, Partition, Seen, joined, places_in, said

BY_OTHERS: Final = 1
STAYS_OPEN: Final = 1
BY_ITSELF: Final = 4
_READ_COMMITTED: Final = 1


def ends(seen: Seen) -> Iterator[Finding]:
    """Who aborted a transaction, if it was not its producer by EndTxn."""
    last_requests: dict[int, int] = {}  # of each transaction, its last row with a request so far
    for number, row in enumerate(seen.rows):
        event = row.event
        if isinstance(event, Request):
            last_requests[seen.transactions.of_rows.get(number, 0)] = number
        if not isinstance(event, Decision):
            continue
        transaction = seen.transaction_of(number)
        for record in event.transactions:
            if transaction is None or record.get("before") != "Ongoing":
                continue
            if str(record.get("after")) in ("PrepareAbort", "PrepareEpochFence"):
                last = last_requests.get(transaction.number, transaction.first)
                yield _abort(seen, number, event, transaction, last)


def _abort(
    seen: Seen, number: int, event: Decision, found: PicturedTransaction, last: int
) -> Finding:
    """The sentence for an abort: by time, by another producer, or by its own.

    Args:
        number: the row of the decision.
        last: the row of the last request of the transaction.
    """
    owner = seen.client_of_row(found.first)
    whose = f"T{found.number} of {found.transactional_id} ({owner})"
    asked_row = seen.rows[number].request_row
    asked = None if asked_row < 0 else seen.rows[asked_row].exchange
    if event.by_timer or asked is None:
        after_s = (event.at_ms - seen.rows[found.first].event.at_ms) / 1000
        return Finding(
            BY_OTHERS, event.seq,
            f"The broker aborted {whose}, which was open for {after_s:.1f} s:"
            f" transaction.timeout.ms was over. Its last request is #{seen.rows[last].event.seq}"
            f" ({_api(seen, last)})",
        )  # fmt: skip
    client = seen.client_of_row(asked_row)
    if asked.api == "InitProducerId":
        fenced = f", and fenced {owner}" if client != owner else ""
        return Finding(
            BY_OTHERS, asked.seq,
            f"InitProducerId of {client} with the same transactional id aborted {whose}{fenced}",
        )  # fmt: skip
    return Finding(BY_ITSELF, asked.seq, f"{client} aborted {whose} by {asked.api}")


def _api(seen: Seen, number: int) -> str:
    exchange = seen.rows[number].exchange
    return "" if exchange is None else exchange.api


def open_ones(seen: Seen) -> Iterator[Finding]:
    """Transactions without an end, what they hold up, and for whom."""
    for transaction in seen.transactions.all:
        if transaction.outcome != OPEN:
            continue
        first: dict[Partition, int] = {}
        for place, written in seen.written.items():
            for each in written:
                if each.transaction is transaction:
                    first[place] = min(each.first, first.get(place, each.first))
        where = joined(f"{said(place)} from offset {offset}" for place, offset in first.items())
        waiting: dict[str, int] = {}  # the first Fetch of each client
        for client, seq in _waiting(seen, first):
            waiting.setdefault(client, seq)
        readers = joined(f"{client} (read_committed, #{seq})" for client, seq in waiting.items())
        held = f", and holds up {readers}" if waiting else ""
        yield Finding(
            STAYS_OPEN, seen.rows[transaction.first].event.seq,
            f"T{transaction.number} of {transaction.transactional_id}"
            f" ({seen.client_of_row(transaction.first)}) is still open at the end"
            f"{f', in {where}' if where else ''}{held}",
        )  # fmt: skip


def _waiting(seen: Seen, first: dict[Partition, int]) -> Iterator[tuple[str, int]]:
    """Clients that asked for records behind the open transaction and got none, and the Fetch."""
    for call in seen.of("Fetch"):
        if call.exchange.fields.get("isolation_level") != _READ_COMMITTED:
            continue
        for place, each in places_in(call.exchange.response, seen.names, "responses"):
            stable = each.get("last_stable_offset", -1)
            if first.get(place) == stable and each.get("high_watermark", -1) > stable:
                yield call.client, call.seq
