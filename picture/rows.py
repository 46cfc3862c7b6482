"""The rows of a picture: what happened, from top to bottom.

A row is a request with its answer, or what it changed. An answer that comes right behind its
request, with nothing but appends between, shares the row; another has a row of its own. So a row
can have several events, whose numbers follow each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..trace.events import (
    Answer,
    ClockAdvanced,
    ClockJumped,
    ConnectionClosed,
    ConnectionOpened,
    Decision,
    DecisionRefused,
    Event,
    Fault,
    GroupTransition,
    LeadersChanged,
    MarkerAppended,
    MetadataDecision,
    OffsetsMaterialized,
    RecordsAppended,
    Request,
    RuleAdded,
    RuleRemoved,
    kind_of,
)
from ..trace.exchanges import Exchange, Exchanges
from ..trace.messages import Names, errors_of, structs
from ..trace.owners import client_of
from ..trace.phrases import few
from ..trace.view import Connections, answered, asked_in, changed
from .contents import fetched_content, produced_content

MOST_CHARACTERS: Final = 400
"""Of the text of a row; the fields of the event have all of it."""
# What a row shows, by the letter that the page draws.
REQUEST: Final = "q"
ANSWER: Final = "a"
EXCHANGE: Final = "x"
FAULT: Final = "f"
STATE: Final = "s"
COMMIT: Final = "c"
ABORT: Final = "b"
APPEND: Final = "r"
CONNECTION: Final = "n"
RULE: Final = "u"
CLOCK: Final = "t"
OTHER: Final = "o"
_MARKS: Final[dict[type[Event], str]] = {
    Fault: FAULT, Decision: STATE, GroupTransition: STATE, LeadersChanged: STATE, RuleAdded: RULE,
    RuleRemoved: RULE, ClockAdvanced: CLOCK, ClockJumped: CLOCK, RecordsAppended: APPEND,
}  # fmt: skip
_WITH_NODES: Final = ("Metadata", "DescribeCluster")


@dataclass(slots=True)
class Row:
    """What one row shows.

    Attributes:
        event: the first one, whose number and time the row has.
        last_seq: the number of its last event.
        mark: one of the letters above.
        text: a sentence.
        is_error: whether an answer has an error code, or never comes.
        is_usual: whether its errors are those that a healthy client expects.
        exchange: the request, with its answer as far as the trace has it; None for other events.
        errors: the names of error codes.
        request_row: of an answer, or of what a request caused: the row of the request, else -1.
        answer_row: of a request whose answer is not in its row: the row of the answer, else -1.
        count: of the events in the row.
    """

    event: Event
    last_seq: int
    mark: str
    text: str
    is_error: bool = False
    is_usual: bool = False
    exchange: Exchange | None = None
    errors: list[str] = field(default_factory=list)
    request_row: int = -1
    answer_row: int = -1
    count: int = 1

    @property
    def is_trouble(self) -> bool:
        """Whether the row has an error that a healthy client does not expect."""
        return self.is_error and not self.is_usual

    @property
    def request(self) -> Request | None:
        """The request of the row."""
        return None if self.exchange is None else self.exchange.request

    def include(self, event: Event) -> None:
        """Add an event that follows those of the row."""
        self.last_seq = event.seq
        self.count += 1

    def note(self, text: str) -> None:
        """Add what other events say of this one."""
        self.text = cut(f"{self.text} · {text}")


class Rows:
    """Makes rows of events, one after the other.

    Args:
        names: the topics' names by id.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._together = Exchanges()
        self._connections = Connections()
        self._rows_of_requests: dict[int, int] = {}
        self._refused: dict[int, list[Row]] = {}  # refusals of coordinators, by request
        self._says_node = False
        self.rows: list[Row] = []

    def add_all(self, events: Iterable[Event]) -> list[Row]:
        """The rows of the events of a trace; of several nodes a request says which one it asks."""
        whole = list(events)
        self._says_node = len(_nodes_in(whole)) > 1
        for event in whole:
            self._add(event)
        return self.rows

    def _add(self, event: Event) -> None:
        exchange = self._together.add(event)
        if isinstance(event, Request):
            assert exchange is not None
            self._connections.count(exchange)
            self._rows_of_requests[event.seq] = len(self.rows)
            self.rows.append(self._of_request(event, exchange))
        elif isinstance(event, Answer):
            self._add_answer(event, exchange)
        elif isinstance(event, RecordsAppended) and self.rows and self._is_detail(event):
            self.rows[-1].include(event)
        else:
            row = self._of_change(event)
            row.request_row = self._rows_of_requests.get(event.cause, -1)
            if isinstance(event, DecisionRefused):
                self._refused.setdefault(event.cause, []).append(row)
            self.rows.append(row)

    def _is_detail(self, event: RecordsAppended) -> bool:
        """Whether an append belongs to the row before: its request, or the log of a coordinator."""
        row = self.rows[-1]
        return event.topic.startswith("__") or (
            row.mark == REQUEST and row.exchange is not None and row.exchange.seq == event.cause
        )

    def _of_request(self, event: Request, exchange: Exchange) -> Row:
        said = asked_in(event, self._names)
        content = produced_content(event.fields) if event.api == "Produce" else ""
        node = f"(node {event.node_id})" if self._says_node and event.node_id is not None else ""
        epoch = event.fields.get("producer_epoch") if event.api == "EndTxn" else None
        whose = "" if epoch is None else f"epoch {epoch}"
        text = cut(" ".join(each for each in (event.api, said, whose, content, node) if each))
        return Row(
            event, event.seq, REQUEST, text, is_error=event.undecoded is not None, exchange=exchange
        )

    def _add_answer(self, event: Answer, exchange: Exchange | None) -> None:
        errors = errors_of(event)
        is_error = bool(errors) or event.unanswered is not None
        number = self._rows_of_requests.get(event.cause, -1)
        for refused in self._refused.pop(event.cause, ()):
            refused.is_error = not errors  # of one refusal the answer is the error
        if exchange is None or number < 0:
            api = event.api or "a request"
            text = f"answer to {api}, which is before the trace"
            self.rows.append(Row(event, event.seq, ANSWER, text, is_error=is_error, errors=errors))
            return
        said = answered(exchange, self._names)
        if exchange.api == "Fetch":
            content = fetched_content(exchange.fields, exchange.response, self._names)
            said = f"{said} {content}".rstrip()
        request_row = self.rows[number]
        if number == len(self.rows) - 1:
            request_row.mark = EXCHANGE
            request_row.text = cut(f"{request_row.text} → {said}")
            request_row.include(event)
            request_row.is_error |= is_error
            request_row.errors = errors
            return
        request_row.answer_row = len(self.rows)
        text = cut(f"← {exchange.api}: {said}")
        row = Row(
            event, event.seq, ANSWER, text, is_error=is_error, exchange=exchange, errors=errors
        )
        row.request_row = number
        self.rows.append(row)

    def _of_change(self, event: Event) -> Row:
        match event:
            case DecisionRefused():
                return Row(
                    event, event.seq, STATE, cut(changed(event)), is_error=True, errors=[event.code]
                )
            case MarkerAppended() | OffsetsMaterialized():
                mark = COMMIT if event.commit else ABORT
                return Row(event, event.seq, mark, cut(changed(event)))
            case ConnectionOpened() | ConnectionClosed():
                return Row(event, event.seq, CONNECTION, cut(self._connections.changed(event)))
            case MetadataDecision():
                return Row(event, event.seq, OTHER, cut(f"metadata: {_kinds(event)}"))
            case _:
                mark = _MARKS.get(type(event), OTHER)
                return Row(event, event.seq, mark, cut(changed(event)))


def _nodes_in(events: Iterable[Event]) -> set[int]:
    """The nodes that were asked, and those that answers and changes of leaders name."""
    found: set[int] = set()
    for event in events:
        if isinstance(event, Request) and event.node_id is not None:
            found.add(event.node_id)
        elif isinstance(event, Answer) and event.api in _WITH_NODES:
            nodes = (each.get("node_id", each.get("broker_id")) for each in
                     structs(event.response, "brokers"))  # fmt: skip
            found |= {each for each in nodes if isinstance(each, int)}
        elif isinstance(event, LeadersChanged):
            found |= {each[0] for each in event.leaders if each and each[0] >= 0}
    return found


def _kinds(event: MetadataDecision) -> str:
    """The kinds of the records, each once."""
    kinds = (str(each.get("type", "?")) for each in event.records if isinstance(each, dict))
    return few(dict.fromkeys(kinds))


def cut(text: str) -> str:
    """A text that fits into a row."""
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


def kind_of_row(row: Row) -> str:
    """The kind of the first event of a row."""
    return kind_of(row.event)


def api_and_client(row: Row) -> tuple[str, str]:
    """The API and the client of a row, by which a reader filters; empty for none."""
    request = row.request
    return ("", "") if request is None else (request.api, client_of(request))


def told_in(rows: Sequence[Row], number: int) -> Row:
    """The row that has the answer to a request, which may be the request's own.

    Args:
        number: of the row of the request.
    """
    row = rows[number]
    return row if row.answer_row < 0 else rows[row.answer_row]


def requests_of(rows: Iterable[Row]) -> Iterator[tuple[int, Exchange]]:
    """The number of the row and the exchange of each request."""
    for number, row in enumerate(rows):
        if row.exchange is not None and isinstance(row.event, Request):
            yield number, row.exchange
