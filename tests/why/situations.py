"""The table of situations: each is made by raw requests, and has the sentence that explains it.

Those that need nothing of Ottla are also made on an Apache Kafka (tests/kafka/test_why.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ottla.testing import Ottla
from ottla.why import Subject
from tests.wire.broker import Broker

Make = Callable[["World"], Subject]


class World:
    """A broker in which situations are made.

    Args:
        wire: raw requests to it.
        ottla: if it is one, for its control.
    """

    def __init__(self, wire: Broker, ottla: Ottla | None = None) -> None:
        self.wire = wire
        self._ottla = ottla
        self._behind: list[Callable[[], object]] = []
        wire.find_coordinators()

    @property
    def ottla(self) -> Ottla:
        assert self._ottla is not None
        return self._ottla

    def later(self, undo: Callable[[], object]) -> None:
        """Undo something when the situation has been explained."""
        self._behind.append(undo)

    def end(self) -> None:
        """Undo what the last situation asked for."""
        while self._behind:
            self._behind.pop()()

    def opened(self, topic: str, transactional_id: str = "", records: int = 3) -> Any:
        """A producer with an open transaction in a topic, whose first partition has records."""
        name = transactional_id or self.wire.fresh("x")
        producer = self.wire.init(name)
        assert producer.add(topic) == "NONE"
        assert producer.produce(topic, [b"v"] * records)[0] == "NONE"
        self.later(lambda: producer.end(commit=False))
        return producer


@dataclass(frozen=True, slots=True)
class Situation:
    """A situation.

    Attributes:
        name: as findings have it.
        says: a pattern of the whole sentence.
        is_stuck: whether a client waits; otherwise the sentence says where things are.
        on_kafka: whether a Kafka can be brought into it, and tells the same by its protocol.
    """

    name: str
    says: str
    make: Make
    is_stuck: bool = True
    on_kafka: bool = True

    def matches(self, sentence: str) -> bool:
        return re.fullmatch(self.says, sentence) is not None

    def __str__(self) -> str:
        return f"{self.name}: {self.make.__name__}"


SITUATIONS: Final[list[Situation]] = []


def situation(
    name: str, says: str, *, is_stuck: bool = True, on_kafka: bool = True
) -> Callable[[Make], Make]:
    """Add a function to the table that makes a situation, and returns what to ask about."""

    def add(make: Make) -> Make:
        SITUATIONS.append(Situation(name, says, make, is_stuck, on_kafka))
        return make

    return add
