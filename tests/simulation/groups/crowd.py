"""The members: seats, each with a newest process and perhaps some older ones."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from ..scheduler import Process
from .classic import ClassicClient
from .client import Client, Surroundings
from .consumer import ConsumerClient


class Seat:
    """A position in a group, which one process after the other takes.

    Attributes:
        kinds: the protocols of its processes: classic, consumer.
        client: its newest process.
    """

    def __init__(
        self,
        crowd: Crowd,
        group_id: str,
        name: str,
        *,
        kinds: tuple[str, ...],
        instance: str | None,
        topics: Iterable[str],
        cooperative: bool,
    ) -> None:
        self.group_id = group_id
        self.name = name
        self.kinds = kinds
        self.instance = instance
        self.topics = frozenset(topics)
        self.client: Client | None = None
        self._crowd = crowd
        self._cooperative = cooperative
        self._lives = 0

    def start(self) -> None:
        """Start a new process, even if the last one still runs."""
        crowd, self._lives = self._crowd, self._lives + 1
        random = crowd.around.scheduler.random
        kind = random.choice(self.kinds)
        name = f"{self.name}.{self._lives}"
        by_regex = kind == "consumer" and self.group_id.endswith("regex") and random.random() < 0.5
        topics, regex = self.topics, ""
        if by_regex:
            topics, regex = frozenset(), "|".join(sorted(self.topics))
        if kind == "classic":
            self.client = ClassicClient(
                crowd.around, self.group_id, name, instance=self.instance, topics=topics,
                producer_id=next(crowd.producer_ids), cooperative=self._cooperative,
                asks_late=not self._cooperative and len(crowd.kinds) == 1,
            )  # fmt: skip
        else:
            self.client = ConsumerClient(
                crowd.around, self.group_id, name, instance=self.instance, topics=topics,
                regex=regex, producer_id=next(crowd.producer_ids),
            )  # fmt: skip
        crowd.around.scheduler.note(f"{kind} member starts", name, self.instance, sorted(topics))
        crowd.clients.append(self.client)
        self.client.start()

    def is_alive(self) -> bool:
        return self.client is not None and self.client.process.is_alive


class Crowd:
    """All seats of all groups, and all their processes."""

    def __init__(self, around: Surroundings, kinds: tuple[str, ...]) -> None:
        self.around = around
        self.kinds = kinds
        self.seats: list[Seat] = []
        self.clients: list[Client] = []
        self.producer_ids = count(1)

    def leave(self, client: Client) -> None:
        """Stop a process in the way of its protocol."""
        process = Process(f"{client.name} leaving")
        steps = client.leave()
        client.around.scheduler.spawn(process, steps)
        client.die()

    def calm_down(self) -> None:
        """Leave one process for each seat."""
        for client in self.clients:
            if all(client is not seat.client for seat in self.seats):
                client.die()
        self.revive()

    def revive(self) -> None:
        """Restart processes that a late request of their predecessors fenced."""
        for seat in self.seats:
            if not seat.is_alive():
                seat.start()
