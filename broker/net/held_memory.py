"""How much memory connections hold: requests that are not served yet, answers not read yet.

Each has a limit for all connections together, and what a connection holds below `SMALL_BYTES` does
not count: clients with small requests never notice that others have used up the limit.

Requests: beyond queued.max.request.bytes connections are not read from until others are served, as
in Kafka (its MemoryPool); one at a time is, so that something always comes to its end. Kafka counts
what a request says that it will have, Ottla what has come. Who sends nothing more while others wait
loses the connection.

Answers: beyond the limit those lose the connection who have read nothing for the longest time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

SMALL_BYTES: Final = 1 << 16
UNLIMITED_REQUESTS_BYTES: Final = 224 << 20
"""The limit where queued.max.request.bytes is -1, unless two of the largest requests are more."""
ANSWERS_BYTES: Final = 256 << 20
STALLED_S: Final = 10.0
MUCH_BYTES: Final = 16 << 20
"""When so much was held of requests, and nothing is any more, the memory is given back."""
_FREED_AFTER_S: Final = 1.0


class Holder(Protocol):
    """A connection."""

    @property
    def is_receiving(self) -> bool:
        """Whether what it holds is a request of which a part is still to come."""

    @property
    def unsent_bytes(self) -> int:
        """What it has of answers that the socket did not take."""

    def hold(self) -> None:
        """Read nothing until `release`."""

    def release(self) -> None:
        """Read again."""

    def give_up(self, why: str) -> None:
        """End it now, with a line that says why."""


class RequestMemory:
    """What is held of requests.

    Args:
        limit_bytes: of all connections.
        on_freed: called a second after the last of much (`MUCH_BYTES`) was served.
    """

    def __init__(self, limit_bytes: int, on_freed: Callable[[], None] | None = None) -> None:
        self.used_bytes = 0
        self._limit_bytes = limit_bytes
        self._on_freed = on_freed
        self._most_bytes = 0  # since nothing was held
        self._held: dict[Holder, int] = {}
        self._waiting: dict[Holder, None] = {}  # by age
        self._first: Holder | None = None  # goes on though the limit is reached
        self._seen: dict[Holder, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def holds(self, one: Holder, size_bytes: int) -> bool:
        """Take note of what a connection holds now. Returns whether that counts."""
        before, now = self._held.get(one, 0), size_bytes if size_bytes > SMALL_BYTES else 0
        if now:
            self._held[one] = now
        else:
            self._held.pop(one, None)
        self.used_bytes += now - before
        if now > before:
            self._most_bytes = max(self._most_bytes, self.used_bytes)
            if self.used_bytes > self._limit_bytes:
                self._make_wait(one)
        elif now < before:
            self._served(one)
            if self.used_bytes == 0:
                self._all_served()
        return now > 0

    def _all_served(self) -> None:
        if self._most_bytes >= MUCH_BYTES and self._on_freed is not None:
            asyncio.get_running_loop().call_later(_FREED_AFTER_S, self._on_freed)
        self._most_bytes = 0

    def lost(self, one: Holder) -> None:
        """The connection is gone, with all that it held."""
        self._waiting.pop(one, None)
        self._seen.pop(one, None)
        self.holds(one, 0)

    def _make_wait(self, one: Holder) -> None:
        if self._first is None:
            self._first = one
        if one is self._first or one in self._waiting:
            return
        self._waiting[one] = None
        one.hold()
        if self._timer is None:
            self._seen = dict(self._held)
            self._look_later()

    def _served(self, one: Holder) -> None:
        if one is self._first and one not in self._held:
            self._first = None
        if one in self._waiting:
            self._let_go_on(one)
        while self._waiting and self.used_bytes <= self._limit_bytes:
            self._let_go_on(next(iter(self._waiting)))
        if self._waiting and self._first is None:
            self._first = next(iter(self._waiting))
            self._let_go_on(self._first)

    def _let_go_on(self, one: Holder) -> None:
        del self._waiting[one]
        one.release()

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(STALLED_S, self._look_for_stalled)

    def _look_for_stalled(self) -> None:
        """End those that could have sent and did not, while others wait for what they hold."""
        self._timer = None
        before, self._seen = self._seen, dict(self._held)
        for one, size_bytes in self._seen.items():
            if one in self._waiting or size_bytes >= before.get(one, 0) + SMALL_BYTES:
                continue
            if one in before and one.is_receiving:
                one.give_up(
                    f"{size_bytes} bytes of a request, nothing more for {STALLED_S:.0f} s, and "
                    f"others wait for the memory (queued.max.request.bytes)"
                )
            elif one is self._first:  # what it holds waits for something else
                self._first = None
                self._served(one)
        if self._waiting:
            self._look_later()


class AnswerMemory:
    """What is held of answers.

    Args:
        limit_bytes: of all connections; one alone may have more.
    """

    def __init__(self, limit_bytes: int = ANSWERS_BYTES) -> None:
        self.used_bytes = 0
        self._limit_bytes = limit_bytes
        self._held: dict[Holder, int] = {}  # by when it was last read from, the oldest first

    @property
    def is_scarce(self) -> bool:
        """Whether answers are to be read from files in smaller parts."""
        return self.used_bytes > self._limit_bytes // 2

    def holds(self, one: Holder, size_bytes: int) -> bool:
        """Take note of what a connection holds now. Returns whether that counts."""
        self.used_bytes -= self._held.pop(one, 0)
        if size_bytes <= SMALL_BYTES:
            return False
        self._held[one] = size_bytes
        self.used_bytes += size_bytes
        if self.used_bytes > self._limit_bytes:
            self._make_room()
        return True

    def _make_room(self) -> None:
        """End those who do not read, longest first; not the newest, whose turn it is just now."""
        for one, before in list(self._held.items())[:-1]:
            now = one.unsent_bytes
            if now < before:  # it reads: the others first
                del self._held[one]
                self._held[one] = now
                self.used_bytes -= before - now
        for one in list(self._held):
            if self.used_bytes <= self._limit_bytes or len(self._held) == 1:
                return
            size_bytes = self._held.pop(one)
            self.used_bytes -= size_bytes
            one.give_up(f"{size_bytes} bytes of answers that it does not read: all have too many")
