"""Which transactional id, and which client, the events of a trace belong to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .events import Answer, Decision, Event, Fields, Request
from .messages import errors_in

_WITH_ID: Final = ("transactional_id", "v3_and_below_transactional_id")


def transactional_id_of(request: Request) -> str | None:
    """The transactional id that a request is for; None for none, or several."""
    fields = request.fields
    owner = next((fields[name] for name in _WITH_ID if fields.get(name)), None)
    many = [each for each in fields.get("transactions") or () if isinstance(each, dict)]
    if owner is None and len(many) == 1:
        owner = many[0].get("transactional_id")
    return None if owner is None else str(owner)


def ids_of_producers(events: Iterable[Event]) -> dict[int, str]:
    """Producer ids to transactional ids, from records of coordinators and from requests."""
    found: dict[int, str] = {}
    asked: dict[int, str] = {}
    for event in events:
        if isinstance(event, Decision):
            found |= {each["producer_id"]: each["transactional_id"] for each in event.transactions}
        elif isinstance(event, Request):
            request = event.fields
            if request.get("transactional_id"):
                asked[event.seq] = str(request["transactional_id"])
                if request.get("producer_id", -1) >= 0:
                    found[request["producer_id"]] = asked[event.seq]
        elif isinstance(event, Answer) and event.api == "InitProducerId":
            owner = asked.get(event.cause)
            if owner and event.response is not None and not errors_in(event.response):
                found[event.response.get("producer_id", -1)] = owner
    return found


def client_of(request: Request) -> str:
    """The client of a request: its client id, else the address that it connects from."""
    if request.client_id:
        return request.client_id
    return (request.connection or "").rpartition("-")[0].rpartition("-")[2] or "-"


def clients_of_connections(events: Iterable[Event]) -> dict[str, str]:
    """The client of each connection, from its first request."""
    found: dict[str, str] = {}
    for event in events:
        if isinstance(event, Request) and event.connection:
            found.setdefault(event.connection, client_of(event))
    return found


def group_of(fields: Fields) -> str | None:
    """The group that a request, or an event, names; None for none, or several."""
    found = fields.get("group_id")
    groups = fields.get("groups") or []
    if not found and len(groups) == 1 and isinstance(groups[0], dict):
        found = groups[0].get("group_id")
    return str(found) if found else None
