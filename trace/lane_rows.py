"""What happened to transactional ids, groups and clients, row by row, for the text of lanes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from .events import (
    Answer,
    ConnectionClosed,
    ConnectionOpened,
    Decision,
    Event,
    Fault,
    GroupTransition,
    MarkerAppended,
    Request,
)
from .exchanges import Exchange, Exchanges, exchanges
from .messages import Names, errors_of, structs, topic_names
from .owners import (
    client_of,
    clients_of_connections,
    group_of,
    ids_of_producers,
    transactional_id_of,
)
from .phrases import short
from .removed_members import removed_by_timer
from .view import answered, asked_in

CLIENT: Final = "client"
TRANSACTION: Final = "id"
GROUP: Final = "group"
KINDS: Final = (CLIENT, TRANSACTION, GROUP)
"""The kinds of lanes in the order of their columns."""
_HEARTBEATS: Final = ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
_NEWS: Final = ("assignment", "active_tasks")


class Lane(NamedTuple):
    """A column.

    Attributes:
        kind: one of KINDS.
    """

    kind: str
    name: str


class Row(NamedTuple):
    """What happened.

    Attributes:
        lanes: that it touches, in the order of KINDS; the last one has the text.
    """

    event: Event
    lanes: tuple[Lane, ...]
    text: str


def rows_of(events: Sequence[Event], kinds: Collection[str]) -> Iterator[Row]:
    """The rows in their order; an answer that follows its request at once shares its row.

    Heartbeats that are accepted and change nothing, and fetches without records, are left out.
    """
    names = topic_names(events)
    maker = _Rows(events, names, kinds)
    together = Exchanges()
    asked: dict[int, tuple[Lane, ...]] = {}  # the lanes of requests that wait
    last: tuple[int, Row] | None = None  # a request that may get its answer, with its number
    for event in events:
        exchange = together.add(event)
        if isinstance(event, Answer):
            lanes = asked.pop(event.cause, None)
            if exchange is None or lanes is None:
                continue
            fate = answered(exchange, names)
            if last is not None and last[0] == exchange.seq:
                yield last[1]._replace(text=f"{last[1].text} -> {fate}")
                last = None
                continue
            found = [Row(event, lanes, f"-> {fate} ({exchange.api})")]
        else:
            found = list(maker.of_event(event, asked))
        if found and last is not None:
            yield last[1]
            last = None
        if isinstance(event, Request) and len(found) == 1:
            asked[event.seq] = found[0].lanes
            last = event.seq, found[0]
        else:
            yield from found
    if last is not None:
        yield last[1]


class _Rows:
    """Makes the rows of events that are no answers."""

    def __init__(self, events: Sequence[Event], names: Names, kinds: Collection[str]) -> None:
        self._names = names
        self._kinds = kinds
        self._producers = ids_of_producers(events)
        self._clients = clients_of_connections(events) if CLIENT in kinds else {}
        self._quiet = {each.seq for each in exchanges(events) if _is_quiet(each)}

    def of_event(self, event: Event, asked: Mapping[int, tuple[Lane, ...]]) -> Iterator[Row]:
        """The rows of an event.

        Args:
            asked: the lanes of requests without an answer yet.
        """
        match event:
            case Request():
                yield from self._of_request(event)
            case Decision():
                for record in event.transactions:
                    owner = Lane(TRANSACTION, record["transactional_id"])
                    yield from self._row(event, owner, f"= {record['after']}")
                for each in removed_by_timer(event):
                    text = f"- member {short(each.member_id)} is removed by a timer"
                    yield from self._row(event, Lane(GROUP, each.group_id), text)
            case GroupTransition():
                yield from self._row(event, Lane(GROUP, event.group_id), f"= {event.after}")
            case MarkerAppended():
                name = self._producers.get(event.producer.get("producer_id", -1))
                if name is not None:
                    what = "commit" if event.commit else "abort"
                    text = f"* {what} in {event.topic}-{event.partition}"
                    yield from self._row(event, Lane(TRANSACTION, name), text)
            case Fault() if event.cause in asked:
                yield Row(event, asked[event.cause], f"! {event.action['kind']}")
            case ConnectionOpened() | ConnectionClosed():
                client = self._clients.get(event.connection)
                if client is not None:
                    is_open = isinstance(event, ConnectionOpened)
                    text = "connects" if is_open else "disconnects"
                    yield from self._row(event, Lane(CLIENT, client), text)
            case _:
                pass

    def _row(self, event: Event, lane: Lane, text: str) -> Iterator[Row]:
        if lane.kind in self._kinds:
            yield Row(event, (lane,), text)

    def _of_request(self, event: Request) -> Iterator[Row]:
        if event.api == "WriteTxnMarkers":
            for marker in event.fields.get("markers") or ():
                if isinstance(marker, dict) and marker.get("producer_id") in self._producers:
                    what = "commit" if marker.get("transaction_result") else "abort"
                    owner = Lane(TRANSACTION, self._producers[marker["producer_id"]])
                    yield from self._row(event, owner, f"WriteTxnMarkers {what}")
            return
        touched = (
            (CLIENT, client_of(event)),
            (TRANSACTION, transactional_id_of(event)),
            (GROUP, group_of(event.fields)),
        )
        lanes = tuple(Lane(kind, name) for kind, name in touched if name and kind in self._kinds)
        if lanes and event.seq not in self._quiet:
            said = asked_in(event, self._names).removeprefix(lanes[-1].name).strip()
            yield Row(event, lanes, f"{event.api} {said}".rstrip())


def _is_quiet(exchange: Exchange) -> bool:
    """Whether a request comes again and again, and says nothing new this time."""
    answer = exchange.answer
    if answer is None or not exchange.is_answered or errors_of(answer) or exchange.changes:
        return False
    response = exchange.response or {}
    match exchange.api:
        case "Heartbeat":
            return True
        case "Fetch":
            return not response.get("batches")
        case "ShareFetch":
            return not any(
                each.get("acquired_records")
                for topic in structs(response, "responses")
                for each in structs(topic, "partitions")
            )
        case api if api in _HEARTBEATS:
            epoch = exchange.fields.get("member_epoch")
            is_member = isinstance(epoch, int) and epoch > 0
            return is_member and not any(response.get(each) for each in _NEWS)
        case _:
            return False
