"""A network that loses, delays and duplicates requests and answers.

The sender retries a request that times out, and the first copy may still arrive long after.
Version 1 of transactions does not survive all such cases, because all transactions of a producer
have one epoch (KIP-890, the reason for version 2): a copy that arrives after the end of its
transaction can end or corrupt the next one. The same is true of markers in both versions, because
a marker has the epoch of the next transaction (corrected by KIP-1228, after Kafka 4.1). Senders
therefore say how long a message may arrive (`only_while`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .scheduler import Resume, Scheduler, Wait

REQUEST_TIMEOUT_MS: Final = 400
MARKERS: Final = "WriteTxnMarkers"


class Lost:
    """The type of `LOST`."""

    def __repr__(self) -> str:
        return "LOST"


LOST: Final = Lost()
"""Stands for an answer that did not arrive in time."""


class Crashed(Exception):
    """The broker crashed during the work; there is no answer."""


Respond = Callable[[Any], None]
Request = Callable[[Respond], None]
"""Runs at the receiver, and answers or not."""


@dataclass(frozen=True, slots=True)
class Chances:
    """Chances of loss, delay and duplication; delays in ms."""

    lost: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    usual_ms: int = 4
    late_ms: int = 2_000


def always() -> bool:
    return True


def ignore(result: Any) -> None:
    """Read no answer."""


class Network:
    """The network between clients and brokers, and between brokers.

    Args:
        chances: for messages of clients.
        of_markers: for messages between brokers.
    """

    def __init__(self, scheduler: Scheduler, chances: Chances, of_markers: Chances) -> None:
        self._scheduler = scheduler
        self._chances = chances
        self._of_markers = of_markers
        self._day = 0  # messages of an earlier age are dropped

    def calm_down(self) -> None:
        """Lose and delay no more messages."""
        self._chances = self._of_markers = Chances(usual_ms=2)

    def forget(self) -> None:
        """Drop all messages under way: a day has passed."""
        self._day += 1

    def call(
        self,
        name: str,
        request: Request,
        *,
        details: Sequence[object] = (),
        only_while: Callable[[], bool] = always,
    ) -> Wait:
        """Send a request and wait for its answer; LOST after the timeout."""

        def wait(resume: Resume) -> None:
            is_open = True
            has_arrived = False

            def answer(result: Any) -> None:
                nonlocal is_open
                if is_open:
                    is_open = False
                    self._scheduler.note(f"{name} answered", *details, result)
                    resume(result)

            def give_up() -> None:
                nonlocal is_open
                if is_open:
                    is_open = False
                    self._scheduler.note(f"{name} unanswered", *details)
                    resume(LOST)

            def arrive() -> None:
                nonlocal has_arrived
                if only_while():
                    # A copy is a request that timed out; its answer is ignored.
                    is_copy, has_arrived = has_arrived, True
                    respond = ignore if is_copy else answer
                    request(lambda result: self._carry(name, lambda: respond(result)))

            self._scheduler.note(name, *details)
            self._carry(name, arrive)
            self._scheduler.after(REQUEST_TIMEOUT_MS, give_up)

        return wait

    def _carry(self, name: str, arrive: Callable[[], None]) -> None:
        random = self._scheduler.random
        chances = self._of_markers if name == MARKERS else self._chances
        day = self._day

        def arrives() -> None:
            if day == self._day:
                arrive()

        chance = random.random()
        if chance < chances.lost:
            self._scheduler.note("a message lost", name)
            return
        copies = 1
        if chance < chances.lost + chances.doubled:
            self._scheduler.note("a message doubled", name)
            copies = 2
        for copy in range(copies):
            delay_ms = random.randint(0, chances.usual_ms)
            if copy or random.random() < chances.late:
                self._scheduler.note("a message late", name)
                delay_ms += random.randint(0, chances.late_ms)
            self._scheduler.after(delay_ms, arrives)
