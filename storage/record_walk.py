"""Checks that a payload contains exactly the records that its batch's header declares.

Kafka reads every record of every batch; in Python that would cost more than the rest of an append.
So every length and count is checked in the first `IN_FULL` records only. In a longer batch the
first and the last record are checked in full; of the others only their boundaries, number and
timestamps. A close walk checks all of them, and their keys. Most producers send runs of records of
one size, which are checked by slices with that stride, at the speed of C.

The payload must be whole in memory; `RecordStream` walks over payloads that come in pieces.
"""

from __future__ import annotations

from typing import Final

from ..protocol.batch import Bytes
from ..protocol.errors import Code, Refused
from ..protocol.varints import read_signed, read_size

IN_FULL: Final = 8
LEAST_BYTES: Final = 6
"""A record without its length: attributes, two deltas, and three lengths."""

_SHORTEST_RUN: Final = 8
_LONGEST_RUN: Final = 1 << 12
_BEFORE_ANOTHER_RUN: Final = 256  # records that are walked over one by one
_COUNTS_AS_RUNS: Final = 8  # what they count as
_MANY_HEADERS: Final = 1 << 12
_ASCII: Final = bytes(range(0x80))

_UNLIMITED: Final = 1 << 31


class TakesLong(Exception):
    """The check would take long: too many sizes of records, or headers of one record."""


class Walked:
    """The result of a walk.

    Attributes:
        largest_delta_ms, smallest_delta_ms: timestamp deltas of the records; the base timestamp is
            unknown here. The smallest is valid after a close walk only.
        all_have_keys: valid after a close walk only.
    """

    # One per batch: the class attributes are defaults that cost nothing.
    largest_delta_ms = -0x8000000000000000
    smallest_delta_ms = 0x7FFFFFFFFFFFFFFF
    all_have_keys = True

    def take_delta(self, delta_ms: int) -> None:
        """Include a record's timestamp delta."""
        if delta_ms > self.largest_delta_ms:
            self.largest_delta_ms = delta_ms
        if delta_ms < self.smallest_delta_ms:
            self.smallest_delta_ms = delta_ms


def walk(
    payload: Bytes,
    record_count: int,
    start: int = 0,
    *,
    closely: bool = False,
    most_runs: int = _UNLIMITED,
) -> Walked:
    """Check that `payload` from `start` on consists of exactly `record_count` records.

    Args:
        record_count: at least 1.
        closely: check every record in full.
        most_runs: the largest number of runs of records of one size, so that a walk over many
            records is short; other records count as runs too.

    Raises:
        Refused: INVALID_RECORD if lengths, count and payload do not match.
        TakesLong: the check would take long.
    """
    found = Walked()
    if record_count <= IN_FULL:
        left, at = walk_in_full(payload, start, record_count, found)
    else:
        left, at = walk_in_full(payload, start, 1, found)
        left, at = walk_middle(
            payload, at, record_count - 2 + left, found, closely=closely, most_runs=most_runs
        )
        left, at = walk_in_full(payload, at, 1 + left, found)
    if left:
        raise Refused(Code.INVALID_RECORD, "a record is truncated")
    if at != len(payload):
        raise Refused(Code.INVALID_RECORD, "the batch holds more bytes than its records")
    return found


def walk_middle(
    payload: Bytes,
    at: int,
    record_count: int,
    found: Walked,
    *,
    closely: bool,
    most_runs: int = _UNLIMITED,
) -> tuple[int, int]:
    """Walk over those of the next `record_count` records that are whole in the payload.

    Returns:
        The number of records left, and the position of the first of them.

    Raises:
        Refused: INVALID_RECORD. TakesLong.
    """
    step = walk_in_full if closely else _walk_from_start_to_start
    left = record_count
    while left:
        if most_runs <= 0:
            raise TakesLong
        if left >= _SHORTEST_RUN:
            run, at = _run_at(payload, at, min(left, _LONGEST_RUN), found, closely=closely)
            left -= run
            if run:
                most_runs -= 1
                continue
        most_runs -= _COUNTS_AS_RUNS
        wanted = min(left, _BEFORE_ANOTHER_RUN)
        missing, at = step(payload, at, wanted, found)
        left -= wanted - missing
        if missing:
            break
    return left, at


def _walk_from_start_to_start(
    payload: Bytes, at: int, record_count: int, found: Walked
) -> tuple[int, int]:
    """Follow the records' sizes. Returns as above."""
    largest, end = found.largest_delta_ms, len(payload)
    start = at
    try:
        while record_count:
            byte = payload[at]
            at += 1
            if byte < 0x80:
                size = byte >> 1
            else:
                byte = byte & 0x7F | payload[at] << 7
                at += 1
                size = byte >> 1
                if byte >= 0x4000:
                    size, at = read_size(payload, at - 2)
            if byte & 1 or size < LEAST_BYTES:
                raise Refused(Code.INVALID_RECORD, "a record is too short")
            delta = payload[at + 1]
            if delta & 0x81:
                delta, _ = read_signed(payload, at + 1)
            else:
                delta >>= 1
            at += size
            if at > end:
                break
            if delta > largest:
                largest = delta
            start = at
            record_count -= 1
    except IndexError:
        pass  # the next record is cut
    found.largest_delta_ms = largest
    return record_count, start


def _run_at(
    payload: Bytes, start: int, most: int, found: Walked, *, closely: bool
) -> tuple[int, int]:
    """The number of consecutive records from `start` on with one size, or 0; and their end.

    By induction: if n records have the size, the next one begins n sizes further on, and has the
    size too if its length has the same bytes.
    """
    try:
        length, body = read_size(payload, start)
    except IndexError:
        return 0, start
    size = body + length - start
    run = min(most, (len(payload) - start) // size) if length >= LEAST_BYTES else 0
    for at in range(start, body):
        column = bytes(payload[at : start + run * size : size])
        run -= len(column.lstrip(column[:1]))
        if run < _SHORTEST_RUN:
            return 0, start
    behind = start + run * size
    deltas = bytes(payload[body + 1 : behind : size])
    if not deltas.isascii() or (closely and not _are_alike(payload, start, body, run, found)):
        return 0, start  # the deltas have several bytes
    for zigzag in set(deltas):
        found.take_delta((zigzag >> 1) ^ -(zigzag & 1))
    return run, behind


def _are_alike(payload: Bytes, start: int, body: int, run: int, found: Walked) -> bool:
    """Whether all records of a run, which begins at `start`, have the first one's field lengths.

    Their offset deltas may differ, but not in size.
    """
    size = body + read_size(payload, start)[0] - start
    behind = start + run * size
    if walk_in_full(payload, start, 1, Walked())[0]:
        return False
    at = body + 2
    column = bytes(payload[at:behind:size])
    while not column.isascii():
        if at - body > 5 or column.translate(None, _ASCII) != column:
            return False
        at += 1
        column = bytes(payload[at:behind:size])
    at += 1
    key_at = at
    for _ in ("key", "value", "headers"):
        length, rest = read_size(payload, at)
        for column_start in range(at, rest):
            column = bytes(payload[column_start:behind:size])
            if column.lstrip(column[:1]):
                return False
        if at == key_at and length < 0:
            found.all_have_keys = False
        at, last = rest + max(length, 0), rest
    return at == last  # the number of headers is 0


def walk_in_full(payload: Bytes, at: int, record_count: int, found: Walked) -> tuple[int, int]:
    """As `walk_middle`, with a check of every length and count (DefaultRecord.readFrom)."""
    largest, smallest, end = found.largest_delta_ms, found.smallest_delta_ms, len(payload)
    start = at
    while record_count:
        try:
            stop = payload[at]
            at += 1
            if stop >= 0x80:
                stop = stop & 0x7F | payload[at] << 7
                at += 1
                if stop >= 0x4000:
                    stop, at = read_size(payload, at - 2)
                    stop <<= 1
        except IndexError:
            break
        if stop & 1 or stop < LEAST_BYTES << 1:
            raise Refused(Code.INVALID_RECORD, "a record is too short")
        stop = at + (stop >> 1)
        if stop > end:
            break
        try:
            number = payload[at + 1]  # behind the unused attributes
            at += 2
            if number >= 0x80:
                number = number & 0x7F | payload[at] << 7
                at += 1
                if number >= 0x4000:
                    number = number & 0x3FFF | payload[at] << 14
                    at += 1
            if number < 0x200000:
                number = (number >> 1) ^ -(number & 1)
            else:
                number, at = read_signed(payload, at - 3)
            if number > largest:
                largest = number
            if number < smallest:
                smallest = number
            if payload[at] >= 0x80:  # the offset delta: Kafka accepts any number
                at += 1
                if payload[at] >= 0x80:
                    at = read_size(payload, at - 1)[1] - 1
            number = payload[at + 1]
            at += 2
            if number >= 0x80:
                number, at = read_size(payload, at - 1)
                number <<= 1
            if number & 1 or number < 0:
                found.all_have_keys = False
            else:
                at += number >> 1
            number = payload[at]
            at += 1
            if number >= 0x80:
                number = number & 0x7F | payload[at] << 7
                at += 1
                if number >= 0x4000:
                    number, at = read_size(payload, at - 2)
                    number <<= 1
            if number > 0 and not number & 1:
                at += number >> 1
            at = _behind_headers(payload, at) if payload[at] else at + 1
        except IndexError:
            raise Refused(Code.INVALID_RECORD, "a record is truncated") from None
        if at != stop:
            raise Refused(Code.INVALID_RECORD, "a record's size is not that of its fields")
        start = at
        record_count -= 1
    found.largest_delta_ms, found.smallest_delta_ms = largest, smallest
    return record_count, start


def _behind_headers(payload: Bytes, at: int) -> int:
    """The position behind a record's headers."""
    header_count = payload[at]
    at += 1
    if header_count < 0x80:
        header_count = (header_count >> 1) ^ -(header_count & 1)
    else:
        header_count, at = read_size(payload, at - 1)
    if header_count < 0:
        raise Refused(Code.INVALID_RECORD, "a negative number of headers")
    if header_count > _MANY_HEADERS:
        raise TakesLong
    for _ in range(header_count):
        length = payload[at]
        at += 1
        if length >= 0x80:
            length, at = read_size(payload, at - 1)
            length <<= 1
        if length & 1 or length < 0:
            raise Refused(Code.INVALID_RECORD, "a header without a key")
        at += length >> 1
        length = payload[at]
        at += 1
        if length >= 0x80:
            length, at = read_size(payload, at - 1)
            length <<= 1
        if length > 0 and not length & 1:
            at += length >> 1
    return at
