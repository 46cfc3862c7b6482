"""The events of a trace as rows of a table, one by one; no library is needed.

The row of a request waits for the answer and for what it changes, unless too many events come
between.
"""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from .events import NO_FIELDS, Answer, Event, Fault, Fields, Request, fields_of, kind_of
from .exchanges import Exchange, Exchanges
from .messages import Names, errors_of, topic_name, topic_names

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


class Rows:
    """Makes rows of events."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._pending: OrderedDict[int, Exchange] = OrderedDict()
        self._together = Exchanges()
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
            yield self._end_next()

    def _end_next(self) -> Row:
        return self._end(next(iter(self._pending)))

    def _end(self, number: int) -> Row:
        """The row of a request, which waits no more."""
        self._together.forget(number)
        return self._request_row(self._pending.pop(number))

    def _event(self, event: Event) -> Iterator[Row]:
        if event.seq <= self._last:  # the broker was started again
            yield from self._rest()
        self._last = event.seq
        self._count += 1
        self._names |= topic_names([event])
        exchange = self._together.add(event)
        if isinstance(event, Request):
            assert exchange is not None
            self._pending[event.seq] = exchange
        elif isinstance(event, Answer):
            if exchange is not None:
                self._answered.append((self._count + WAITED_EVENTS, event.cause))
            yield self._answer_row(event, exchange)
        else:
            yield self._other_row(event)
        while self._answered and self._answered[0][0] <= self._count:
            number = self._answered.popleft()[1]
            if number in self._pending:
                yield self._end(number)
        if len(self._pending) > MOST_OPEN:
            yield self._end_next()

    def _request_row(self, exchange: Exchange) -> Row:
        request, answer = exchange.request, exchange.answer
        row = _row(request) | {name: getattr(request, name) for name in _OF_REQUEST}
        row |= {"api": request.api, "request": _json(request.fields)} | _owner(request.fields)
        row |= self._places(request.fields)
        row["undecoded"] = request.undecoded
        if answer is not None:
            row |= _outcome(answer)
        changes = [each for each in exchange.changes if not isinstance(each, Fault)]
        faults = [each for each in exchange.changes if isinstance(each, Fault)]
        row["changes"] = _json([_own(each) for each in changes])
        row["faults"] = _json([_own(each) for each in faults])
        return row

    def _answer_row(self, event: Answer, exchange: Exchange | None) -> Row:
        row = _row(event) | {"api": event.api} | _outcome(event)
        response = event.response or NO_FIELDS
        row |= {"response": _json(response), "undecoded": event.undecoded}
        row |= self._places(response)
        if exchange is not None:
            request = exchange.request
            row |= {name: getattr(request, name) for name in _OF_REQUEST}
            row |= _owner(request.fields)
        return row

    def _other_row(self, event: Event) -> Row:
        fields = fields_of(event)
        row = _row(event) | {name: fields.get(name) for name in ("node_id", "listener")}
        row["connection"] = fields.get("connection") or fields.get("connection_id")
        row |= _owner(fields) | self._places({"topics": [fields]} if "topic" in fields else {})
        column = "faults" if isinstance(event, Fault) else "changes"
        row[column] = _json([_own(event)])
        return row

    def _places(self, fields: Fields) -> Row:
        found = list(dict.fromkeys(places(fields, self._names)))
        return {
            "topics": list(dict.fromkeys(topic for topic, _ in found)),
            "partitions": [
                {"topic": topic, "partition": index} for topic, index in found if index is not None
            ],
        }


def _row(event: Event) -> Row:
    return {
        "sequence": event.seq, "time": event.at_ms, "kind": kind_of(event),
        "cause": event.cause or None,
    }  # fmt: skip


def _own(event: Event) -> Row:
    """The event without what other columns have."""
    return {name: each for name, each in fields_of(event).items() if name not in ("at_ms", "cause")}


def _json(value: object) -> str | None:
    return json.dumps(value, ensure_ascii=False) if value else None


def _outcome(answer: Answer) -> Row:
    return {
        "duration_ms": None if answer.took_us is None else answer.took_us / 1000,
        "error_codes": errors_of(answer),
        "unanswered": answer.unanswered,
    }


def _owner(fields: Fields) -> Row:
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


def places(fields: Fields, names: Names) -> Iterator[tuple[str, int | None]]:
    """Topics and partitions that fields name, at any depth; None for a topic alone."""
    for field in _TOPICS:
        for each in fields.get(field) or ():
            if isinstance(each, str) and field == "topics":
                if not each.startswith("... "):
                    yield each, None
            elif isinstance(each, Mapping):
                name = topic_name(each, names)
                if name and field not in ("markers", "groups", "transactions"):
                    yield from _of_topic(name, each)
                yield from places(each, names)


def _of_topic(name: str, topic: Fields) -> Iterator[tuple[str, int | None]]:
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
