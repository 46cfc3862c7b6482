"""Findings: faults of the lab, requests that were refused, moved leaders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...trace.events import Fault, LeadersChanged, RuleAdded, RuleRemoved
from ...trace.expected_errors import UNENDING, why_expected
from ...trace.owners import transactional_id_of
from ...trace.view import action_text
from .seen import BEFORE, EFFECT, MEANINGS, STEP, Call, Finding, Seen, joined, times

LEFT: Final = 0
FAULTS: Final = 1
REFUSED: Final = 2
MOVED: Final = 3
THROTTLED: Final = 3


def faults(seen: Seen) -> Iterator[Finding]:
    """Each rule of the lab that acted, with the requests that it hit, and who added it.

    A rule that a test adds is its question, to which what a client does then is the answer. So the
    likely cause is a rule only if nothing of a client explains as much, or if it was left.
    """
    hits: dict[int, list[tuple[Fault, Any]]] = {}  # Any: the row's request
    added: dict[int, RuleAdded] = {}
    removed: set[int] = set()
    for row in seen.rows:
        if isinstance(row.event, RuleAdded):
            added[row.event.id] = row.event
        if isinstance(row.event, RuleRemoved):
            removed.add(row.event.id)
        if isinstance(row.event, Fault):
            asked = None if row.request_row < 0 else seen.rows[row.request_row].exchange
            hits.setdefault(row.event.id, []).append((row.event, asked))
    begin_ms = seen.rows[0].event.at_ms if seen.rows else 0
    for number, found in hits.items():
        first, asked = found[0]
        on = joined(f"{each.api} of {each.client_id or '-'}" for _, each in found if each)
        acted = f"acted{times(len(found))}{f' on {on}' if on else ''}"
        seq = first.seq if asked is None else asked.seq
        if number not in added and first.added_at_ms is not None:
            kept = "" if number in removed else ", and it was not removed"
            text = f"{_rule(first)} was there before this trace: {_left(first, begin_ms)}{kept}"
            yield Finding(LEFT, seq, f"{text}. It {acted}", BEFORE)
        else:
            text = f"{_rule(first)} {acted}{_origin(first, added.get(number))}"
            yield Finding(FAULTS, seq, text, BEFORE)


def _rule(fault: Fault) -> str:
    """A rule with its name and what it does."""
    name = f" “{fault.name}”" if fault.name else ""
    return f"Fault rule {fault.id}{name} ({action_text(fault.action)})"


def _left(fault: Fault, begin_ms: int) -> str:
    """Who added a rule before the trace begins, and when."""
    before_s = f"{max(begin_ms - (fault.added_at_ms or 0), 0) / 1000:.1f}"
    when = "just" if before_s == "0.0" else f"{before_s} s"
    return f"{fault.added_by} added it {when} before" if fault.added_by else f"added {when} before"


def _origin(fault: Fault, added: RuleAdded | None) -> str:
    """Who added a rule in the trace; empty if that is not known."""
    whom = fault.added_by or ("" if added is None else added.added_by)
    by = f" by {whom}" if whom else ""
    if added is not None:
        return f". It was added{by} (#{added.seq})"
    return f". It was added{by}" if by else ""


def refusals(seen: Seen) -> Iterator[Finding]:
    """Errors by client, API and code, and whether a later request of the kind was accepted."""
    refused: dict[tuple[str, str, str, str], list[Call]] = {}
    accepted: dict[tuple[str, str], int] = {}
    for call in seen.calls:
        if any(isinstance(each, Fault) for each in call.exchange.changes):
            continue
        errors = seen.errors(call)
        for code in errors if call.seq not in seen.told else ():
            kind = (call.client, call.exchange.api, _about(call), code)
            refused.setdefault(kind, []).append(call)
        if call.exchange.is_answered and not errors:
            accepted[call.client, call.exchange.api] = call.seq
    for (client, api, about, code), calls in refused.items():
        was_accepted = accepted.get((client, api), 0) > calls[-1].seq
        is_usual = why_expected(api, code) is not None
        if is_usual and (was_accepted or len(calls) < UNENDING):
            continue
        why = f" ({MEANINGS[code]})" if code in MEANINGS else ""
        later = "" if was_accepted else f", and no later {api} of {client} was accepted"
        yield Finding(
            REFUSED + was_accepted, calls[0].seq,
            f"{api} of {client}{about} was refused{times(len(calls))}: {code}{why}{later}",
            # Its reader goes on elsewhere, so this is no end.
            STEP if code == "OFFSET_OUT_OF_RANGE" else EFFECT,
        )  # fmt: skip


def _about(call: Call) -> str:
    """The transactional id or the group of a request."""
    owner = transactional_id_of(call.exchange.request) or call.exchange.fields.get("group_id")
    return f" for {owner}" if owner else ""


def leaders(seen: Seen) -> Iterator[Finding]:
    """Partitions whose leader has moved."""
    for row in seen.rows:
        if isinstance(row.event, LeadersChanged):
            moved = [
                f"{row.event.topic}-{number} to node {each[0]}"
                for number, each in enumerate(row.event.leaders)
                if len(each) == 2 and each[1] > 0
            ]
            if moved:
                text = f"The leader moved: {joined(moved[:3])}"
                yield Finding(MOVED, row.event.seq, text, BEFORE)


def throttling(seen: Seen) -> Iterator[Finding]:
    """Clients that a quota slows down."""
    waits: dict[str, list[tuple[Call, int]]] = {}
    for call in seen.calls:
        wait_ms = (call.exchange.response or {}).get("throttle_time_ms")
        if isinstance(wait_ms, int) and wait_ms > 0:
            waits.setdefault(call.client, []).append((call, wait_ms))
    for client, found in waits.items():
        longest = max(found, key=lambda each: each[1])
        yield Finding(
            THROTTLED, longest[0].seq,
            f"A quota throttled {client}{times(len(found))},"
            f" once for {longest[1]} ms (throttle_time_ms of {longest[0].exchange.api})", BEFORE,
        )  # fmt: skip
