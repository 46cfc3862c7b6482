"""Limits the memory of connections: for requests not served yet, and for answers not sent yet.

Both limits are for all connections together. A connection that holds less than `SMALL_BYTES` does
not count, so that a used-up limit never delays clients with small requests.

Requests: beyond queued.max.request.bytes connections are not read until others are served, as in
Kafka (MemoryPool). One of them is still read, so that there is always progress. Kafka counts the
announced size of a request, Ottla the received bytes. A connection that stops in the middle of a
request while others wait is closed.

Answers: beyond the limit the connections that have not read for the longest time are closed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from ..clock import Clock, Timer

SMALL_BYTES: Final = 1 << 16
UNLIMITED_REQUESTS_BYTES: Final = 224 << 20
"""The limit if queued.max.request.bytes is -1, unless two of the largest requests are larger."""
ANSWERS_BYTES: Final = 256 << 20
STALLED_S: Final = 10.0
MUCH_BYTES: Final = 16 << 20
"""Requests that held so much, and are all served, have their memory returned to the system."""
_FREED_AFTER_S: Final = 1.0
_RELEASED_AT_ONCE: Final = 16
"""Of thousands that wait, so many read; what they receive counts before the next ones may read."""
_NEXT_AFTER_MS: Final = 1


class Holder(Protocol):
    """A connection, as its memory is counted."""

    @property
    def is_receiving(self) -> bool:
        """Whether it holds part of a request and waits for the rest."""

    @property
    def unsent_bytes(self) -> int:
        """The bytes of answers in memory that the socket has not taken yet."""

    def hold(self) -> None:
        """Stop reading until `release`."""

    def release(self) -> None:
        """Read again."""

    def give_up(self, why: str) -> None:
        """Close it now and log the reason."""


class RequestMemory:
    """The memory that connections hold for requests.

    Args:
        limit_bytes: the limit for all connections together.
        clock: the time.
        on_freed: called a second after all requests are served, if they held `MUCH_BYTES`.
    """

    def __init__(
        self, limit_bytes: int, clock: Clock, on_freed: Callable[[], None] | None = None
    ) -> None:
        self.used_bytes = 0
        self._clock = clock
        self._limit_bytes = limit_bytes
        self._on_freed = on_freed
        self._most_bytes = 0  # the maximum since `used_bytes` was 0
        self._held: dict[Holder, int] = {}
        self._waiting: dict[Holder, None] = {}  # the oldest first
        self._first: Holder | None = None  # is read although the limit is reached
        self._seen: dict[Holder, int] = {}
        self._timer: Timer | None = None
        self._next: Timer | None = None  # runs after some were released

    @property
    def is_scarce(self) -> bool:
        """Whether half of the limit is in use."""
        return self.used_bytes > self._limit_bytes // 2

    def holds(self, one: Holder, size_bytes: int) -> bool:
        """Set the bytes that a connection holds; return whether they count."""
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
                self._note_all_served()
        return now > 0

    def _note_all_served(self) -> None:
        if self._most_bytes >= MUCH_BYTES and self._on_freed is not None:
            self._clock.call_after_ms(_FREED_AFTER_S * 1000, self._on_freed)
        self._most_bytes = 0

    def lost(self, one: Holder) -> None:
        """Remove a lost connection and its memory."""
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
            self._release(one)
        if self._next is None:
            self._release_some()
        if self._waiting and self._first is None:
            self._first = next(iter(self._waiting))
            self._release(self._first)

    def _release_some(self) -> None:
        self._next = None
        for _ in range(_RELEASED_AT_ONCE):
            if not self._waiting or self.used_bytes > self._limit_bytes:
                return
            self._release(next(iter(self._waiting)))
        if self._waiting:
            self._next = self._clock.call_after_ms(_NEXT_AFTER_MS, self._release_some)

    def _release(self, one: Holder) -> None:
        del self._waiting[one]
        one.release()

    def _look_later(self) -> None:
        self._timer = self._clock.call_after_ms(STALLED_S * 1000, self._look_for_stalled)

    def _look_for_stalled(self) -> None:
        """Close connections that stopped in the middle of a request while others wait."""
        self._timer = None
        before, self._seen = self._seen, dict(self._held)
        for one, size_bytes in self._seen.items():
            if one in self._waiting or size_bytes >= before.get(one, 0) + SMALL_BYTES:
                continue
            if one in before and one.is_receiving:
                one.give_up(
                    f"it holds {size_bytes} bytes of an incomplete request, has received nothing "
                    f"for {STALLED_S:.0f} s, and others wait (queued.max.request.bytes)"
                )
            elif one is self._first:  # its request is whole and waits for something else
                self._first = None
                self._served(one)
        if self._waiting:
            self._look_later()


class AnswerMemory:
    """The memory that connections hold for answers.

    Args:
        limit_bytes: the limit for all connections together; a single one may hold more.
    """

    def __init__(self, limit_bytes: int = ANSWERS_BYTES) -> None:
        self.used_bytes = 0
        self._limit_bytes = limit_bytes
        self._held: dict[Holder, int] = {}  # the one whose client has not read for longest first

    @property
    def is_scarce(self) -> bool:
        """Whether answers should be read from files in smaller parts."""
        return self.used_bytes > self._limit_bytes // 2

    def holds(self, one: Holder, size_bytes: int) -> bool:
        """Set the bytes that a connection holds; return whether they count."""
        self.used_bytes -= self._held.pop(one, 0)
        if size_bytes <= SMALL_BYTES:
            return False
        self._held[one] = size_bytes
        self.used_bytes += size_bytes
        if self.used_bytes > self._limit_bytes:
            self._make_room()
        return True

    def _make_room(self) -> None:
        """Close connections whose clients do not read, longest first, except the newest one."""
        for one, before in list(self._held.items())[:-1]:
            now = one.unsent_bytes
            if now < before:  # the client reads: move it behind the others
                del self._held[one]
                self._held[one] = now
                self.used_bytes -= before - now
        for one in list(self._held):
            if self.used_bytes <= self._limit_bytes or len(self._held) == 1:
                return
            size_bytes = self._held.pop(one)
            self.used_bytes -= size_bytes
            one.give_up(
                f"its client does not read {size_bytes} bytes of answers, "
                "and the unread answers of all connections exceed their limit"
            )
