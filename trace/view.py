"""Shows a trace: a line for each request with what it changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from .events import (
    NO_FIELDS,
    OF_ALL,
    Answer,
    AnswerWithoutRequest,
    ClockAdvanced,
    ClockJumped,
    ConnectionClosed,
    ConnectionOpened,
    Decision,
    DecisionRefused,
    Event,
    Fault,
    Fields,
    GroupTransition,
    LeadersChanged,
    MarkerAppended,
    MetadataDecision,
    OffsetsMaterialized,
    RecordsAppended,
    Request,
    RuleAdded,
    RuleRemoved,
    fields_of,
)
from .exchanges import Exchange, exchanges_and_others
from .expected_errors import are_expected
from .messages import Names, errors_of, topic_names
from .phrases import count, span
from .wildcards import fits
from .words import asked, got

API_WIDTH: Final = 22
_INDENT: Final = 45  # behind the API
_NARROWEST: Final = 20
_SHOWN_LEADERS: Final = 3
_OF_TESTS: Final = (RuleAdded, RuleRemoved, ClockAdvanced, ClockJumped)


def lines_of(events: Iterable[Event], apis: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """The lines of a trace, each with its style: `fault`, `error`, `timer` or empty.

    Args:
        apis: patterns; requests of other APIs, connections, and what tests do with rules and with
            the clock, are left out. None: all.
    """
    known = list(events)
    names = topic_names(known)
    connections = Connections()
    for each in exchanges_and_others(known):
        if isinstance(each, Exchange):
            connections.count(each)
            if not apis or any(fits(pattern)(each.api) for pattern in apis):
                yield line_of(each, names)
        elif isinstance(each, ConnectionOpened | ConnectionClosed):
            text = connections.changed(each)
            if not apis:
                yield f"{start_of(each)}  {'':{API_WIDTH}} {text}", "timer"
        elif isinstance(each, MetadataDecision) or (apis and isinstance(each, _OF_TESTS)):
            continue
        else:
            yield f"{start_of(each)}  {'':{API_WIDTH}} {changed(each)}", "timer"


class Connections:
    """What is known of open connections, for the lines of their ends."""

    def __init__(self) -> None:
        self._opened: dict[str, tuple[int, int]] = {}  # when, and the number of requests

    def count(self, exchange: Exchange) -> None:
        """A request of a connection."""
        name = exchange.connection
        if name in self._opened:
            at_ms, count = self._opened[name]
            self._opened[name] = at_ms, count + 1

    def changed(self, event: ConnectionOpened | ConnectionClosed) -> str:
        """A connection was opened or closed."""
        name = event.connection
        broker, client = _ends_of(name)
        if isinstance(event, ConnectionOpened):
            self._opened[name] = event.at_ms, 0
            listener = f" ({event.listener})" if event.listener else ""
            return f"{client} connects to {broker}{listener}"
        if name not in self._opened:
            return f"{client} disconnects from {broker}"
        at_ms, count = self._opened.pop(name)
        after_s = (event.at_ms - at_ms) / 1000
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
    when = datetime.fromtimestamp(event.at_ms / 1000, UTC)
    return f"{event.seq:>6} {when:%H:%M:%S}.{when.microsecond // 1000:03}"


def line_of(exchange: Exchange, names: Names, client: str = "") -> tuple[str, str]:
    """The line of a request with its answer and its changes, and its style.

    Args:
        client: shown in place of the client id.
    """
    answer = exchange.answer
    name = f"{exchange.api} v{exchange.version}"
    client = client or exchange.client_id or "-"
    parts = [f"{start_of(exchange.request)}  {name:{API_WIDTH}}", f"{client:12}"]
    parts += [asked_in(exchange.request, names), f"-> {answered(exchange, names)}"]
    changes = [each for each in exchange.changes if not isinstance(each, MetadataDecision)]
    if changes:
        parts.append(f"[{_in_words(changes, answer)}]")
    if any(isinstance(each, Fault) for each in changes):
        style = "fault"
    else:
        style = "error" if answer is not None and _is_refused(exchange.api, answer) else ""
    return " ".join(each for each in parts if each), style


def asked_in(request: Request, names: Names) -> str:
    """What a request asks for, or why that is not known."""
    if request.undecoded is not None:
        return f"({request.undecoded})"
    return asked(request.api, request.fields, names)


def answered(exchange: Exchange, names: Names) -> str:
    """The fate of a request, without its changes."""
    answer = exchange.answer
    if answer is None:
        return "no answer yet"
    if answer.unanswered is not None:
        return f"no answer: {answer.unanswered}"
    took = f"{(answer.took_us or 0) / 1000:.1f} ms"
    if answer.undecoded is not None:
        return f"({answer.undecoded}) {took}"
    if answer.response is None and answer.error is None:
        return "no answer is wanted (acks=0)" if exchange.api == "Produce" else f"ok {took}"
    response = answer.response or NO_FIELDS
    said = got(exchange.api, exchange.version, response, names, request=exchange.fields)
    return f"{', '.join(errors_of(answer)) or 'ok'} {took}" + (f": {said}" if said else "")


def _is_refused(api: str, answer: Answer) -> bool:
    """Whether there is no answer, or one with an error that a healthy client does not expect."""
    errors = errors_of(answer)
    return answer.unanswered is not None or (bool(errors) and not are_expected(api, errors))


def _in_words(changes: list[Event], answer: Answer | None) -> str:
    """What a request changed; `later:` stands before the first change after its answer."""
    ends = len(changes)
    if answer is not None:
        ends = sum(each.seq < answer.seq for each in changes)
    told = [changed(each) for each in changes]
    if ends < len(told):
        told[ends] = f"later: {told[ends]}"
    return "; ".join(told)


def changed(event: Event) -> str:
    """What an event says, in a few words."""
    match event:
        case Fault():
            return _fault(event)
        case RuleAdded():
            return _rule(event)
        case RuleRemoved():
            return f"rule {event.id} removed, which acted {count(event.fired, 'time')}"
        case Decision():
            return _decision(event)
        case RecordsAppended():
            return f"{event.topic}-{event.partition} ends at {event.log_end_offset}"
        case MarkerAppended():
            what = "commit" if event.commit else "abort"
            return f"{what} marker in {event.topic}-{event.partition}"
        case GroupTransition():
            return f"group {event.group_id}: {event.before} -> {event.after}"
        case OffsetsMaterialized():
            return f"offsets {'committed' if event.commit else 'dropped'} by the marker"
        case AnswerWithoutRequest():
            return f"an answer of {event.bytes} bytes to a request before the capture"
        case DecisionRefused():
            return f"refused: {event.code}"
        case LeadersChanged():
            return _leaders(event.topic, event.leaders)
        case ClockAdvanced():
            by = f", moved by {event.moved_by}" if event.moved_by else ""
            return f"the clock moves forward by {span(event.by_ms)}{by}"
        case ClockJumped():
            where = "forward" if event.by_ms > 0 else "back"
            return f"the wall clock is set {where} by {span(abs(event.by_ms))}"
        case _:
            return _any(event)


def _any(event: Event) -> str:
    fields = fields_of(event)
    told = [f"{name}={value}" for name, value in fields.items() if name not in OF_ALL]
    return f"{fields['kind']} " + " ".join(told)


def _fault(event: Fault) -> str:
    """The rule, what it does, and where in the broker, if it is not the request above."""
    name = f" {event.name}" if event.name else ""
    at = f" at {event.action['point']}" if event.action["kind"] == "crash" else ""
    node = f", node {event.node_id}" if event.node_id is not None else ""
    return f"fault {event.id}{name}: {event.action['kind']}{at}{node}"


def _rule(event: RuleAdded) -> str:
    """The rule, who added it, what it does, and for what."""
    name = f" {event.name}" if event.name else ""
    by = f" by {event.added_by}" if event.added_by else ""
    match = "".join(f" {each}={value}" for each, value in event.match.items())
    what = f"{action_text(event.action)} for{match or ' all requests'}"
    return f"rule {event.id}{name} added{by}: {what}"


def action_text(action: Fields) -> str:
    """What a rule does, with its parameters: `error code=NOT_COORDINATOR`."""
    parameters = (f" {name}={value}" for name, value in action.items() if name != "kind")
    return f"{action.get('kind')}{''.join(parameters)}"


def _decision(event: Decision) -> str:
    told = [_record(record) for record in event.records[:3]]
    more = event.count - len(told)
    by = "timer: " if event.by_timer else ""
    return by + ", ".join(told) + (f" and {more} more" if more > 0 else "")


def _leaders(topic: str, leaders: list[list[int]]) -> str:
    """The partitions whose leader epoch is above the lowest one; all if there is no difference."""
    lowest = min((epoch for _, epoch in leaders), default=0)
    moved = [(index, *each) for index, each in enumerate(leaders) if each[1] > lowest]
    moved = moved or [(index, *each) for index, each in enumerate(leaders)]
    told = [f"{topic}-{index} led by {leader}" for index, leader, _ in moved[:_SHOWN_LEADERS]]
    more = len(moved) - len(told)
    return ", ".join(told) + (f" and {more} more" if more else "")


def _record(record: object) -> str:
    if not isinstance(record, dict) or "type" not in record:  # of a cut list
        return str(record)
    if record["type"] == "Transaction":
        before = f"{record['before']} -> " if record.get("before") else ""
        return f"{record['transactional_id']}: {before}{record['after']}"
    group = f" of {record['group_id']}" if record.get("group_id") else ""
    if "topic" in record and "partition" in record:
        offset = f" at {record['offset']}" if "offset" in record else ""
        return f"{record['type']}{group} {record['topic']}-{record['partition']}{offset}"
    return f"{record['type']}{group}"
