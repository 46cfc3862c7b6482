"""Follows the file of a trace while a program runs: positions, faults, open connections."""

from __future__ import annotations

from pathlib import Path

from ...trace.events import Answer, ConnectionClosed, Fault, Request
from ...trace.exchanges import Exchange, Exchanges
from ...trace.reader import TraceFollower
from ...verdict.knowledge import Knowledge
from ...verdict.message_parts import fetched_places

RUNNER: str = "ottla-conform"
"""The client id of the runner's own requests."""


class Watch:
    """What a trace has shown so far.

    Args:
        file: of the trace; it may not exist yet.
        topic: whose positions are kept.

    Attributes:
        position: the highest offset at which partition 0 was fetched; -1 before.
        repeats: how often it was fetched there.
        fired: how often each rule of the lab acted, by its number.
        transactional_commits, plain_commits: requests that commit offsets.
    """

    def __init__(self, file: Path, topic: str) -> None:
        self._follower = TraceFollower(file)
        self._topic = topic
        self._knowledge = Knowledge()
        self._exchanges = Exchanges()
        self._connections: set[str] = set()
        self.position = -1
        self.repeats = 0
        self.fired: dict[int, int] = {}
        self.transactional_commits: list[int] = []
        self.plain_commits: list[int] = []

    def look(self) -> None:
        """Read what the trace has got since the last look."""
        for event in self._follower.read_new():
            if isinstance(event, Fault):
                self.fired[event.id] = self.fired.get(event.id, 0) + 1
            elif isinstance(event, Request):
                exchange = self._exchanges.begin(event)
                if exchange.client_id != RUNNER:
                    self._connections.add(exchange.connection)
                    self._note_request(exchange)
            elif isinstance(event, Answer):
                answered = self._exchanges.end(event)
                if answered is not None:
                    self._knowledge.see_answer(answered)
            elif isinstance(event, ConnectionClosed):
                self._connections.discard(event.connection)

    @property
    def is_connected(self) -> bool:
        """Whether a connection of the program is open."""
        return bool(self._connections)

    def _note_request(self, exchange: Exchange) -> None:
        if exchange.api == "Fetch":
            for (topic, partition), offset in fetched_places(exchange, self._knowledge):
                if (topic, partition) == (self._topic, 0) and offset >= self.position:
                    self.repeats = self.repeats + 1 if offset == self.position else 1
                    self.position = offset
        elif exchange.api == "TxnOffsetCommit":
            self.transactional_commits.append(exchange.seq)
        elif exchange.api == "OffsetCommit":
            self.plain_commits.append(exchange.seq)
