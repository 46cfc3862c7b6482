"""Walks over records whose payload comes in pieces, without holding all of it.

Only one record is whole in memory at a time, and none larger than `WHOLE_BYTES`: the fields of a
larger one are read as they arrive. The walk runs in short steps, so that other work can run between
them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

from ...protocol.errors import Code, Refused
from ...protocol.named_tuple import NamedTuple
from ...protocol.varints import read_signed, read_size
from ..log_config import ANY_SIZE
from .record_walk import LEAST_BYTES, TakesLong, Walked, broken, walk_on

WHOLE_BYTES: Final = 1 << 20
"""A larger record is never whole in memory."""

_RECORDS_IN_A_STEP: Final = 1 << 10
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
        most_bytes: the largest size of a record (max.decompressed.message.bytes). `check` compares
            only records that are not in memory.

    Attributes:
        found: the result of `check`, or of `heads`, at its end.
    """

    def __init__(self, record_count: int, most_bytes: int = ANY_SIZE) -> None:
        self._most_bytes = most_bytes
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

    def check(self) -> Wants:
        """Check all records as `record_walk.walk` does.

        Raises:
            Refused: INVALID_RECORD.
        """
        while self._left:
            if self._walk_on():
                yield False
                continue
            body, stop = yield from self._next()
            if not self._walk_on():
                yield from self._pass_by(body, stop)
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

    def _walk_on(self) -> bool:
        """Check records that are whole in memory; returns whether there was one."""
        most = min(self._left, _RECORDS_IN_A_STEP)
        self.found.rest()
        try:
            left, self._at = walk_on(self._payload, self._at, most, self.found)
        except TakesLong as long:
            left, self._at = long.left, long.at
        self._left -= most - left
        return left < most

    def _next(self) -> Generator[bool, None, tuple[int, int]]:
        """Start and end of the next record's body, which is in memory unless it is large."""
        while True:
            try:
                size, body = read_size(self._payload, self._at)
            except IndexError:
                yield from self._more()
                continue
            except Refused as refused:
                raise self._broken(refused.why) from None
            if size < LEAST_BYTES:
                raise self._broken(f"its size is {size}")
            if size > self._most_bytes:
                raise self._broken(f"its {size} bytes are more than max.decompressed.message.bytes")
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
            raise self._broken(f"it has {header_count} headers")
        for count in range(header_count):
            size = yield from self._number()
            if size < 0:
                raise self._broken("it has a header without a key")
            yield from self._skip(size)
            yield from self._skip((yield from self._number()))
            if count % _HEADERS_IN_A_STEP == 0:
                yield False
        if self._before + self._at != end:
            raise self._broken("its size is not that of its fields")
        index = self._record_count - self._left
        if offset_delta != index:
            self.found.is_in_order = False
        self.found.count += 1
        head = Head(index, delta_ms, offset_delta, key_size, value_size)
        self._left -= 1
        return head

    def _head(self, index: int) -> Generator[bool, None, Head]:
        body, stop = yield from self._next()
        self.found.rest()
        try:
            left, self._at = walk_on(self._payload, self._at, 1, self.found)
        except TakesLong:
            left = 1
        if left:
            return (yield from self._pass_by(body, stop))
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

    def _broken(self, why: str | None) -> Refused:
        return broken(self._record_count - self._left, why)

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
            except Refused as refused:
                raise self._broken(refused.why) from None
            else:
                return number

    def _skip(self, size: int) -> Wants:
        while size > len(self._payload) - self._at:
            size -= len(self._payload) - self._at
            self._at = len(self._payload)
            yield from self._more()
        if size > 0:
            self._at += size
