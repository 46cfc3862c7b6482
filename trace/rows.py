"""The events of a trace as rows of a table, one by one; no library is needed.

The row of a request waits for the answer and for what it changes, unless too many events come
between.
"""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from .view import Event, errors_in
from .words import topic_name, topic_names

Row = dict[str, Any]
WAITED_EVENTS: Final = 10_000
"""What a request changes so many events after its answer has only a row of its own."""
MOST_OPEN: Final = 50_000
_WITH_ID: Final = ("transactional_id", "v3_and_below_transactional_id")
_OF_REQUEST: Final = (
    "node_id", "connection", "listener", "principal", "client_id", "version", "correlation_id",
)  # fmt: skip
_TOPICS: Final = ("topics", "topic_data", "v3_and_below_topics", "responses", "markers", "groups",
                  "transactions", "topic_partitions")  # fmt: skip
_PARTITIONS: Final = (
    "partitions", "partition_data", "partition_indexes", "partition_responses",
    "results_by_partition",
)  # fmt: skip
_INDEXES: Final = ("partition_index", "partition", "index")


class _Pending:
    """A request whose row waits."""

    def __init__(self, request: Event) -> None:
        self.request = request
        self.answer: Event | None = None
        self.changes: list[Event] = []
        self.faults: list[Event] = []


class Rows:
    """Makes rows of events."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._pending: OrderedDict[int, _Pending] = OrderedDict()
        self._answered: deque[tuple[int, int]] = deque()  # when to stop waiting, and for which
        self._count = 0
        self._last = 0

    def of(self, events: Iterable[Event]) -> Iterator[Row]:
        """One row for each event; those of requests come later than the others."""
        for event in events:
            yield from self._event(event)
        yield from self._rest()

    def _rest(self) -> Iterator[Row]:
        """The rows of requests that wait."""
        self._answered.clear()
        while self._pending:
            yield self._request_row(self._pending.popitem(last=False)[1])

    def _event(self, event: Event) -> Iterator[Row]:
        if event["seq"] <= self._last:  # the broker was started again
            yield from self._rest()
        self._last = event["seq"]
        self._count += 1
        self._names |= topic_names([event])
        pending = self._pending.get(event.get("cause", 0))
        kind = event["kind"]
        if kind == "request":
            self._pending[event["seq"]] = _Pending(event)
        elif kind == "answer":
            if pending is not None:
                pending.answer = event
                self._answered.append((self._count + WAITED_EVENTS, event["cause"]))
            yield self._answer_row(event, pending.request if pending else None)
        else:
            if pending is not None:
                (pending.faults if kind == "fault" else pending.changes).append(event)
            yield self._other_row(event)
        while self._answered and self._answered[0][0] <= self._count:
            done = self._pending.pop(self._answered.popleft()[1], None)
            if done is not None:
                yield self._request_row(done)
        if len(self._pending) > MOST_OPEN:
            yield self._request_row(self._pending.popitem(last=False)[1])

    def _request_row(self, pending: _Pending) -> Row:
        event, answer = pending.request, pending.answer
        request = _fields(event.get("request"))
        row = _row(event) | {name: event.get(name) for name in _OF_REQUEST}
        row |= {"api": event["api"], "request": _json(request)} | _owner(request)
        row |= self._places(request)
        row["undecoded"] = event.get("undecoded")
        if answer is not None:
            row |= _outcome(answer)
        row["changes"] = _json([_own(each) for each in pending.changes])
        row["faults"] = _json([_own(each) for each in pending.faults])
        return row

    def _answer_row(self, event: Event, request: Event | None) -> Row:
        row = _row(event) | {"api": event.get("api")} | _outcome(event)
        response = _fields(event.get("response"))
        row |= {"response": _json(response), "undecoded": event.get("undecoded")}
        row |= self._places(response)
        if request is not None:
            row |= {name: request.get(name) for name in _OF_REQUEST}
            row |= _owner(_fields(request.get("request")))
        return row

    def _other_row(self, event: Event) -> Row:
        row = _row(event) | {
            name: event.get(name) for name in ("node_id", "connection", "listener")
        }
        row["connection"] = row["connection"] or event.get("connection_id")
        row |= _owner(event) | self._places({"topics": [event]} if "topic" in event else {})
        column = "faults" if event["kind"] == "fault" else "changes"
        row[column] = _json([_own(event)])
        return row

    def _places(self, fields: Mapping[str, Any]) -> Row:
        places = list(dict.fromkeys(_places(fields, self._names)))
        return {
            "topics": list(dict.fromkeys(topic for topic, _ in places)),
            "partitions": [
                {"topic": topic, "partition": index} for topic, index in places if index is not None
            ],
        }


def _row(event: Event) -> Row:
    return {
        "sequence": event["seq"], "time": event["at_ms"], "kind": event["kind"],
        "cause": event.get("cause"),
    }  # fmt: skip


def _fields(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _own(event: Event) -> Row:
    """The event without what other columns have."""
    return {name: each for name, each in event.items() if name not in ("at_ms", "cause")}


def _json(value: object) -> str | None:
    return json.dumps(value, ensure_ascii=False) if value else None


def _outcome(answer: Event) -> Row:
    codes = errors_in(answer.get("response"))
    if "error" in answer:
        codes = [answer["error"]]
    return {
        "duration_ms": answer["took_us"] / 1000 if "took_us" in answer else None,
        "error_codes": codes,
        "unanswered": answer.get("unanswered"),
    }


def _owner(fields: Mapping[str, Any]) -> Row:
    """Transactional id, producer and group that fields name, at their top or in the first part."""
    inner = [fields]
    for name in ("transactions", "markers", "batches", "records", "groups"):
        found = fields.get(name)
        if isinstance(found, list) and found and isinstance(found[0], Mapping):
            inner.append(found[0])
    if isinstance(fields.get("producer"), Mapping):
        inner.append(fields["producer"])

    def first(*names: str) -> Any:
        values = (each.get(name) for each in inner for name in names)
        return next((value for value in values if value not in (None, "")), None)

    return {
        "transactional_id": first(*_WITH_ID),
        "producer_id": first("producer_id", "v3_and_below_producer_id"),
        "producer_epoch": first("producer_epoch", "v3_and_below_producer_epoch"),
        "group_id": first("group_id"),
    }


def _places(
    fields: Mapping[str, Any], names: Mapping[str, str]
) -> Iterator[tuple[str, int | None]]:
    """Topics and partitions that fields name, at any depth."""
    for field in _TOPICS:
        for each in fields.get(field) or ():
            if isinstance(each, str) and field == "topics":
                if not each.startswith("... "):
                    yield each, None
            elif isinstance(each, Mapping):
                name = topic_name(each, names)
                if name and field not in ("markers", "groups", "transactions"):
                    yield from _of_topic(name, each)
                yield from _places(each, names)


def _of_topic(name: str, topic: Mapping[str, Any]) -> Iterator[tuple[str, int | None]]:
    indexes: list[int] = []
    if isinstance(topic.get("partition"), int):
        indexes.append(topic["partition"])
    for field in _PARTITIONS:
        for each in topic.get(field) or ():
            if isinstance(each, Mapping):
                each = next((each[index] for index in _INDEXES if index in each), None)
            if isinstance(each, int):
                indexes.append(each)
    yield from ((name, index) for index in indexes)
    if not indexes:
        yield name, None
