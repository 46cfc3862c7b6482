"""Fetches that wait for new records, by partition; an append wakes them.

A wake-up only ends the wait. The Fetch then reads again in the next turn of the loop, so that one
answer has all appends of a turn. `has_enough` of a Fetch decides whether an append wakes it
(AwaitedBytes).

The partitions of a fetch session are watched for as long as they are in it. A change is noted in
the session, so that its next Fetch reads only the partitions with changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, Protocol

from ..work_limits import WORK_LIMITS

TopicPartition = tuple[str, int]
HasEnough = Callable[[TopicPartition], bool]

_UNWATCHED_IN_A_TURN: Final = 1_000


class Watcher(Protocol):
    """A fetch session, as it hears of changes."""

    def note(self, key: object, topic_partition: TopicPartition) -> asyncio.Future[bool] | None:
        """Note a change of a partition; return the waiting Fetch if it has enough now."""

    def wake(self, key: object) -> asyncio.Future[bool] | None:
        """Note a change that ends every wait; return the waiting Fetch."""


MOST_IN_A_TURN: Final = 32
"""Fetches woken for one partition in a turn of the loop; each may take 50 microseconds."""


class FetchWaits:
    """The waiting fetches of a process, by topic and partition.

    Attributes:
        count: the number of waits: pairs of a waiting Fetch and a partition.
        limit: their largest number; beyond it, a Fetch does not wait.
    """

    __slots__ = ("_by_partition", "_of_sessions", "_watchers", "count", "limit")

    def __init__(self, limit: int = WORK_LIMITS.awaited_partitions) -> None:
        self.limit = limit
        self._by_partition: dict[TopicPartition, dict[asyncio.Future[bool], HasEnough | None]] = {}
        # Tuples, because a list of one element takes 40 bytes more.
        self._watchers: dict[TopicPartition, tuple[tuple[Watcher, object], ...]] = {}
        self._of_sessions: set[asyncio.Future[bool]] = set()
        self.count = 0

    def watch(self, topic_partition: TopicPartition, watcher: Watcher, key: object) -> None:
        """Have a session note changes of a partition, until `unwatch`.

        Args:
            key: the name of the partition in the session.
        """
        watching = self._watchers.get(topic_partition, ())
        self._watchers[topic_partition] = (*watching, (watcher, key))

    def unwatch(self, watched: Sequence[tuple[TopicPartition, object]], watcher: Watcher) -> None:
        """End `watch` for partitions, each with its key: some now, the others in later turns."""
        for topic_partition, key in watched[:_UNWATCHED_IN_A_TURN]:
            watching = self._watchers[topic_partition]
            at = watching.index((watcher, key))
            if len(watching) > 1:
                self._watchers[topic_partition] = watching[:at] + watching[at + 1 :]
            else:
                del self._watchers[topic_partition]
        rest = watched[_UNWATCHED_IN_A_TURN:]
        if rest:
            asyncio.get_running_loop().call_soon(self.unwatch, rest, watcher)

    def wait_in_session(self) -> asyncio.Future[bool]:
        """A future for the waiting Fetch of a session; `forget_in_session` must follow."""
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._of_sessions.add(waiting)
        return waiting

    def forget_in_session(self, waiting: asyncio.Future[bool]) -> None:
        """Remove a future of `wait_in_session`."""
        self._of_sessions.discard(waiting)

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
        watching = self._watchers.get(topic_partition)
        if watching is not None:
            woken = [one.note(key, topic_partition) for one, key in watching]
            self._wake_in_turns([one for one in woken if one is not None], has_enough=True)
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
        woken = list(self._by_partition.get((topic, partition), ()))
        for watcher, key in self._watchers.get((topic, partition), ()):
            waiting = watcher.wake(key)
            if waiting is not None:
                woken.append(waiting)
        if woken:
            self._wake_in_turns(woken)

    def changed(self, topic: str, partition: int) -> None:
        """Note a change that ends no wait: the start of a log has moved."""
        for watcher, key in self._watchers.get((topic, partition), ()):
            watcher.wake(key)

    def wake_all(self) -> None:
        """Wake all fetches, because the broker stops."""
        for others in (self._of_sessions, *self._by_partition.values()):
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
