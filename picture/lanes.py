"""The lanes of a picture, and which of them an event touches.

A lane is a client, a transactional id, a group, a member of a group, the log of a coordinator, or a
partition. Lanes are numbered in the order in which the trace names them first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from ..trace.events import (
    NO_FIELDS,
    ConnectionClosed,
    ConnectionOpened,
    Decision,
    DecisionRefused,
    Event,
    Fields,
    GroupTransition,
    LeadersChanged,
    MarkerAppended,
    OffsetsMaterialized,
    RecordsAppended,
    Request,
    value_of,
)
from ..trace.exchanges import Exchange
from ..trace.messages import Names, structs, topic_name
from ..trace.owners import client_of, clients_of_connections, group_of, ids_of_producers
from ..trace.owners import transactional_id_of as owner_of
from ..trace.phrases import short
from .fetch_sessions import FetchSessions

CLIENT: Final = "client"
TRANSACTION: Final = "transaction"
GROUP: Final = "group"
MEMBER: Final = "member"
COORDINATOR: Final = "coordinator"
PARTITION: Final = "partition"
KINDS: Final = (CLIENT, TRANSACTION, GROUP, MEMBER, COORDINATOR, PARTITION)
"""The kinds of lanes in the order of the page."""
MOST_PARTITIONS: Final = 50
"""The partitions of one event that get a mark."""
_PARTITIONS: Final = {
    "Produce": ("topic_data", "partition_data"),
    "AddPartitionsToTxn": ("v3_and_below_topics", "partitions"),
    "DeleteRecords": ("topics", "partitions"),
    "ListOffsets": ("topics", "partitions"),
    "ShareAcknowledge": ("topics", "partitions"),
}
_INDEXES: Final = ("partition_index", "partition", "index")


class Lane(NamedTuple):
    """A lane.

    Attributes:
        kind: one of KINDS.
        name: as people read it.
        parent: the group of a member; empty for others.
    """

    kind: str
    name: str
    parent: str = ""


class Lanes:
    """Gives lanes their numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Lane, int] = {}

    def number(self, lane: Lane) -> int:
        """The number of a lane, which begins here if it is new."""
        return self._numbers.setdefault(lane, len(self._numbers))

    @property
    def all(self) -> list[Lane]:
        """The lanes in the order of their numbers."""
        return list(self._numbers)


class Places:
    """Knows the lanes of each event.

    Args:
        events: all of them, because a later one may tell whose a producer is.
        names: the topics' names by id.
    """

    def __init__(self, events: Iterable[Event], names: Names) -> None:
        known = list(events)
        self._names = names
        self._clients = clients_of_connections(known)
        self._ids = ids_of_producers(known)
        self._sessions = FetchSessions(names)

    def of(self, event: Event, request: Request | None) -> Iterator[Lane]:
        """The lanes of an event that is neither request nor answer.

        Args:
            request: that caused the event; a fault is in the lanes of its request.
        """
        match event:
            case Decision():
                yield coordinator(event.topic, event.partition)
                for record in event.records:
                    if isinstance(record, dict):
                        yield from self._of_record(record)
            case DecisionRefused():
                yield coordinator(event.topic, event.partition)
                if request is not None:
                    yield from self.of_request(request)
            case MarkerAppended():
                yield from self._of_producer(event.producer)
                yield log_of(event.topic, event.partition)
            case OffsetsMaterialized():
                yield from self._of_producer(event.producer)
                yield coordinator("__consumer_offsets", event.partition)
            case RecordsAppended():
                yield log_of(event.topic, event.partition)
            case GroupTransition():
                yield Lane(GROUP, event.group_id)
            case LeadersChanged():
                for index in range(min(len(event.leaders), MOST_PARTITIONS)):
                    yield log_of(event.topic, index)
            case ConnectionOpened() | ConnectionClosed():
                if event.connection in self._clients:
                    yield Lane(CLIENT, self._clients[event.connection])
            case _:
                if request is not None:
                    yield from self.of_request(request)
                topic, partition = value_of(event, "topic"), value_of(event, "partition")
                if isinstance(topic, str) and isinstance(partition, int):
                    yield log_of(topic, partition)

    def of_exchange(self, exchange: Exchange) -> Iterator[Lane]:
        """The lanes of a request with its answer."""
        yield from self.of_request(exchange.request)
        answer = exchange.response or NO_FIELDS
        group = group_of(exchange.fields)
        if group and not exchange.fields.get("member_id") and answer.get("member_id"):
            yield member(group, answer)
        if exchange.api == "Fetch":
            for place in self._sessions.read_by(exchange)[:MOST_PARTITIONS]:
                yield log_of(*place)
        if exchange.api in ("Fetch", "ShareFetch"):
            yield from list(self._of_batches(answer))[:MOST_PARTITIONS]

    def of_request(self, request: Request) -> Iterator[Lane]:
        """The lanes of a request."""
        fields = request.fields
        yield Lane(CLIENT, client_of(request))
        owner = owner_of(request)
        if owner is not None:
            yield Lane(TRANSACTION, owner)
        group = group_of(fields)
        if group:
            yield Lane(GROUP, group)
            if fields.get("member_id"):
                yield member(group, fields)
            for each in structs(fields, "members"):
                yield member(group, each)
        for marker in structs(fields, "markers"):
            yield from self._of_producer(marker)
        yield from list(self._of_partitions(request))[:MOST_PARTITIONS]

    def _of_producer(self, producer: Fields) -> Iterator[Lane]:
        owner = self._ids.get(producer.get("producer_id", -1))
        if owner is not None:
            yield Lane(TRANSACTION, owner)

    def _of_record(self, record: Mapping[str, Any]) -> Iterator[Lane]:
        if record.get("transactional_id"):
            yield Lane(TRANSACTION, str(record["transactional_id"]))
        group = group_of(record)
        if group:
            yield Lane(GROUP, group)
            if record.get("member_id"):
                yield member(group, record)

    def _of_partitions(self, request: Request) -> Iterator[Lane]:
        fields = request.fields
        topics, partitions = _PARTITIONS.get(request.api, ("", ""))
        for topic in structs(fields, topics):
            for index in indexes(topic, partitions):
                yield log_of(topic_name(topic, self._names), index)
        if request.api == "AddPartitionsToTxn":
            for each in structs(fields, "transactions"):
                for topic in structs(each, "topics"):
                    for index in indexes(topic, "partitions"):
                        yield log_of(topic_name(topic, self._names), index)

    def _of_batches(self, response: Fields) -> Iterator[Lane]:
        for batch in structs(response, "batches"):
            topic = str(batch.get("topic", ""))
            yield log_of(self._names.get(topic, topic), batch.get("partition", -1))


def indexes(topic: Fields, field: str) -> Iterator[int]:
    """The numbers of the partitions of a topic, which are structs or plain numbers."""
    for each in topic.get(field) or ():
        if isinstance(each, int):
            yield each
        elif isinstance(each, Mapping):
            found = next((each[name] for name in _INDEXES if name in each), None)
            if isinstance(found, int):
                yield found


def log_of(topic: str, partition: int) -> Lane:
    """The lane of a partition; that of a coordinator if its log is an internal topic."""
    is_internal = topic.startswith("__")
    return Lane(COORDINATOR if is_internal else PARTITION, f"{topic}-{partition}")


def coordinator(topic: str, partition: int) -> Lane:
    """The lane of a coordinator's log."""
    return Lane(COORDINATOR, f"{topic}-{partition}")


def member(group: str, fields: Fields) -> Lane:
    """The lane of a member of a group."""
    name = fields.get("member_id") or fields.get("group_instance_id") or "?"
    return Lane(MEMBER, short(name), group)
