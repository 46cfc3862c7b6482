"""Shows a trace: a line for each request with what it changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from .patterns import fits
from .words import Names, asked, got, topic_names

Event = dict[str, Any]
_QUIET: Final = frozenset({"metadata_decision"})
_CONNECTIONS: Final = frozenset({"connection_opened", "connection_closed"})
API_WIDTH: Final = 22
_INDENT: Final = 45  # behind the API
_NARROWEST: Final = 20
_SHOWN_LEADERS: Final = 3


class BrokenTrace(Exception):
    """A file is no trace; the text names the line."""


def read_trace(lines: Iterable[str]) -> Iterator[Event]:
    """The events of a file; a last line that is cut is left out. Raises BrokenTrace."""
    broken = 0
    for number, line in enumerate(lines, 1):
        if broken:
            raise BrokenTrace(f"line {broken} is no event of a trace")
        try:
            event = json.loads(line)
            if not _is_event(event):
                raise ValueError
        except ValueError:
            broken = number
            continue
        yield event
    if broken == 1:
        raise BrokenTrace("line 1 is no event of a trace")


def of_one_broker(events: Iterable[Event]) -> Iterator[Event]:
    """The same events, whose numbers grow. Raises BrokenTrace if another trace begins."""
    last = 0
    for event in events:
        if event["seq"] <= last:
            raise BrokenTrace(f"another trace begins in it: seq {event['seq']} is behind {last}")
        last = event["seq"]
        yield event


def _is_event(event: object) -> bool:
    if not isinstance(event, dict):
        return False
    needed = {"seq": int, "at_ms": int, "kind": str}
    if event.get("kind") == "request":
        needed |= {"api": str, "version": int}
    return all(isinstance(event.get(name), kind) for name, kind in needed.items())


class Exchange:
    """A request, its answer, and the events between."""

    def __init__(self, request: Event) -> None:
        self.request = request
        self.answer: Event | None = None
        self.changes: list[Event] = []


def exchanges(events: Iterable[Event]) -> Iterator[Exchange | Event]:
    """Requests with what they caused, in their order, and events without a request."""
    found: list[Exchange | Event] = []
    by_number: dict[int, Exchange] = {}
    for event in events:
        cause = by_number.get(event.get("cause", 0))
        if event["kind"] == "request":
            exchange = by_number[event["seq"]] = Exchange(event)
            found.append(exchange)
        elif cause is None:
            found.append(event)
        elif event["kind"] == "answer":
            cause.answer = event
        else:
            cause.changes.append(event)
    return iter(found)


def lines_of(events: Iterable[Event], apis: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """The lines of a trace, each with its style: `fault`, `error`, `timer` or empty.

    Args:
        apis: patterns; requests of other APIs, and connections, are left out. None: all.
    """
    known = list(events)
    names = topic_names(known)
    connections = Connections()
    for each in exchanges(known):
        if isinstance(each, Exchange):
            connections.count(each.request)
            name = each.request["api"]
            if not apis or any(fits(pattern)(name) for pattern in apis):
                yield line_of(each, names)
        elif each["kind"] in _CONNECTIONS:
            text = connections.changed(each)
            if not apis:
                yield f"{start_of(each)}  {'':{API_WIDTH}} {text}", "timer"
        elif each["kind"] not in _QUIET:
            yield f"{start_of(each)}  {'':{API_WIDTH}} {changed(each)}", "timer"


class Connections:
    """What is known of open connections, for the lines of their ends."""

    def __init__(self) -> None:
        self._opened: dict[str, tuple[int, int]] = {}  # when, and the number of requests

    def count(self, request: Event) -> None:
        """A request of a connection."""
        name = request.get("connection", "")
        if name in self._opened:
            at_ms, count = self._opened[name]
            self._opened[name] = at_ms, count + 1

    def changed(self, event: Event) -> str:
        """A connection was opened or closed."""
        name = event["connection_id"]
        broker, client = _ends_of(name)
        if event["kind"] == "connection_opened":
            self._opened[name] = event["at_ms"], 0
            listener = f" ({event['listener']})" if event.get("listener") else ""
            return f"{client} connects to {broker}{listener}"
        if name not in self._opened:
            return f"{client} disconnects from {broker}"
        at_ms, count = self._opened.pop(name)
        after_s = (event["at_ms"] - at_ms) / 1000
        requests = f"{count} request{'' if count == 1 else 's'}"
        return f"{client} disconnects from {broker} after {after_s:.1f} s, {requests}"


def _ends_of(connection_id: str) -> tuple[str, str]:
    """The broker's and the client's address in the name of a connection."""
    broker, _, client = connection_id.rpartition("-")[0].rpartition("-")
    return (broker, client) if broker else (connection_id, connection_id)


def folded(text: str, width: int | None) -> list[str]:
    """A line as the lines of a terminal; further ones are indented.

    Args:
        width: of the terminal; None: it is not folded.
    """
    if width is None or len(text) <= width:
        return [text]
    from textwrap import wrap

    indent = _INDENT if width >= 2 * _INDENT else width // 8
    return wrap(
        text, max(width, _NARROWEST), subsequent_indent=" " * indent, break_on_hyphens=False,
        drop_whitespace=True, replace_whitespace=False, expand_tabs=False,
    )  # fmt: skip


def start_of(event: Event) -> str:
    """Number and time of an event."""
    when = datetime.fromtimestamp(event["at_ms"] / 1000, UTC)
    return f"{event['seq']:>6} {when:%H:%M:%S}.{when.microsecond // 1000:03}"


def line_of(exchange: Exchange, names: Names) -> tuple[str, str]:
    """The line of a request with its answer and its changes, and its style."""
    request, answer = exchange.request, exchange.answer
    name = f"{request['api']} v{request['version']}"
    parts = [f"{start_of(request)}  {name:{API_WIDTH}}", f"{request.get('client_id') or '-':12}"]
    parts += [asked_in(request, names), f"-> {answered(request, answer, names)}"]
    faults = [each for each in exchange.changes if each["kind"] == "fault"]
    changes = [each for each in exchange.changes if each["kind"] not in _QUIET]
    if changes:
        parts.append(f"[{_in_words(changes, answer)}]")
    style = "fault" if faults else "error" if answer is not None and _is_refused(answer) else ""
    return " ".join(each for each in parts if each), style


def asked_in(request: Event, names: Names) -> str:
    """What a request asks for, or why that is not known."""
    if "undecoded" in request:
        return f"({request['undecoded']})"
    return asked(request["api"], request.get("request") or {}, names)


def answered(request: Event, answer: Event | None, names: Names) -> str:
    """The fate of a request, without its changes."""
    if answer is None:
        return "no answer yet"
    if "unanswered" in answer:
        return f"no answer: {answer['unanswered']}"
    took = f"{answer['took_us'] / 1000:.1f} ms"
    if "undecoded" in answer:
        return f"({answer['undecoded']}) {took}"
    if "response" not in answer and "error" not in answer:
        return "no answer is wanted (acks=0)" if request["api"] == "Produce" else f"ok {took}"
    response = answer.get("response") or {}
    codes = _codes(answer)
    said = _got(request, response, names) if isinstance(response, dict) else ""
    return f"{', '.join(codes) or 'ok'} {took}" + (f": {said}" if said else "")


def _got(request: Event, response: Event, names: Names) -> str:
    return got(request["api"], request["version"], response, names)


def _codes(answer: Event) -> list[str]:
    return errors_in(answer.get("response")) or ([answer["error"]] if "error" in answer else [])


def _is_refused(answer: Event) -> bool:
    return "unanswered" in answer or bool(_codes(answer))


def _in_words(changes: list[Event], answer: Event | None) -> str:
    """What a request changed; `later:` stands before the first change after its answer."""
    ends = len(changes)
    if answer is not None:
        ends = sum(each["seq"] < answer["seq"] for each in changes)
    told = [changed(each) for each in changes]
    if ends < len(told):
        told[ends] = f"later: {told[ends]}"
    return "; ".join(told)


def errors_in(response: object) -> list[str]:
    """The names of the error codes in an answer, each once."""
    found: dict[str, None] = {}
    names = _names()

    def look(value: object) -> None:
        if isinstance(value, dict):
            for name, each in value.items():
                if name.endswith("error_code") and isinstance(each, int):
                    if each:
                        found[names.get(each, str(each))] = None
                else:
                    look(each)
        elif isinstance(value, list):
            for each in value:
                look(each)

    look(response)
    return list(found)


@cache
def _names() -> dict[int, str]:
    from ..protocol.errors import Code

    return {int(code): code.name for code in Code}


def changed(event: Event) -> str:
    """What an event says, in a few words."""
    kind = event["kind"]
    if kind == "fault":
        return _fault(event)
    if kind == "decision":
        told = [_record(record) for record in event["records"][:3]]
        more = event["count"] - len(told)
        by = "timer: " if event.get("by_timer") else ""
        return by + ", ".join(told) + (f" and {more} more" if more > 0 else "")
    if kind == "records_appended":
        return f"{event['topic']}-{event['partition']} ends at {event['log_end_offset']}"
    if kind == "marker_appended":
        what = "commit" if event["commit"] else "abort"
        return f"{what} marker in {event['topic']}-{event['partition']}"
    if kind == "group_transition":
        return f"group {event['group_id']}: {event['before']} -> {event['after']}"
    if kind == "offsets_materialized":
        return f"offsets {'committed' if event['commit'] else 'dropped'} by the marker"
    if kind == "answer_without_request":
        return f"an answer of {event['bytes']} bytes to a request before the capture"
    if kind == "decision_refused":
        return f"refused: {event['code']}"
    if kind == "leaders_changed":
        return _leaders(event["topic"], event["leaders"])
    fields = {name: value for name, value in event.items() if name not in _COMMON}
    return f"{kind} " + " ".join(f"{name}={value}" for name, value in fields.items())


def _fault(event: Event) -> str:
    """The rule, what it does, and where in the broker, if it is not the request above."""
    name = f" {event['name']}" if event.get("name") else ""
    action = event["action"]
    at = f" at {action['point']}" if action["kind"] == "crash" else ""
    node = f", node {event['node_id']}" if event.get("node_id") is not None else ""
    return f"fault {event['id']}{name}: {action['kind']}{at}{node}"


_COMMON: Final = frozenset({"seq", "at_ms", "kind", "cause"})


def _leaders(topic: str, leaders: list[list[int]]) -> str:
    """The partitions whose leader epoch is above the lowest one; all if there is no difference."""
    lowest = min((epoch for _, epoch in leaders), default=0)
    moved = [(index, *each) for index, each in enumerate(leaders) if each[1] > lowest]
    moved = moved or [(index, *each) for index, each in enumerate(leaders)]
    told = [f"{topic}-{index} led by {leader}" for index, leader, _ in moved[:_SHOWN_LEADERS]]
    more = len(moved) - len(told)
    return ", ".join(told) + (f" and {more} more" if more else "")


def _record(record: Mapping[str, Any]) -> str:
    if record["type"] == "Transaction":
        before = f"{record['before']} -> " if record.get("before") else ""
        return f"{record['transactional_id']}: {before}{record['after']}"
    group = f" of {record['group_id']}" if record.get("group_id") else ""
    if "topic" in record and "partition" in record:
        offset = f" at {record['offset']}" if "offset" in record else ""
        return f"{record['type']}{group} {record['topic']}-{record['partition']}{offset}"
    return f"{record['type']}{group}"
