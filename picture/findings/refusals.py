"""Findings: faults of the lab, requests that were refused, records stored twice, moved leaders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...trace.events import Fault, LeadersChanged, RuleAdded
from ...trace.expected_errors import UNENDING, why_expected
from ...trace.messages import structs
from ...trace.owners import transactional_id_of
from ...trace.view import action_text
from .seen import (
    BEFORE,
    EFFECT,
    STEP,
    Call,
    Finding,
    Partition,
    Seen,
    joined,
    place_of,
    said,
    stored_by,
    times,
)

FAULTS: Final = 0
STORED_TWICE: Final = 0
REFUSED: Final = 2
MOVED: Final = 3
THROTTLED: Final = 3
_FENCING: Final = {
    "INVALID_PRODUCER_EPOCH": "its transactional id has a newer epoch",
    "PRODUCER_FENCED": "a newer producer has its transactional id",
    "FENCED_INSTANCE_ID": "another member has its group.instance.id",
    "UNKNOWN_MEMBER_ID": "it is no member any more",
    "ILLEGAL_GENERATION": "its group has another generation",
    "FENCED_MEMBER_EPOCH": "its epoch is not that of its member",
    "NOT_LEADER_OR_FOLLOWER": "the node does not lead the partition",
    "OFFSET_OUT_OF_RANGE": "the log does not have the offset",
}


def faults(seen: Seen) -> Iterator[Finding]:
    """Each rule of the lab that acted, with the requests that it hit, and who added it."""
    hits: dict[int, list[tuple[Fault, Any]]] = {}  # Any: the row's request
    added: dict[int, RuleAdded] = {}
    for row in seen.rows:
        if isinstance(row.event, RuleAdded):
            added[row.event.id] = row.event
        if isinstance(row.event, Fault):
            asked = None if row.request_row < 0 else seen.rows[row.request_row].exchange
            hits.setdefault(row.event.id, []).append((row.event, asked))
    begin_ms = seen.rows[0].event.at_ms if seen.rows else 0
    for number, found in hits.items():
        first, asked = found[0]
        on = joined(f"{each.api} of {each.client_id or '-'}" for _, each in found if each)
        yield Finding(
            FAULTS, first.seq if asked is None else asked.seq,
            f"{_rule(first)} acted{times(len(found))}{f' on {on}' if on else ''}"
            f"{_origin(first, added.get(number), begin_ms)}", BEFORE,
        )  # fmt: skip


def _rule(fault: Fault) -> str:
    """A rule with its name and what it does."""
    name = f" “{fault.name}”" if fault.name else ""
    return f"Fault rule {fault.id}{name} ({action_text(fault.action)})"


def _origin(fault: Fault, added: RuleAdded | None, begin_ms: int) -> str:
    """When the rule was added, and by whom; empty if the trace does not say it."""
    whom = fault.added_by or ("" if added is None else added.added_by)
    by = f" by {whom}" if whom else ""
    if added is not None:
        return f". It was added{by} (#{added.seq})"
    if fault.added_at_ms is None:
        return f". It was added{by}" if by else ""
    before_s = f"{max(begin_ms - fault.added_at_ms, 0) / 1000:.1f}"
    when = "just" if before_s == "0.0" else f"{before_s} s"
    return f". It was added{by}, {when} before the trace begins"


def stored_twice(seen: Seen) -> Iterator[Finding]:
    """A batch that a producer without idempotence sent again, as its answer did not come."""
    lost: dict[tuple[Partition, int], tuple[Call, int]] = {}
    for call in seen.of("Produce"):
        offsets = {place: first for place, first, _ in stored_by(call, seen.names)}
        for batch in structs(call.exchange.fields, "batches"):
            place, crc = place_of(batch, seen.names), batch.get("crc")
            if batch.get("producer_id") != -1 or crc is None or place not in offsets:
                continue
            before = lost.get((place, crc))
            if before is not None:
                yield Finding(
                    STORED_TWICE, call.seq,
                    f"{said(place)} has the same batch twice, at {before[1]} and {offsets[place]}:"
                    f" {before[0].client} got no answer to its Produce #{before[0].seq} and sent it"
                    " again, without idempotence (no producer id)", EFFECT,
                )  # fmt: skip
            if not call.exchange.is_answered:
                lost[place, crc] = call, offsets[place]


def refusals(seen: Seen) -> Iterator[Finding]:
    """Errors by client, API and code, and whether a later request of the kind was accepted."""
    refused: dict[tuple[str, str, str, str], list[Call]] = {}
    accepted: dict[tuple[str, str], int] = {}
    for call in seen.calls:
        if any(isinstance(each, Fault) for each in call.exchange.changes):
            continue
        errors = seen.errors(call)
        for code in errors:
            kind = (call.client, call.exchange.api, _about(call), code)
            refused.setdefault(kind, []).append(call)
        if call.exchange.is_answered and not errors:
            accepted[call.client, call.exchange.api] = call.seq
    for (client, api, about, code), calls in refused.items():
        was_accepted = accepted.get((client, api), 0) > calls[-1].seq
        is_usual = why_expected(api, code) is not None
        if is_usual and (was_accepted or len(calls) < UNENDING):
            continue
        why = f" ({_FENCING[code]})" if code in _FENCING else ""
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
