"""The requests of clients and their answers: `checks` compares the logs with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from ottla.coordinator.transactions.states import Partition


class Told(Enum):
    """What a client knows of the end of its transaction."""

    NOTHING = auto()
    """It died, or asked to commit and never heard: all or nothing."""
    COMMITTED = auto()
    ABORTED = auto()


@dataclass
class Attempt:
    """One transaction of a client.

    Attributes:
        tag: in front of each of its records' values.
        sent: what it wrote, by partition and in order.
        asked_to_commit: it sent an EndTxn that commits.
        read_to: of what it consumed; -1 when it committed no offset.
    """

    tag: str
    sent: dict[Partition, list[str]] = field(default_factory=dict)
    asked_to_commit: bool = False
    told: Told = Told.NOTHING
    read_from: int = -1
    read_to: int = -1


class History:
    """All transactions of a run, in the order in which they began."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []

    def begin(self, transactional_id: str, life: int) -> Attempt:
        attempt = Attempt(f"{transactional_id}/{life}/{len(self.attempts)}")
        self.attempts.append(attempt)
        return attempt
