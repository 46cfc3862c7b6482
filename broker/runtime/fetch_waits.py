"""Who waits for which partition: long polls are woken by the append they wait for.

A wake-up only ends the wait; the Fetch then reads again, in the next turn of the loop, so that
several appends of one turn are answered together. What an append means for a Fetch is for its
`has_enough` to say, which counts what came in (see AwaitedBytes).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

Place = tuple[str, int]
HasEnough = Callable[[Place], bool]

MOST_PLACES: Final = 500_000
"""Of all long polls together, about 100 bytes each; beyond, a Fetch is answered without waiting."""


MOST_IN_A_TURN: Final = 32
"""Long polls that are woken for one place in a turn of the loop; each may take 50 microseconds."""


class FetchWaits:
    """The waiting fetches of a process, by topic and partition.

    Attributes:
        count: of places that are waited for, each as often as there is a Fetch that waits for it.
    """

    __slots__ = ("_by_place", "count")

    def __init__(self) -> None:
        self._by_place: dict[Place, dict[asyncio.Future[bool], HasEnough | None]] = {}
        self.count = 0

    def wait(
        self, places: Iterable[Place], has_enough: HasEnough | None = None
    ) -> asyncio.Future[bool]:
        """A future that is done when a place has news; `forget` it afterwards.

        Args:
            has_enough: whether an append to a place ends the wait; None: each does.

        Returns:
            The future; its result is whether `has_enough` ended the wait.
        """
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.add(waiting, places, has_enough)
        return waiting

    def add(
        self,
        waiting: asyncio.Future[bool],
        places: Iterable[Place],
        has_enough: HasEnough | None = None,
    ) -> None:
        """Let a future of `wait` wait for more places."""
        for place in places:
            others = self._by_place.setdefault(place, {})
            self.count += waiting not in others
            others[waiting] = has_enough

    def forget(self, waiting: asyncio.Future[bool], places: Iterable[Place]) -> None:
        """Take a future of `wait` out again."""
        for place in places:
            others = self._by_place.get(place)
            if others is not None and waiting in others:
                del others[waiting]
                self.count -= 1
                if not others:
                    del self._by_place[place]

    def appended(self, topic: str, partition: int) -> None:
        """Records or a marker came to a log."""
        place = (topic, partition)
        others = self._by_place.get(place, _NOBODY)
        if len(others) > MOST_IN_A_TURN:
            ready = [one for one, enough in others.items() if enough is None or enough(place)]
            self._wake_in_turns(ready, has_enough=True)
            return
        for waiting, has_enough in others.items():
            if not waiting.done() and (has_enough is None or has_enough(place)):
                waiting.set_result(True)

    def wake(self, topic: str, partition: int) -> None:
        """Something else changed there: a leader, a deletion."""
        self._wake_in_turns(list(self._by_place.get((topic, partition), _NOBODY)))

    def wake_all(self) -> None:
        """Let every long poll look again: the broker stops."""
        for others in self._by_place.values():
            for waiting in others:
                _wake(waiting)

    def _wake_in_turns(
        self, waiting: Sequence[asyncio.Future[bool]], *, has_enough: bool = False
    ) -> None:
        """Wake some now and the others in the next turns of the loop: each reads when it wakes."""
        for one in waiting[:MOST_IN_A_TURN]:
            if not one.done():
                one.set_result(has_enough)
        rest = waiting[MOST_IN_A_TURN:]
        if rest:
            wake = partial(self._wake_in_turns, rest, has_enough=has_enough)
            asyncio.get_running_loop().call_soon(wake)


_NOBODY: Final[dict[asyncio.Future[bool], HasEnough | None]] = {}


def _wake(waiting: asyncio.Future[bool]) -> None:
    if not waiting.done():
        waiting.set_result(False)
