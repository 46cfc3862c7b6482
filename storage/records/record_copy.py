"""Copies records of a batch for compaction and recompression.

It copies some of the records, or all with other deltas of their timestamps and offsets.

Input and output come in pieces. The lengths in the records are trusted, because the batch was
checked at its append.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

from ...protocol.errors import Code, Refused
from ...protocol.named_tuple import NamedTuple
from ...protocol.varints import read_signed, read_size, signed
from ..steps import Steps
from .payloads import Payload
from .record_stream import RecordStream, Wants
from .record_walk import LEAST_BYTES

_RECORDS_IN_A_STEP: Final = 1 << 5
_OUT_BYTES: Final = 1 << 16


NewDeltas = Callable[[int, int], tuple[int, int]]
"""The new timestamp delta, in ms, and offset delta of a record, from those it has."""


class Entry(NamedTuple):
    """The parts of a record that decide whether it stays.

    Attributes:
        is_tombstone: it has no value.
    """

    timestamp_delta_ms: int
    offset_delta: int
    key: bytes | None
    is_tombstone: bool


class RecordCopy(RecordStream):
    """A payload whose records are copied.

    Attributes:
        out: copied bytes, for the caller to take.
    """

    def __init__(self, record_count: int) -> None:
        super().__init__(record_count)
        self.out = bytearray()

    def copy(
        self,
        stays: Callable[[Entry], bool],
        new_deltas: NewDeltas | None = None,
    ) -> Wants:
        """Copy the records that stay.

        Args:
            new_deltas: None: unchanged.

        Raises:
            Refused: INVALID_RECORD.
        """
        while self._left:
            if not self._copy_those_at_hand(stays, new_deltas):
                body, stop = yield from self._next()
                if stop > len(self._payload):
                    yield from self._copy_large(body, stop, stays, new_deltas)
                    self._left -= 1
                elif not self._copy_those_at_hand(stays, new_deltas):
                    raise Refused(Code.INVALID_RECORD, "a record reaches beyond its batch")
            yield False
        yield from self._nothing_behind()

    def _copy_those_at_hand(
        self, stays: Callable[[Entry], bool], new_deltas: NewDeltas | None
    ) -> int:
        """Copy records that are whole in memory. Returns the number of records processed."""
        payload, at, end = self._payload, self._at, len(self._payload)
        count, most = 0, min(self._left, _RECORDS_IN_A_STEP)
        while count < most:
            start = at
            try:
                size, body = payload[at], at + 1
                if size >= 0x80:
                    size, body = read_size(payload, at)
                    size <<= 1
                stop = body + (size >> 1)
                if size & 1 or size < LEAST_BYTES << 1 or stop > end:
                    break
                delta_ms, rest = payload[body + 1], body + 2
                if delta_ms < 0x80:
                    delta_ms = (delta_ms >> 1) ^ -(delta_ms & 1)
                else:
                    delta_ms, rest = read_signed(payload, body + 1)
                size, behind = payload[rest], rest + 1
                if size < 0x80:
                    offset_delta = (size >> 1) ^ -(size & 1)
                else:
                    offset_delta, behind = read_size(payload, rest)
                size, at = payload[behind], behind + 1
                if size >= 0x80:
                    size, at = read_size(payload, at - 1)
                    size <<= 1
                key = None
                if size >= 0 and not size & 1:
                    size >>= 1
                    key = payload[at : at + size]
                    at += size
                size, at = payload[at], at + 1
                if size >= 0x80:
                    size, at = read_size(payload, at - 1)
                    size <<= 1
            except IndexError:
                break
            is_tombstone = size < 0 or bool(size & 1)
            if at + (0 if is_tombstone else size >> 1) >= stop:
                break
            if stays(Entry(delta_ms, offset_delta, key, is_tombstone)):
                deltas = delta_ms, offset_delta
                if new_deltas is None or (wanted := new_deltas(*deltas)) == deltas:
                    self.out += payload[start:stop]
                else:
                    changed = payload[body : body + 1] + signed(wanted[0]) + signed(wanted[1])
                    changed += payload[behind:stop]
                    self.out += signed(len(changed)) + changed
            count += 1
            at = self._at = stop
        self._left -= count
        return count

    def _copy_large(
        self,
        body: int,
        stop: int,
        stays: Callable[[Entry], bool],
        new_deltas: NewDeltas | None,
    ) -> Wants:
        """Copy a large record with only its key, and the fields before its value, in memory."""
        end = self._before + stop
        attributes = self._payload[body : body + 1]
        self._at = body
        yield from self._skip(1)
        attributes = attributes or self._payload[self._at - 1 : self._at]
        delta_ms = yield from self._number(read_signed)
        offset_delta = yield from self._number()
        size = yield from self._number()
        key = None
        if size >= 0:
            key = yield from self._bytes(size)
        value_size = yield from self._number()
        left = end - self._before - self._at
        if left <= max(value_size, 0):
            raise Refused(Code.INVALID_RECORD, "a record reaches beyond its batch")
        if not stays(Entry(delta_ms, offset_delta, key, value_size < 0)):
            yield from self._skip(left)
            return
        if new_deltas is not None:
            delta_ms, offset_delta = new_deltas(delta_ms, offset_delta)
        head = attributes + signed(delta_ms) + signed(offset_delta) + signed(size)
        head += (key or b"") + signed(value_size)
        self.out += signed(len(head) + left) + head
        while left:
            there = self._payload[self._at : self._at + left]
            self._at += len(there)
            left -= len(there)
            self.out += there
            if left:
                yield from self._more()

    def _bytes(self, size: int) -> Generator[bool, None, bytes]:
        parts = []
        while size > len(self._payload) - self._at:
            parts.append(self._payload[self._at :])
            size -= len(parts[-1])
            self._at = len(self._payload)
            yield from self._more()
        parts.append(self._payload[self._at : self._at + size])
        self._at += size
        return b"".join(parts)


def copied(
    copy: RecordCopy, walk: Wants, payload: Payload, take: Callable[[bytes], Steps[None]]
) -> Steps[None]:
    """Walk over a payload, and pass the copied bytes to `take`, piece by piece."""
    for wants_more in walk:
        if len(copy.out) > _OUT_BYTES:
            yield from take(bytes(copy.out))
            copy.out.clear()
        if not wants_more:
            yield None
            continue
        piece = yield from payload.next_piece()
        if piece is None:
            copy.end()
        else:
            copy.feed(piece)
    yield from take(bytes(copy.out))
    copy.out.clear()
