"""One direction of a TCP connection: its bytes in their order, from segments in any order.

Segments may come late, twice, and overlap. Bytes that do not come are `Lost` once too much waits
behind them, or for too long.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Final, NamedTuple

MOST_WAITING_BYTES: Final = 8 << 20
LONGEST_WAIT_US: Final = 10_000_000
_NUMBERS: Final = 1 << 32


class Data(NamedTuple):
    """The next bytes, and when they were captured."""

    data: bytes
    at_us: int


class Lost(NamedTuple):
    """The next bytes are not in the capture."""

    size: int
    at_us: int


class Direction:
    """Puts the segments of one direction in their order.

    Positions are sequence numbers that do not wrap.

    Attributes:
        has_syn: the first segment was seen.
        is_over: the last byte before the FIN was taken.
    """

    __slots__ = (
        "_end", "_first", "_next", "_reference", "_since_us", "_waiting", "_waiting_bytes",
    )  # fmt: skip

    def __init__(self) -> None:
        self._next: int | None = None
        self._reference: int | None = None
        self._waiting: list[tuple[int, int, int, bytes]] = []  # position, -size, time, bytes
        self._waiting_bytes = 0
        self._since_us = 0  # when the present hole was found
        self._end: int | None = None
        self._first: int | None = None  # the position behind the SYN

    @property
    def has_syn(self) -> bool:
        return self._first is not None

    @property
    def is_over(self) -> bool:
        return self._end is not None and self._next is not None and self._next >= self._end

    def is_another(self, sequence: int) -> bool:
        """Whether a SYN with this number begins another connection than the one seen so far."""
        if self._reference is None:
            return False
        first = self._position(sequence) + 1
        if self._first is not None:
            return first != self._first
        known = [position for position, *_ in self._waiting]
        if self._next is not None:
            known.append(self._next)
        return not any(0 <= position - first <= MOST_WAITING_BYTES for position in known)

    def syn(self, sequence: int) -> None:
        """The first segment, which has no bytes."""
        if self._first is None:
            self._first = self._position(sequence) + 1
            if self._next is None:
                self._next = self._first

    def add(self, sequence: int, payload: bytes, at_us: int) -> None:
        """A segment with bytes."""
        position = self._position(sequence)
        if self._next is not None and position + len(payload) <= self._next:
            return
        if not self._waiting:
            self._since_us = at_us
        heappush(self._waiting, (position, -len(payload), at_us, payload))
        self._waiting_bytes += len(payload)

    def fin(self, sequence: int) -> None:
        """The number behind the last byte."""
        self._end = self._position(sequence)

    def begin(self) -> None:
        """Take the first byte that was seen for the beginning."""
        if self._next is None and self._waiting:
            self._next = self._waiting[0][0]
        elif self._next is None and self._end is not None:
            self._next = self._end

    def take(self, now_us: int, *, is_last: bool = False) -> Iterator[Data | Lost]:
        """The bytes that are next, as far as they are known.

        Args:
            is_last: no more segments come, so holes are lost.
        """
        if self._next is None:
            return
        while self._waiting:
            position, _, at_us, payload = self._waiting[0]
            if position > self._next:
                if not (is_last or self._gives_up(now_us)):
                    return
                lost, self._next = position - self._next, position
                yield Lost(lost, at_us)
            heappop(self._waiting)
            self._waiting_bytes -= len(payload)
            self._since_us = now_us
            fresh = payload[self._next - position :]
            if fresh:
                self._next += len(fresh)
                self._reference = self._next
                yield Data(fresh, at_us)
        if is_last and self._end is not None and self._end > self._next:
            lost, self._next = self._end - self._next, self._end
            yield Lost(lost, now_us)

    def _gives_up(self, now_us: int) -> bool:
        waited_us = now_us - self._since_us
        return self._waiting_bytes > MOST_WAITING_BYTES or waited_us > LONGEST_WAIT_US

    def _position(self, sequence: int) -> int:
        if self._reference is None:
            self._reference = sequence + _NUMBERS
        ahead = (sequence - self._reference) % _NUMBERS
        return self._reference + (ahead if ahead < _NUMBERS // 2 else ahead - _NUMBERS)
