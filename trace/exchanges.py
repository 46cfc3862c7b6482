"""A request, its answer, and what it changed, put together from the events of a trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..protocol.errors import Code
from .events import Answer, Event, Fields, Request

UNKNOWN_NODE: Final = -1
ON_THE_WAY_MS: Final = 50
"""The time that an answer needs to arrive."""
_CODE_OF_NAME: Final = {code.name: int(code) for code in Code}


class Exchange:
    """A request, its answer, and the events between and after them that it caused.

    What rules read of each request is an attribute, as properties took their time.

    Attributes:
        seq: the number of the request in the trace.
        at_ms: when the broker had read it.
        connection, client_id: as the request has them; empty if it has none.
        node_id: UNKNOWN_NODE in a capture of the network that does not show it.
        fields: of the decoded request.
        answer_seq, answered_at_ms: of the answer; 0 while there is none.
        response: the fields of the answer; None before it and if there is none.
        refused: the code that the whole request got instead of a body; 0 for none.
        unanswered: the broker gave no answer and never will.
        undecoded: why the request could not be read; empty if it could.
    """

    __slots__ = (
        "answer", "answer_seq", "answered_at_ms", "api", "at_ms", "changes", "client_id",
        "connection", "correlation_id", "fields", "node_id", "refused", "request", "response",
        "seq", "unanswered", "undecoded", "version",
    )  # fmt: skip

    def __init__(self, request: Request) -> None:
        self.request = request
        self.answer: Answer | None = None
        self.changes: list[Event] = []
        self.seq = request.seq
        self.at_ms = request.at_ms
        self.connection = request.connection or ""
        self.node_id = UNKNOWN_NODE if request.node_id is None else request.node_id
        self.client_id = request.client_id or ""
        self.api = request.api
        self.version = request.version
        self.correlation_id = -1 if request.correlation_id is None else request.correlation_id
        self.fields: Fields = request.fields
        self.undecoded = request.undecoded or ""
        self.answer_seq = 0
        self.answered_at_ms = 0
        self.response: Fields | None = None
        self.refused = 0
        self.unanswered = False

    def set_answer(self, answer: Answer) -> None:
        """The request was answered, or given up."""
        self.answer = answer
        self.answer_seq = answer.seq
        self.answered_at_ms = answer.at_ms
        self.response = answer.response
        self.refused = _CODE_OF_NAME.get(answer.error or "", 0)
        # A Produce with acks=0 has neither a response nor an error, and its client waits for none.
        self.unanswered = answer.unanswered is not None

    @property
    def is_answered(self) -> bool:
        """Whether an answer went out: a response, or an error for the whole request."""
        return self.answer_seq > 0 and not self.unanswered

    @property
    def error(self) -> int:
        """The error code for the whole answer; 0 for none."""
        return self.refused or int((self.response or {}).get("error_code") or 0)

    def follows(self, earlier: Exchange) -> bool:
        """Whether its client had the answer to an earlier request when it sent this one.

        A request that comes within a moment of the answer may have been on its way.
        """
        return self.at_ms >= earlier.answered_at_ms + ON_THE_WAY_MS

    def __str__(self) -> str:
        return f"{self.api} v{self.version} at {self.seq}"


class Exchanges:
    """Puts requests, answers and changes together, event by event."""

    def __init__(self) -> None:
        self._by_number: dict[int, Exchange] = {}

    def add(self, event: Event) -> Exchange | None:
        """The exchange that an event begins or belongs to; None if it belongs to none."""
        if isinstance(event, Request):
            return self.begin(event)
        found = self._by_number.get(event.cause)
        if found is not None:
            if isinstance(event, Answer):
                found.set_answer(event)
            else:
                found.changes.append(event)
        return found

    def begin(self, request: Request) -> Exchange:
        """The exchange of a new request."""
        exchange = self._by_number[request.seq] = Exchange(request)
        return exchange

    def end(self, answer: Answer) -> Exchange | None:
        """The exchange of an answer, which is forgotten here; None if its request is not known."""
        found = self._by_number.pop(answer.cause, None)
        if found is not None:
            found.set_answer(answer)
        return found

    def of(self, number: int) -> Exchange | None:
        """The exchange of a request by its number, unless it is forgotten."""
        return self._by_number.get(number)

    def forget(self, number: int) -> None:
        """What a request causes from now on belongs to no exchange."""
        self._by_number.pop(number, None)


def exchanges(events: Iterable[Event]) -> list[Exchange]:
    """The requests of a trace with all that they caused, in their order."""
    return [each for each in exchanges_and_others(events) if isinstance(each, Exchange)]


def exchanges_and_others(events: Iterable[Event]) -> list[Exchange | Event]:
    """Requests with all that they caused, and events without a request, in their order."""
    together = Exchanges()
    found: list[Exchange | Event] = []
    for event in events:
        exchange = together.add(event)
        if exchange is None:
            found.append(event)
        elif isinstance(event, Request):
            found.append(exchange)
    return found
