"""A trace as spans of OpenTelemetry, in the JSON of OTLP, for Jaeger, Tempo and others.

A transaction is a trace of its own, with its requests as spans below one span of it. Each other
request is a trace with one span. What a request changed, and faults, are events of its span.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..trace.events import Event
from ..trace.exchanges import Exchange
from ..trace.messages import topic_names
from ..trace.owners import client_of, group_of, transactional_id_of
from .rows import Row, Rows, kind_of_row, requests_of, told_in
from .transactions import PicturedTransaction, Transactions
from .usual_errors import note_usual_errors

Span = dict[str, Any]
SCOPE: Final = "ottla.trace"
_SERVER: Final = 2
_INTERNAL: Final = 1
_ERROR: Final = 2
_NS_OF_MS: Final = 1_000_000


def otlp_of(events: Iterable[Event]) -> dict[str, Any]:
    """The object of the file: an ExportTraceServiceRequest of opentelemetry-proto.

    Args:
        events: of the whole trace.
    """
    whole = list(events)
    rows = Rows(topic_names(whole)).add_all(whole)
    note_usual_errors(rows)
    transactions = Transactions(whole)
    transactions.add_all(rows)
    begin_ms = whole[0].at_ms if whole else 0
    spans: dict[str, list[Span]] = defaultdict(list)  # by service
    roots = {each.number: _id(begin_ms, "transaction", each.number) for each in transactions.all}
    for each in transactions.all:
        spans["transactions"].append(_of_transaction(each, rows, roots[each.number]))
    changes: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        if row.request_row >= 0 and kind_of_row(row) != "answer":
            changes[row.request_row].append(row)
    for number, exchange in requests_of(rows):
        root = roots.get(transactions.of_rows.get(number, 0))
        own = _id(begin_ms, "request", exchange.seq)
        told = (rows[number], told_in(rows, number))
        span = _of_request(exchange, told, changes[number])
        span |= {"traceId": root or own, "spanId": own[:16]}
        if root is not None:
            span["parentSpanId"] = root[:16]
        spans[client_of(exchange.request)].append(span)
    return {"resourceSpans": [_resource(service, found) for service, found in spans.items()]}


def _id(begin_ms: int, kind: str, number: int) -> str:
    """The id of a trace, whose first half is that of a span; the same in each export."""
    return hashlib.sha256(f"{begin_ms} {kind} {number}".encode()).hexdigest()[:32]


def _resource(service: str, spans: list[Span]) -> dict[str, Any]:
    attributes = _attributes({"service.name": service})
    scope = {"scope": {"name": SCOPE}, "spans": spans}
    return {"resource": {"attributes": attributes}, "scopeSpans": [scope]}


def _of_transaction(each: PicturedTransaction, rows: Sequence[Row], trace_id: str) -> Span:
    attributes = {
        "messaging.system": "kafka", "kafka.transactional_id": each.transactional_id,
        "kafka.transaction.outcome": each.outcome,
    }  # fmt: skip
    return {
        "traceId": trace_id, "spanId": trace_id[:16], "kind": _INTERNAL,
        "name": f"transaction of {each.transactional_id}",
        "startTimeUnixNano": str(rows[each.first].event.at_ms * _NS_OF_MS),
        "endTimeUnixNano": str(rows[each.last].event.at_ms * _NS_OF_MS),
        "attributes": _attributes(attributes),
    }  # fmt: skip


def _of_request(exchange: Exchange, told: tuple[Row, Row], changes: Sequence[Row]) -> Span:
    """The span of a request.

    Args:
        told: the row of the request, and the one with its answer, which may be the same.
        changes: the rows of what it changed.
    """
    row, answered = told
    answer = exchange.answer
    took_us = (answer.took_us or 0) if answer is not None else 0
    begin_ns = exchange.at_ms * _NS_OF_MS
    attributes = {
        "messaging.system": "kafka", "kafka.api": exchange.api, "kafka.version": exchange.version,
        "kafka.client_id": exchange.client_id, "kafka.connection": exchange.connection,
        "kafka.transactional_id": transactional_id_of(exchange.request),
        "kafka.group_id": group_of(exchange.fields), "ottla.seq": exchange.seq,
        "ottla.says": row.text,
    }  # fmt: skip
    span: Span = {
        "name": exchange.api, "kind": _SERVER, "startTimeUnixNano": str(begin_ns),
        "endTimeUnixNano": str(begin_ns + took_us * 1000), "attributes": _attributes(attributes),
        "events": [
            {
                "timeUnixNano": str(each.event.at_ms * _NS_OF_MS), "name": kind_of_row(each),
                "attributes": _attributes({"ottla.seq": each.event.seq, "ottla.says": each.text}),
            }
            for each in changes
        ],
    }  # fmt: skip
    if row.is_trouble or answered.is_trouble:
        unanswered = "" if answer is None else answer.unanswered
        said = ", ".join(answered.errors) or unanswered or exchange.undecoded or "error"
        span["status"] = {"code": _ERROR, "message": said}
    return span


def _attributes(values: Mapping[str, object]) -> list[dict[str, Any]]:
    """Attributes of OTLP; 64-bit numbers are texts in its JSON."""
    return [
        {
            "key": key,
            "value": {"intValue": str(value)}
            if isinstance(value, int)
            else {"stringValue": str(value)},
        }
        for key, value in values.items()
        if value not in (None, "")
    ]
