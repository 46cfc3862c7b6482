"""The timers of a state machine: a deadline for each key, in a heap; the caller brings the time.

Most changes put a deadline off (every heartbeat does). That costs a dict entry only: the heap keeps
the earlier time, and the key is moved when the earlier time comes.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from enum import StrEnum
from typing import Generic, NamedTuple, Protocol, TypeVar

from .volatile import Volatile

Key = TypeVar("Key", bound=Hashable)


class Timer(StrEnum):
    """The kinds of timers of groups; each value says what the timer waits for."""

    SESSION = "the heartbeat of a member"
    REBALANCE = "a member that has to give up partitions or tasks"
    JOIN = "members of the classic protocol that have to rejoin"
    SYNC = "members of the classic protocol that have to sync"
    REGEX = "nothing: regular expressions are matched after the next decision"
    INITIAL = "more members of a streams group that was empty"


class TimerKey(NamedTuple):
    """A timer: of a group, or of a member."""

    timer: Timer
    group_id: str
    member_id: str = ""


class Timers(Protocol):
    """`Deadlines`, whatever their keys are."""

    def next(self) -> int | None:
        """The earliest deadline; None when there is none."""


class Deadlines(Volatile, Generic[Key]):
    """Keys with the time, in ms, at which each is due."""

    def __init__(self) -> None:
        self._due_ms: dict[Key, int] = {}
        self._queued_ms: dict[Key, int] = {}  # not after `_due_ms`: where the key is in the heap
        self._heap: list[tuple[int, int, Key]] = []
        self._pushed = 0  # orders equal deadlines, so that keys are not compared

    def set(self, key: Key, due_ms: int) -> None:
        """Set the deadline of a key, or replace it."""
        self._due_ms[key] = due_ms
        queued_ms = self._queued_ms.get(key)
        if queued_ms is None or due_ms < queued_ms:
            self._push(key, due_ms)

    def cancel(self, key: Key) -> None:
        """Remove the deadline of a key, if it has one."""
        self._due_ms.pop(key, None)

    def is_set(self, key: Key) -> bool:
        return key in self._due_ms

    def due_ms(self, key: Key) -> int | None:
        """The deadline of a key; None if it has none."""
        return self._due_ms.get(key)

    def next(self) -> int | None:
        """The earliest deadline; None when there is none."""
        while self._heap:
            queued_ms, _, key = self._heap[0]
            due_ms = self._due_ms.get(key)
            if due_ms == queued_ms:
                return queued_ms
            heapq.heappop(self._heap)
            if self._queued_ms.get(key) == queued_ms:
                del self._queued_ms[key]
                if due_ms is not None:
                    self._push(key, due_ms)
        return None

    def take_due(self, now_ms: int) -> Iterator[Key]:
        """Remove and yield the keys that are due, the earliest first; also those set meanwhile."""
        while (due_ms := self.next()) is not None and due_ms <= now_ms:
            _, _, key = heapq.heappop(self._heap)
            del self._due_ms[key]
            del self._queued_ms[key]
            yield key

    def _push(self, key: Key, due_ms: int) -> None:
        self._queued_ms[key] = due_ms
        self._pushed += 1
        heapq.heappush(self._heap, (due_ms, self._pushed, key))
