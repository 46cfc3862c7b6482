"""Walks over records whose payload comes in pieces, without holding all of it.

Only one record is whole in memory at a time, and none larger than `WHOLE_BYTES`: the fields of a
larger one are read as they arrive. The walk runs in short steps, so that other work can run between
them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final, NamedTuple

from ..protocol.errors import Code, Refused
from ..protocol.varints import read_signed, read_size
from .record_walk import IN_FULL, LEAST_BYTES, TakesLong, Walked, walk_in_full, walk_middle

WHOLE_BYTES: Final = 1 << 20
"""A larger record is never whole in memory."""

_RECORDS_IN_A_STEP: Final = 1 << 12
_FULL_RECORDS_IN_A_STEP: Final = 1 << 10
_HEADS_IN_A_STEP: Final = 1 << 7
_HEADERS_IN_A_STEP: Final = 1 << 9

Wants = Generator[bool, None, None]
"""True: call `feed` or `end` before it goes on. False: a pause is possible."""


class Head(NamedTuple):
    """The fields of a record except key, value and headers.

    Attributes:
        key_size, value_size: -1 means null.
    """

    batch_index: int
    timestamp_delta_ms: int
    offset_delta: int
    key_size: int
    value_size: int


class RecordStream:
    """A payload to walk over.

    Args:
        record_count: the count in the batch's header, at least 1.

    Attributes:
        found: the result of `check` at its end.
    """

    def __init__(self, record_count: int) -> None:
        self.found = Walked()
        self._record_count = record_count
        self._left = record_count
        self._payload: bytes = b""
        self._at = 0
        self._before = 0  # number of bytes before the payload in memory
        self._is_ended = False

    def feed(self, piece: bytes) -> None:
        """Add the next bytes of the payload, or none."""
        rest = self._payload[self._at :]
        self._before += self._at
        self._payload = rest + piece if rest else piece
        self._at = 0

    def end(self) -> None:
        """The payload is complete."""
        self._is_ended = True

    def check(self, *, closely: bool) -> Wants:
        """Check all records as `record_walk.walk` does.

        Raises:
            Refused: INVALID_RECORD.
        """
        while self._left:
            if self._is_in_the_middle() and self._walk_on(closely=closely):
                yield False
                continue
            body, stop = yield from self._next()
            if self._is_in_the_middle() and self._walk_on(closely=closely):
                continue
            yield from self._one_in_full(body, stop)
        yield from self._nothing_behind()

    def heads(self, visit: Callable[[Head], bool]) -> Wants:
        """Call `visit` with each record's head, in order, until it returns True.

        Raises:
            Refused: INVALID_RECORD, as `check`.
        """
        while self._left:
            index = self._record_count - self._left
            if visit((yield from self._head(index))):
                return
            if index % _HEADS_IN_A_STEP == 0:
                yield False
        yield from self._nothing_behind()

    def _walk_on(self, *, closely: bool) -> bool:
        """Walk over middle records that are whole in memory; returns whether there was one."""
        most = min(self._left - 1, _FULL_RECORDS_IN_A_STEP if closely else _RECORDS_IN_A_STEP)
        try:
            left, self._at = walk_middle(self._payload, self._at, most, self.found, closely=closely)
        except TakesLong:
            return False
        self._left -= most - left
        return left < most

    def _is_in_the_middle(self) -> bool:
        """Whether the next record needs no full check."""
        return self._record_count > IN_FULL and 1 < self._left < self._record_count

    def _one_in_full(self, body: int, stop: int) -> Wants:
        """Check the next record in full, of any size."""
        if self._is_valid(stop):
            self._at = stop
            self._left -= 1
        else:
            yield from self._pass_by(body, stop)

    def _is_valid(self, stop: int) -> bool:
        """Whether the next record is in memory and valid; False: read it field by field."""
        if stop > len(self._payload):
            return False
        try:
            walk_in_full(self._payload, self._at, 1, self.found)
        except TakesLong:
            return False
        return True

    def _next(self) -> Generator[bool, None, tuple[int, int]]:
        """Start and end of the next record's body, which is in memory unless it is large."""
        while True:
            try:
                size, body = read_size(self._payload, self._at)
            except IndexError:
                yield from self._more()
                continue
            if size < LEAST_BYTES:
                raise Refused(Code.INVALID_RECORD, "a record is too short")
            if body + size <= len(self._payload) or size > WHOLE_BYTES:
                return body, body + size
            yield from self._more()

    def _pass_by(self, body: int, stop: int) -> Generator[bool, None, Head]:
        """Read the fields of a record as they arrive."""
        end = self._before + stop
        self._at = body
        yield from self._skip(1)  # attributes: unused
        delta_ms = yield from self._number(read_signed)
        self.found.take_delta(delta_ms)
        offset_delta = yield from self._number()
        key_size = yield from self._number()
        if key_size < 0:
            self.found.all_have_keys = False
        yield from self._skip(key_size)
        value_size = yield from self._number()
        yield from self._skip(value_size)
        header_count = yield from self._number()
        if header_count < 0:
            raise Refused(Code.INVALID_RECORD, "a negative number of headers")
        for count in range(header_count):
            size = yield from self._number()
            if size < 0:
                raise Refused(Code.INVALID_RECORD, "a header without a key")
            yield from self._skip(size)
            yield from self._skip((yield from self._number()))
            if count % _HEADERS_IN_A_STEP == 0:
                yield False
        if self._before + self._at != end:
            raise Refused(Code.INVALID_RECORD, "a record's size is not that of its fields")
        head = Head(self._record_count - self._left, delta_ms, offset_delta, key_size, value_size)
        self._left -= 1
        return head

    def _head(self, index: int) -> Generator[bool, None, Head]:
        body, stop = yield from self._next()
        if not self._is_valid(stop):
            return (yield from self._pass_by(body, stop))
        self._at = stop
        self._left -= 1
        delta_ms, at = read_signed(self._payload, body + 1)
        offset_delta, at = read_size(self._payload, at)
        key_size, at = read_size(self._payload, at)
        value_size, _ = read_size(self._payload, at + max(key_size, 0))
        return Head(index, delta_ms, offset_delta, key_size, value_size)

    def _nothing_behind(self) -> Wants:
        while True:
            if self._at < len(self._payload):
                raise Refused(Code.INVALID_RECORD, "the batch holds more bytes than its records")
            if self._is_ended:
                return
            yield from self._more()

    def _more(self) -> Wants:
        if self._is_ended:
            raise Refused(Code.INVALID_RECORD, "a record is truncated")
        yield True

    def _number(
        self, read: Callable[[bytes, int], tuple[int, int]] = read_size
    ) -> Generator[bool, None, int]:
        while True:
            try:
                number, self._at = read(self._payload, self._at)
            except IndexError:
                yield from self._more()
            else:
                return number

    def _skip(self, size: int) -> Wants:
        while size > len(self._payload) - self._at:
            size -= len(self._payload) - self._at
            self._at = len(self._payload)
            yield from self._more()
        if size > 0:
            self._at += size
