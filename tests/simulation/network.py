"""What becomes of messages: requests and answers that are lost, late, or come twice.

A request that had no answer in time is sent again by who sent it, and the first may still arrive
long after. Kafka's version 1 of transactions does not survive everything of that kind, since all
transactions of a producer have one epoch (KIP-890 says so, and is the reason for version 2): there
a copy that comes after its transaction has ended can end or spoil the next one. The same is true
of markers in both versions, for a marker has the epoch of the next transaction (KIP-1228 mends it,
after Kafka 4.1). So senders say until when a message may arrive (`only_while`).
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
"""Instead of an answer: none came in time, and nobody knows what was done."""


class Crashed(Exception):
    """The broker that did the work is dead; nobody gets an answer."""


Respond = Callable[[Any], None]
Request = Callable[[Respond], None]
"""Is carried out where it arrives, and answers, or never does."""


@dataclass(frozen=True, slots=True)
class Chances:
    """How likely a message's fates are; delays in ms."""

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
    """Between clients and brokers, and between brokers.

    Args:
        chances: of the messages of clients.
        of_markers: of those between brokers.
    """

    def __init__(self, scheduler: Scheduler, chances: Chances, of_markers: Chances) -> None:
        self._scheduler = scheduler
        self._chances = chances
        self._of_markers = of_markers
        self._day = 0  # messages of an earlier one are gone

    def calm_down(self) -> None:
        """From now on nothing goes wrong."""
        self._chances = self._of_markers = Chances(usual_ms=2)

    def forget(self) -> None:
        """Whatever is on its way never arrives: a day has passed."""
        self._day += 1

    def call(
        self,
        name: str,
        request: Request,
        *,
        details: Sequence[object] = (),
        only_while: Callable[[], bool] = always,
    ) -> Wait:
        """Send a request and wait for its answer, or for so long that it counts as LOST."""

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
                    # A copy is what the sender had given up on: nothing reads its answer.
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
