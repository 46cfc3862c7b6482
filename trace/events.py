"""The lines of a trace as structs: what the lab writes, and what every reader gets.

A line is a JSON object with `seq`, `at_ms` and `kind`, mostly with `cause`, and with the fields of
its kind; docs/reference/lab describes them. `fields_of` makes the object of an event, and
`event_of` makes the event again. Reading is tolerant, because a file may be older or newer than
this code: a field that is missing has its default, one that is not known is left out, and a kind
without a struct becomes an `Other`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Final, TypeAlias

import msgspec
from msgspec import Struct, field

Fields = Mapping[str, Any]
"""Fields of a message, of a record or of a line, by their names."""
NO_FIELDS: Final[Fields] = {}
_WORD: Final = re.compile(r"(?<!^)(?=[A-Z])")


class BrokenTrace(Exception):
    """A file is no trace; the text names the line."""


@cache
def kind_named(name: str) -> str:
    """The kind of the events of a class: `records_appended` for RecordsAppended."""
    return _WORD.sub("_", name).lower()


class Event(Struct, kw_only=True):
    """What all lines have.

    Attributes:
        seq: the number of the event in its trace; 0 before it is written.
        at_ms: the wall time.
        cause: the number of the request in whose steps it happened; 0 for none.
    """

    LEFT_OUT: ClassVar[frozenset[str]] = frozenset()
    """The fields which a line has only if they are not None."""
    seq: int = 0
    at_ms: int = 0
    cause: int = 0


class _Known(Event, kw_only=True, tag_field="kind", tag=kind_named):
    """An event whose kind has a struct."""


class Request(_Known, kw_only=True):
    """A request came in.

    Attributes:
        node_id: of the node that read it; None in a capture that does not show it.
        client_id: as the client sent it.
        fields: of the decoded request.
        undecoded: why the request could not be read.
    """

    LEFT_OUT: ClassVar[frozenset[str]] = frozenset({"undecoded"})
    node_id: int | None = None
    connection: str | None = None
    listener: str | None = None
    principal: str | None = None
    client_id: str | None = None
    api: str
    version: int
    correlation_id: int | None = None
    fields: dict[str, Any] = field(default_factory=dict, name="request")
    undecoded: str | None = None


class Answer(_Known, kw_only=True):
    """A request was answered, or given up.

    Attributes:
        took_us: since the request was read.
        response: the fields of the answer. A Produce with acks=0 has neither this nor an error.
        error: the code that the whole request got instead of a body.
        unanswered: why there is no answer, and never will be.
        undecoded: why the answer could not be read.
    """

    LEFT_OUT: ClassVar[frozenset[str]] = frozenset(
        {"took_us", "response", "error", "unanswered", "undecoded"}
    )
    api: str | None = None
    took_us: int | None = None
    response: dict[str, Any] | None = None
    error: str | None = None
    unanswered: str | None = None
    undecoded: str | None = None


class AnswerWithoutRequest(_Known, kw_only=True):
    """A capture has an answer to a request before it."""

    connection: str | None = None
    bytes: int


class Fault(_Known, kw_only=True):
    """A rule of the lab acts.

    Attributes:
        id: the number of the rule.
        action: its kind and parameters.
        node_id: where, if it is not the node of the request.
        added_by: who added the rule, as they said; None if they did not.
        added_at_ms: when, by the wall time; None in older traces.
    """

    LEFT_OUT: ClassVar[frozenset[str]] = frozenset({"node_id", "added_by", "added_at_ms"})
    id: int
    name: str = ""
    action: dict[str, Any]
    node_id: int | None = None
    added_by: str | None = None
    added_at_ms: int | None = None


class RuleAdded(_Known, kw_only=True):
    """A rule of the lab acts from now on.

    Attributes:
        id: the number of the rule.
        match: what it is for; all requests if it is empty.
        action: its kind and parameters.
        added_by: who added it; empty if they did not say.
    """

    id: int
    name: str = ""
    match: dict[str, Any] = {}
    action: dict[str, Any]
    added_by: str = ""


class RuleRemoved(_Known, kw_only=True):
    """A rule of the lab acts no more.

    Attributes:
        id: the number of the rule.
        fired: how often it has acted.
    """

    id: int
    fired: int = 0


class Decision(_Known, kw_only=True):
    """A coordinator's decision is in its log.

    Attributes:
        topic, partition: of the log.
        count: of the records; a line has the first ones.
    """

    node_id: int = 0
    topic: str = ""
    partition: int = 0
    by_timer: bool = False
    count: int = 0
    records: list[Any] = []  # msgspec copies it

    @property
    def transactions(self) -> Iterator[dict[str, Any]]:
        """The records with new states of transactions, which have `before` and `after`."""
        for record in self.records:
            if isinstance(record, dict) and record.get("type") == "Transaction":
                yield record


class DecisionRefused(_Known, kw_only=True):
    """A coordinator has refused a request, or its log the records of a decision."""

    node_id: int = 0
    topic: str = ""
    partition: int = 0
    code: str


class MetadataDecision(_Known, kw_only=True):
    """A decision of the controller is in the metadata log."""

    base_offset: int = 0
    records: list[Any] = []
    count: int = 0


class ConnectionOpened(_Known, kw_only=True):
    """A client has connected to a listener."""

    node_id: int | None = None
    connection: str = field(name="connection_id")
    listener: str | None = None


class ConnectionClosed(_Known, kw_only=True):
    """A connection was closed, by the client or by the broker."""

    node_id: int | None = None
    connection: str = field(name="connection_id")


class RecordsAppended(_Known, kw_only=True):
    """Records are in the log of a partition."""

    topic: str
    partition: int
    log_end_offset: int


class MarkerAppended(_Known, kw_only=True):
    """A transaction's marker is in the log of a partition."""

    topic: str
    partition: int
    producer: dict[str, Any] = {}
    commit: bool
    coordinator_epoch: int = -1
    log_end_offset: int = -1


class OffsetsMaterialized(_Known, kw_only=True):
    """A marker has made a transaction's pending offsets the group's, or dropped them."""

    partition: int = -1
    producer: dict[str, Any] = {}
    commit: bool


class GroupTransition(_Known, kw_only=True):
    """A group has entered another state."""

    node_id: int = 0
    group_id: str
    group_type: str = ""
    before: str
    after: str


class LeadersChanged(_Known, kw_only=True):
    """Partitions of a topic may have other leaders.

    Attributes:
        leaders: leader id and leader epoch of each partition.
    """

    topic: str
    leaders: list[list[int]]


class ClockAdvanced(_Known, kw_only=True):
    """A test lets time pass on a clock that it moves; what becomes due by it follows.

    Attributes:
        by_ms: how much. The event has the time before.
        moved_by: who moved it, as they said; None if they did not.
    """

    LEFT_OUT: ClassVar[frozenset[str]] = frozenset({"moved_by"})
    by_ms: int
    moved_by: str | None = None


class ClockJumped(_Known, kw_only=True):
    """The wall clock was set forward or back.

    Attributes:
        by_ms: how far; negative for back. The event has the time behind it.
    """

    by_ms: int


class Other(Event, kw_only=True):
    """An event of any other kind, with all its own fields."""

    kind: str
    fields: dict[str, Any]


KnownEvent: TypeAlias = (
    Request
    | Answer
    | AnswerWithoutRequest
    | Fault
    | RuleAdded
    | RuleRemoved
    | Decision
    | DecisionRefused
    | MetadataDecision
    | ConnectionOpened
    | ConnectionClosed
    | RecordsAppended
    | MarkerAppended
    | OffsetsMaterialized
    | GroupTransition
    | LeadersChanged
    | ClockAdvanced
    | ClockJumped
)
KINDS: Final[dict[str, type[Event]]] = {
    kind_named(each.__name__): each for each in _Known.__subclasses__()
}
OF_ALL: Final = frozenset({"seq", "at_ms", "kind", "cause"})
"""What each line may have, of any kind."""


def kind_of(event: Event) -> str:
    """The kind of an event, as its line has it."""
    return event.kind if isinstance(event, Other) else str(event.__struct_config__.tag)


def fields_of(event: Event) -> dict[str, Any]:
    """The object of an event's line; messages in it are not copied."""
    names, values_of = _shape(type(event))
    found = dict(zip(names, values_of(event), strict=True))
    if not event.cause:
        del found["cause"]
    for name in event.LEFT_OUT:
        if found[name] is None:
            del found[name]
    if isinstance(event, Other):
        found |= found.pop("fields")
    return found


def value_of(event: Event, name: str) -> object:
    """What a field of an event's line has; None if it lacks the field."""
    if name == "kind":
        return kind_of(event)
    if isinstance(event, Other) and name in event.fields:
        return event.fields[name]
    return getattr(event, name, None) if name in event.__struct_encode_fields__ else None


@cache
def _shape(kind: type[Event]) -> tuple[tuple[str, ...], attrgetter[tuple[Any, ...]]]:
    """The names of a kind's fields in the order of a line, and what gets their values."""
    common = len(Event.__struct_fields__)
    head = ("seq", "at_ms", "kind", "cause")
    if kind is Other:
        return (*head, "fields"), attrgetter(*head, "fields")
    names = (*head, *kind.__struct_encode_fields__[common:])
    own = kind.__struct_fields__[common:]
    return names, attrgetter("seq", "at_ms", "__struct_config__.tag", "cause", *own)


def event_of(fields: object) -> Event:
    """The event of a line's object; its messages are not copied. Raises BrokenTrace."""
    event = new_event(fields)
    if event.seq < 1:
        raise BrokenTrace("no number")
    return event


def new_event(fields: object) -> Event:
    """The event of an object that has `kind` and its fields, and needs no number. As `event_of`."""
    try:
        if not isinstance(fields, dict):
            raise BrokenTrace("no object")
        kind = KINDS.get(fields.get("kind", ""), Other)
        if kind is Other:
            own = {name: value for name, value in fields.items() if name not in OF_ALL}
            fields = {name: fields[name] for name in OF_ALL & fields.keys()} | {"fields": own}
        # By the struct of the kind: msgspec inspects a union again in each call.
        return msgspec.convert(fields, kind)
    except (msgspec.ValidationError, TypeError) as wrong:
        raise BrokenTrace(str(wrong)) from None


def events_of(lines: Iterable[object]) -> Iterator[Event]:
    """The events of some lines' objects, such as a broker's control gives. Raises BrokenTrace."""
    return map(event_of, lines)
