"""The events of a trace as exchanges: a request, its connection, and its answer.

A trace is made by the lab (`lab/trace.py`) or read from a capture. Its events are dicts of JSON
values; docs/reference/lab describes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..protocol.errors import Code

Event = Mapping[str, Any]
Fields = Mapping[str, Any]
NO_FIELDS: Final[Fields] = {}
UNKNOWN_NODE: Final = -1
ON_THE_WAY_MS: Final = 50
"""The time that an answer needs to arrive."""
_CODE_OF_NAME: Final = {code.name: int(code) for code in Code}


@dataclass(eq=False, slots=True)
class Exchange:
    """A request and what came back.

    Attributes:
        seq: the number of the request in the trace.
        at_ms: when the broker had read it.
        client_id: as the client sent it; empty if it sent none.
        fields: of the decoded request.
        answer_seq, answered_at_ms: of the answer; 0 while there is none.
        response: the fields of the answer; None before it and if there is none.
        refused: the code that the whole request got instead of a body; 0 for none.
        unanswered: the broker gave no answer and never will.
        undecoded: why the request could not be read; empty if it could.
    """

    seq: int
    at_ms: int
    connection: str
    node_id: int
    client_id: str
    api: str
    version: int
    correlation_id: int
    fields: Fields
    answer_seq: int = 0
    answered_at_ms: int = 0
    response: Fields | None = None
    refused: int = 0
    unanswered: bool = False
    undecoded: str = ""

    @property
    def is_answered(self) -> bool:
        """Whether an answer went out: a response, or an error for the whole request."""
        return self.answer_seq > 0 and not self.unanswered

    @property
    def error(self) -> int:
        """The error code for the whole answer; 0 for none."""
        return self.refused or int((self.response or NO_FIELDS).get("error_code") or 0)

    def follows(self, earlier: Exchange) -> bool:
        """Whether its client had the answer to an earlier request when it sent this one.

        A request that comes within a moment of the answer may have been on its way.
        """
        return self.at_ms >= earlier.answered_at_ms + ON_THE_WAY_MS

    def __str__(self) -> str:
        return f"{self.api} v{self.version} at {self.seq}"


class Asked(NamedTuple):
    """A request came in."""

    exchange: Exchange


class Answered(NamedTuple):
    """The broker answered a request, or gave it up."""

    exchange: Exchange


class Opened(NamedTuple):
    """A client connected."""

    connection: str
    node_id: int
    at_ms: int


class Closed(NamedTuple):
    """A connection ended."""

    connection: str
    at_ms: int


Step = Asked | Answered | Opened | Closed


def step_of(event: Event, waiting: dict[int, Exchange]) -> Step | None:
    """The step of an event; None for other kinds of events.

    Args:
        waiting: the exchanges without an answer by their numbers, which this function keeps.
    """
    kind = event["kind"]
    if kind == "request":
        exchange = _exchange(event)
        waiting[exchange.seq] = exchange
        return Asked(exchange)
    if kind == "answer":
        answered = waiting.pop(event.get("cause", 0), None)
        if answered is None:
            return None
        _set_answer(answered, event)
        return Answered(answered)
    if kind == "connection_opened":
        return Opened(_connection(event), _node_id(event), event["at_ms"])
    if kind == "connection_closed":
        return Closed(_connection(event), event["at_ms"])
    return None


def _connection(event: Event) -> str:
    return str(event.get("connection") or event.get("connection_id") or "")


def _node_id(event: Event) -> int:
    """The node; UNKNOWN_NODE in a capture of the network that does not show it."""
    found = event.get("node_id")
    return UNKNOWN_NODE if found is None else int(found)


def _exchange(event: Event) -> Exchange:
    fields = event.get("request")
    return Exchange(
        seq=event["seq"],
        at_ms=event["at_ms"],
        connection=_connection(event),
        node_id=_node_id(event),
        client_id=event.get("client_id") or "",
        api=event["api"],
        version=event["version"],
        correlation_id=event.get("correlation_id", -1),
        fields=fields if isinstance(fields, dict) else NO_FIELDS,
        undecoded=event.get("undecoded", ""),
    )


def _set_answer(exchange: Exchange, event: Event) -> None:
    exchange.answer_seq = event["seq"]
    exchange.answered_at_ms = event["at_ms"]
    response = event.get("response")
    exchange.response = response if isinstance(response, dict) else None
    exchange.refused = _CODE_OF_NAME.get(event.get("error", ""), 0)
    # A Produce with acks=0 has neither a response nor an error, and its client waits for none.
    exchange.unanswered = "unanswered" in event
