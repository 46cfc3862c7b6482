"""Fetches that wait for new records, by partition; an append wakes them.

A wake-up only ends the wait. The Fetch then reads again in the next turn of the loop, so that one
answer has all appends of a turn. `has_enough` of a Fetch decides whether an append wakes it
(AwaitedBytes).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from .work_limits import WORK_LIMITS

TopicPartition = tuple[str, int]
HasEnough = Callable[[TopicPartition], bool]

MOST_IN_A_TURN: Final = 32
"""Fetches woken for one partition in a turn of the loop; each may take 50 microseconds."""


class FetchWaits:
    """The waiting fetches of a process, by topic and partition.

    Attributes:
        count: the number of waits: pairs of a waiting Fetch and a partition.
        limit: their largest number; beyond it, a Fetch does not wait.
    """

    __slots__ = ("_by_partition", "count", "limit")

    def __init__(self, limit: int = WORK_LIMITS.awaited_partitions) -> None:
        self.limit = limit
        self._by_partition: dict[TopicPartition, dict[asyncio.Future[bool], HasEnough | None]] = {}
        self.count = 0

    def wait(
        self, topic_partitions: Iterable[TopicPartition], has_enough: HasEnough | None = None
    ) -> asyncio.Future[bool]:
        """A future that is done when a partition has news; `forget` must follow.

        Args:
            has_enough: whether an append to a partition ends the wait; None if each does.

        Returns:
            The future; its result is whether `has_enough` ended the wait.
        """
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.add(waiting, topic_partitions, has_enough)
        return waiting

    def add(
        self,
        waiting: asyncio.Future[bool],
        topic_partitions: Iterable[TopicPartition],
        has_enough: HasEnough | None = None,
    ) -> None:
        """Add partitions to a future of `wait`."""
        for topic_partition in topic_partitions:
            others = self._by_partition.setdefault(topic_partition, {})
            self.count += waiting not in others
            others[waiting] = has_enough

    def forget(
        self, waiting: asyncio.Future[bool], topic_partitions: Iterable[TopicPartition]
    ) -> None:
        """Remove a future of `wait`."""
        for topic_partition in topic_partitions:
            others = self._by_partition.get(topic_partition)
            if others is not None and waiting in others:
                del others[waiting]
                self.count -= 1
                if not others:
                    del self._by_partition[topic_partition]

    def appended(self, topic: str, partition: int) -> None:
        """Wake the fetches that have enough after an append of records or a marker."""
        topic_partition = (topic, partition)
        others = self._by_partition.get(topic_partition)
        if others is None:
            return
        if len(others) > MOST_IN_A_TURN:
            ready = [
                one for one, enough in others.items() if enough is None or enough(topic_partition)
            ]
            self._wake_in_turns(ready, has_enough=True)
            return
        for waiting, has_enough in others.items():
            if not waiting.done() and (has_enough is None or has_enough(topic_partition)):
                waiting.set_result(True)

    def wake(self, topic: str, partition: int) -> None:
        """Wake all fetches of a partition after another change: a leader, a deletion."""
        waiting = self._by_partition.get((topic, partition))
        if waiting:
            self._wake_in_turns(list(waiting))

    def wake_all(self) -> None:
        """Wake all fetches, because the broker stops."""
        for others in self._by_partition.values():
            for waiting in others:
                _wake(waiting)

    def _wake_in_turns(
        self, waiting: Sequence[asyncio.Future[bool]], *, has_enough: bool = False
    ) -> None:
        """Wake some now and the others in the next turns of the loop, because each one reads."""
        for one in waiting[:MOST_IN_A_TURN]:
            if not one.done():
                one.set_result(has_enough)
        rest = waiting[MOST_IN_A_TURN:]
        if rest:
            wake = partial(self._wake_in_turns, rest, has_enough=has_enough)
            asyncio.get_running_loop().call_soon(wake)


def _wake(waiting: asyncio.Future[bool]) -> None:
    if not waiting.done():
        waiting.set_result(False)
