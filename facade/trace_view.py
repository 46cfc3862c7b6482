"""Shows a trace: a line for each request with what it changed, or transactions in lanes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final

Event = dict[str, Any]
_QUIET: Final = frozenset({"connection_opened", "connection_closed", "metadata_decision"})
_OF_INTEREST: Final = (
    "transactional_id", "v3_and_below_transactional_id", "group_id", "member_id", "key",
)  # fmt: skip
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
            if not isinstance(event, dict) or "seq" not in event or "kind" not in event:
                raise ValueError
        except ValueError:
            broken = number
            continue
        yield event
    if broken == 1:
        raise BrokenTrace("line 1 is no event of a trace")


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
        apis: patterns; requests of other APIs are left out. None: all.
    """
    for each in exchanges(events):
        if isinstance(each, Exchange):
            name = each.request["api"]
            if not apis or any(fnmatchcase(name, pattern) for pattern in apis):
                yield _line(each)
        elif each["kind"] not in _QUIET:
            yield f"{_start(each)}  {'':22} {changed(each)}", "timer"


def _start(event: Event) -> str:
    when = datetime.fromtimestamp(event["at_ms"] / 1000, UTC)
    return f"{event['seq']:>6} {when:%H:%M:%S}.{when.microsecond // 1000:03}"


def _line(exchange: Exchange) -> tuple[str, str]:
    request, answer = exchange.request, exchange.answer
    name = f"{request['api']} v{request['version']}"
    parts = [f"{_start(request)}  {name:22}", f"{request.get('client_id') or '-':12}"]
    parts += about(request.get("request") or {})
    style = ""
    faults = [each for each in exchange.changes if each["kind"] == "fault"]
    if answer is None:
        parts.append("-> no answer yet")
    elif "unanswered" in answer:
        parts.append(f"-> no answer: {answer['unanswered']}")
        style = "error"
    else:
        refused = [answer["error"]] if "error" in answer else []
        codes = errors_in(answer.get("response")) or refused
        parts.append(f"-> {', '.join(codes) or 'ok'} {answer['took_us'] / 1000:.1f} ms")
        style = "error" if codes else ""
    changes = [each for each in exchange.changes if each["kind"] not in _QUIET]
    if changes:
        parts.append(f"[{_in_words(changes, answer)}]")
    return " ".join(parts), "fault" if faults else style


def _in_words(changes: list[Event], answer: Event | None) -> str:
    """What a request changed; `later:` stands before the first change after its answer."""
    ends = len(changes)
    if answer is not None:
        ends = sum(each["seq"] < answer["seq"] for each in changes)
    told = [changed(each) for each in changes]
    if ends < len(told):
        told[ends] = f"later: {told[ends]}"
    return "; ".join(told)


def about(request: Mapping[str, Any]) -> list[str]:
    """What a request is about, in a few words."""
    found = [f"{request[name]}" for name in _OF_INTEREST if request.get(name) not in (None, "")]
    if "committed" in request:
        found.append("commit" if request["committed"] else "abort")
    for batch in request.get("batches") or ():
        base_sequence = batch.get("base_sequence", -1)
        sequence = f" seq {base_sequence}+{batch['records']}" if base_sequence >= 0 else ""
        found.append(f"{batch['topic']}-{batch['partition']}{sequence}")
    return found


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
    from ottla.protocol.errors import Code

    return {int(code): code.name for code in Code}


def changed(event: Event) -> str:
    """What an event says, in a few words."""
    kind = event["kind"]
    if kind == "fault":
        name = f" {event['name']}" if event.get("name") else ""
        return f"fault {event['id']}{name}: {event['action']['kind']}"
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
    if kind == "decision_refused":
        return f"refused: {event['code']}"
    if kind == "leaders_changed":
        return _leaders(event["topic"], event["leaders"])
    fields = {name: value for name, value in event.items() if name not in _COMMON}
    return f"{kind} " + " ".join(f"{name}={value}" for name, value in fields.items())


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
    return str(record["type"])


def lanes(events: Iterable[Event]) -> Iterator[str]:
    """The transactions of a trace, a column for each transactional id."""
    found = list(events)
    ids = sorted(
        {
            record["transactional_id"]
            for event in found
            if event["kind"] == "decision"
            for record in event["records"]
            if record["type"] == "Transaction"
        }
    )
    width = max([16, *(len(each) + 2 for each in ids)])
    yield f"{'':20}" + "".join(f"{each:{width}}" for each in ids)
    for event in found:
        if event["kind"] != "decision":
            continue
        for record in event["records"]:
            if record["type"] == "Transaction":
                column = ids.index(record["transactional_id"])
                lane = "".join(f"{'|':{width}}" for _ in range(column))
                rest = "".join(f"{'|':{width}}" for _ in range(len(ids) - column - 1))
                yield f"{_start(event):20}{lane}{record['after']:{width}}{rest}".rstrip()
