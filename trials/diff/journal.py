"""What was asked, what both sides answered, and what differed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from uuid import UUID

from .comparison import FieldDifference
from .messages import Request
from .sides import NAMES, SideOutcome

_KEPT: Final = 5_000
_KEPT_BYTES: Final = 64 * 1024 * 1024
_CONTEXT: Final = 200
_MOST_NOTES: Final = 1_000
_NAMES: Final = frozenset({
    "name", "topic", "topic_name", "topic_names", "topic_id", "group_id", "transactional_id",
    "v3_and_below_transactional_id", "key", "coordinator_keys", "groups_names", "producer_id",
    "v3_and_below_producer_id", "subscribed_topic_names",
})  # fmt: skip


class ComparedRequest(NamedTuple):
    """A request and the answers of both sides.

    Attributes:
        number: its place in the order in which all requests were sent.
        connection: the number of the client's connection.
        outcomes: Ottla's and Kafka's.
    """

    number: int
    connection: int
    request: Request
    outcomes: tuple[SideOutcome, SideOutcome]

    @property
    def size_bytes(self) -> int:
        """Of all frames."""
        answers = [each.answer for each in self.outcomes if each.answer is not None]
        return len(self.request.frame) + sum(len(each.frame) for each in answers)


class Difference(NamedTuple):
    """Fields that differ in the answers to a request, at their first appearance.

    Attributes:
        before: the requests before it that may matter, the oldest first.
        times: how often answers differed in this way.
    """

    exchange: ComparedRequest
    fields: tuple[FieldDifference, ...]
    before: tuple[ComparedRequest, ...]
    times: int = 1


class Journal:
    """The exchanges of a run, and its differences and notes.

    Attributes:
        requests: how many were sent to both sides.
        names: what the two sides are called.
        notes: what a reader should know, with how often it happened.
        trouble: why the run means nothing; empty if it does.
    """

    def __init__(self) -> None:
        self._last: deque[tuple[ComparedRequest, frozenset[Any]]] = deque()
        self._last_bytes = 0
        self._found: dict[Any, Difference] = {}
        self.requests = 0
        self.apis: dict[str, int] = {}
        self.names = NAMES
        self.notes: dict[str, int] = {}
        self.trouble = ""

    @property
    def differences(self) -> list[Difference]:
        """In the order of their first appearance."""
        return list(self._found.values())

    def number(self) -> int:
        """The number of the next exchange."""
        self.requests += 1
        return self.requests

    def note(self, text: str) -> None:
        """Add a note, or count it again."""
        if text in self.notes or len(self.notes) < _MOST_NOTES:
            self.notes[text] = self.notes.get(text, 0) + 1

    def add(self, exchange: ComparedRequest, fields: list[FieldDifference]) -> None:
        """Add an exchange and what differs in it."""
        text = exchange.request.text
        self.apis[text] = self.apis.get(text, 0) + 1
        names = frozenset(names_in(exchange.request.fields))
        new = [each for each in fields if not self.is_known(exchange.request, [each])]
        if new:
            before = self._related(exchange.connection, names)
            difference = Difference(exchange, tuple(new), tuple(before))
            for each in new:
                self._found[self._signature(exchange.request, each)] = difference
        for each in fields:
            if each not in new:
                self._count(self._signature(exchange.request, each))
        self._keep(exchange, names)

    def _related(self, connection: int, names: frozenset[Any]) -> list[ComparedRequest]:
        """The requests on a connection or about the same names, and those about their names."""
        of_those = names.union(
            *(
                others
                for one, others in self._last
                if one.connection == connection or names & others
            )
        )
        return [
            one for one, others in self._last if one.connection == connection or of_those & others
        ][-_CONTEXT:]

    def is_known(self, request: Request, fields: list[FieldDifference]) -> bool:
        """Whether answers have differed in the same way before."""
        return all(self._signature(request, each) in self._found for each in fields)

    def unique(self) -> list[Difference]:
        """Each exchange with differences once."""
        found: dict[int, Difference] = {}
        for each in self._found.values():
            number = each.exchange.number
            if number not in found or found[number].times < each.times:
                found[number] = each
        return [found[number] for number in sorted(found)]

    @staticmethod
    def _signature(request: Request, field: FieldDifference) -> Any:
        # Names of codes and such say what kind of difference it is; numbers and ids vary.
        values = [
            text if text.isidentifier() or not any(map(str.isdigit, text)) else "" for text in
            (field.ottla, field.kafka)
        ]  # fmt: skip
        return request.api, field.kind, *values

    def _count(self, signature: Any) -> None:
        found = self._found[signature]
        self._found[signature] = found._replace(times=found.times + 1)

    def _keep(self, exchange: ComparedRequest, names: frozenset[Any]) -> None:
        self._last.append((exchange, names))
        self._last_bytes += exchange.size_bytes
        while len(self._last) > _KEPT or (self._last_bytes > _KEPT_BYTES and len(self._last) > 1):
            self._last_bytes -= self._last.popleft()[0].size_bytes


def names_in(value: Any) -> Iterator[Any]:
    """The topics, groups, transactional ids and producers that a request names."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name in _NAMES and isinstance(each, str | int | UUID) and each not in ("", -1):
                yield each
            elif name in _NAMES and isinstance(each, list):
                yield from (one for one in each if isinstance(one, str))
            if isinstance(each, dict | list):
                yield from names_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from names_in(each)
