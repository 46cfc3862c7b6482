"""The requests of clients and their answers: `checks` compares the logs with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from ottla.coordinator.transactions.states import Partition


class Known(Enum):
    """What a client knows about the outcome of its transaction."""

    NOTHING = auto()
    """It stopped, or its commit had no answer: all or nothing."""
    COMMITTED = auto()
    ABORTED = auto()


@dataclass
class Attempt:
    """One transaction of a client.

    Attributes:
        tag: prefix of the values of its records.
        sent: its values, by partition and in order.
        asked_to_commit: it sent EndTxn with committed=true.
        read_to: its committed offset; -1 if it committed none.
    """

    tag: str
    sent: dict[Partition, list[str]] = field(default_factory=dict)
    asked_to_commit: bool = False
    known: Known = Known.NOTHING
    read_from: int = -1
    read_to: int = -1


class History:
    """All transactions of a run, in the order of their beginning."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []

    def begin(self, transactional_id: str, incarnation: int) -> Attempt:
        attempt = Attempt(f"{transactional_id}/{incarnation}/{len(self.attempts)}")
        self.attempts.append(attempt)
        return attempt
