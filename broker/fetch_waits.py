"""Who waits for which partition: long polls are woken by the append they wait for.

A wake-up only ends the wait; the Fetch then reads again, in the next turn of the loop, so that
several appends of one turn are answered together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

Place = tuple[str, int]


class FetchWaits:
    """The waiting fetches of a node, by topic and partition."""

    __slots__ = ("_by_place",)

    def __init__(self) -> None:
        self._by_place: dict[Place, set[asyncio.Future[None]]] = {}

    def wait(self, places: Iterable[Place]) -> asyncio.Future[None]:
        """A future that is done when any of the places has news; `forget` it afterwards."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for place in places:
            self._by_place.setdefault(place, set()).add(waiting)
        return waiting

    def forget(self, waiting: asyncio.Future[None], places: Iterable[Place]) -> None:
        """Take a future of `wait` out again."""
        for place in places:
            others = self._by_place.get(place)
            if others is not None:
                others.discard(waiting)
                if not others:
                    del self._by_place[place]

    def wake(self, topic: str, partition: int) -> None:
        """Something changed there: an append, a marker, a deletion."""
        waiting = self._by_place.get((topic, partition))
        if waiting:
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    def wake_all(self) -> None:
        """Let every long poll look again: the broker stops."""
        for waiting in self._by_place.values():
            for future in waiting:
                if not future.done():
                    future.set_result(None)
