"""Checks that a payload contains exactly the records that its batch's header declares.

Every length and count of every record is checked, as Kafka does (DefaultRecord.readFrom). Most
producers send runs of records of one shape, whose lengths are compared by slices with that stride,
at the speed of C. Records whose values alone differ in length are read one by one, but quickly
(record_shapes.py), and nearly all others by a short path.

The payload must be whole in memory; `RecordStream` walks over payloads that come in pieces.
"""

from __future__ import annotations

import struct
from typing import Final

from ...protocol.batch import Bytes
from ...protocol.errors import Code, Refused
from ...protocol.varints import read_signed, read_size
from .record_shapes import walk_over_alike

LEAST_BYTES: Final = 6
"""A record without its length: attributes, two deltas, and three lengths."""

_FEW: Final = 8  # fewer records cost less than the search for a short path
_LEAST_EQUAL: Final = 6  # fewer records cost less than comparisons of their bytes
_NULL: Final = 1  # a length of -1, as it is encoded
_VALUE_AND_HEADERS: Final = 2  # the least bytes of a value's length and of the number of headers
_SHORTEST_RUN: Final = 8
_LEAST_FOR_A_RUN: Final = 24
_LONGEST_RUN: Final = 1 << 12
_BEFORE_ANOTHER_RUN: Final = 256  # records that are walked over one by one
_LEAST_OF_A_SHAPE: Final = 16
_BEFORE_A_SHORT_PATH: Final = 16  # records of any shape
_COUNTS_AS_RUNS: Final = 8  # what they count as
_MANY_HEADERS: Final = 1 << 12
_HEADERS_OF_A_SHAPE: Final = 1 << 4
_HEADERS_OF_A_SIMPLE_ONE: Final = 4
_COLUMNS: Final = 4
_ASCII: Final = bytes(range(0x80))

_BEGINNING: Final = struct.Struct("6B")

_UNLIMITED: Final = 1 << 31

_EVEN: Final = bytes(range(0, 0x80, 2))
_EVEN_WITH_MORE: Final = bytes(number | 0x80 for number in _EVEN)


class TakesLong(Exception):
    """The check would take long: too many sizes of records, or headers.

    Attributes:
        left, at: number of records that are not yet checked, and the position of the first.
    """

    def __init__(self, left: int, at: int) -> None:
        super().__init__()
        self.left = left
        self.at = at


def broken(index: int, why: str | None) -> Refused:
    """The error for a record that consumers cannot read.

    Args:
        index: of the record in its batch.
    """
    return Refused(Code.INVALID_RECORD, f"record {index} of the batch is broken: {why}")


class Walked:
    """The result of a walk, and its state.

    Attributes:
        count: number of records that are checked.
        largest_delta_ms, smallest_delta_ms: timestamp deltas of the records; the base timestamp is
            unknown here.
        all_have_keys: no key is null.
        is_in_order: the offset deltas are 0, 1, 2 and so on.
        headers_left: the number of headers that may be read before the walk takes long.
    """

    # One per batch: the class attributes are defaults that cost nothing.
    count = 0
    largest_delta_ms = -0x8000000000000000
    smallest_delta_ms = 0x7FFFFFFFFFFFFFFF
    all_have_keys = True
    is_in_order = True
    headers_left = _MANY_HEADERS

    def take_delta(self, delta_ms: int) -> None:
        """Include a record's timestamp delta."""
        if delta_ms > self.largest_delta_ms:
            self.largest_delta_ms = delta_ms
        if delta_ms < self.smallest_delta_ms:
            self.smallest_delta_ms = delta_ms

    def take_deltas(self, zigzags: set[int]) -> None:
        """Include timestamp deltas as they are encoded."""
        for zigzag in zigzags:
            self.take_delta((zigzag >> 1) ^ -(zigzag & 1))

    def rest(self) -> None:
        """Allow the next headers, after a pause."""
        self.headers_left = _MANY_HEADERS


def walk(
    payload: Bytes, record_count: int, start: int = 0, *, most_runs: int = _UNLIMITED
) -> Walked:
    """Check that `payload` from `start` on consists of exactly `record_count` records.

    Args:
        record_count: at least 1.
        most_runs: the largest number of runs of records of one shape, so that a walk over many
            records is short; other records count as runs too.

    Raises:
        Refused: INVALID_RECORD if lengths, count and payload do not match.
        TakesLong: the check would take long.
    """
    found = Walked()
    least_bytes = record_count * (1 + LEAST_BYTES)
    if (
        _LEAST_EQUAL <= record_count <= len(_EVEN)
        and len(payload) - start >= least_bytes
        and _walk_over_equal(payload, start, record_count, found)
    ):
        return found
    if record_count <= _FEW:
        left, at = _walk_by_fields(payload, start, record_count, found)
    else:
        left, at = walk_on(payload, start, record_count, found, most_runs=most_runs)
    if left:
        raise Refused(Code.INVALID_RECORD, "a record is truncated")
    if at != len(payload):
        raise Refused(Code.INVALID_RECORD, "the batch holds more bytes than its records")
    return found


def _walk_over_equal(payload: Bytes, start: int, record_count: int, found: Walked) -> bool:
    """Walk over records of one size, as most batches of few records have; False if they are not.

    Their lengths have one or two bytes, their deltas have one, and they have no headers. By
    induction: if a record has the first one's size, the next one begins that size further on. So
    some comparisons of one byte of all records check them. If they fail, `found` is unchanged.
    """
    number, at = payload[start], start + 1
    if number >= 0x80:
        number, at = number & 0x7F | payload[at] << 7, at + 1
    size = at - start + (number >> 1)
    behind = start + size
    if start + size * record_count != len(payload) or number & 1 or number >= 0x4000:
        return False
    deltas, offsets = bytes(payload[at + 1 :: size]), bytes(payload[at + 2 :: size])
    key = payload[at + 3]
    value_at = at + 4 + (0 if key == _NULL else key >> 1)
    if key >= 0x80 or (key & 1 and key != _NULL) or behind - value_at < _VALUE_AND_HEADERS:
        return False
    value, end = payload[value_at], value_at + 1
    if value >= 0x80:
        value, end = value & 0x7F | payload[end] << 7, end + 1
    if value & 1 and value != _NULL:
        return False
    if end + (0 if value == _NULL else value >> 1) + 1 != behind or payload[behind - 1]:
        return False
    if offsets != _EVEN[:record_count] or not deltas.isascii():
        return False
    for place in (*range(start, at), at + 3, *range(value_at, end), behind - 1):
        column = bytes(payload[place::size])
        if column.count(column[:1]) != record_count:
            return False
    found.count = record_count
    found.take_deltas(set(deltas))
    found.all_have_keys = key != _NULL
    return True


def walk_on(
    payload: Bytes, at: int, record_count: int, found: Walked, *, most_runs: int = _UNLIMITED
) -> tuple[int, int]:
    """Walk over those of the next `record_count` records that are whole in the payload.

    Returns:
        The number of records left, and the position of the first of them.

    Raises:
        Refused: INVALID_RECORD. TakesLong.
    """
    if record_count <= _FEW:
        return _walk_by_fields(payload, at, record_count, found)
    left = before_a_run = record_count
    while left:
        if left == before_a_run:
            if most_runs <= 0:
                raise TakesLong(left, at)
            run = 0
            if left >= _LEAST_FOR_A_RUN:
                run, at = _run_at(payload, at, min(left, _LONGEST_RUN), found)
                left -= run
            most_runs -= 1 if run else _COUNTS_AS_RUNS
            before_a_run = left if run else max(left - _BEFORE_ANOTHER_RUN, 0)
            continue
        missing, at = _walk_quickly(payload, at, left - before_a_run, found)
        left = before_a_run + missing
        if missing:
            wanted = min(missing, _BEFORE_A_SHORT_PATH)
            try:
                missing, at = _walk_by_fields(payload, at, wanted, found)
            except TakesLong as long:
                raise TakesLong(left - wanted + long.left, long.at) from None
            left -= wanted - missing
            if missing:
                break
    return left, at


def _run_at(payload: Bytes, start: int, most: int, found: Walked) -> tuple[int, int]:
    """The number of consecutive records from `start` on with one shape, or 0; and their end.

    By induction: if n records have the size, the next one begins n sizes further on, and has the
    size too if its length has the same bytes.
    """
    try:
        length, body = read_size(payload, start)
    except (IndexError, Refused):
        return 0, start
    if length < LEAST_BYTES:
        return 0, start
    size = body + length - start
    run = min(most, (len(payload) - start) // size)
    for at in range(start, body):
        column = bytes(payload[at : start + run * size : size])
        run -= len(column.lstrip(column[:1]))
        if run < _SHORTEST_RUN:
            return 0, start
    if not _are_alike(payload, start, body, run, found):
        return 0, start
    found.count += run
    return run, start + run * size


def _are_alike(payload: Bytes, start: int, body: int, run: int, found: Walked) -> bool:
    """Whether all records of a run, which begins at `start`, have the first one's field lengths.

    Their offset deltas may differ, but not in size.
    """
    size = body + read_size(payload, start)[0] - start
    behind = start + run * size
    first = Walked()
    first.headers_left = _HEADERS_OF_A_SHAPE
    try:
        if _walk_by_fields(payload, start, 1, first)[0]:
            return False
    except TakesLong:
        return False
    times = _columns(payload, body + 1, behind, size)
    at = body + 1 + len(times)
    offsets = _columns(payload, at, behind, size)
    if not times or not offsets:
        return False
    for place in _lengths_at(payload, at + len(offsets)):
        column = bytes(payload[place:behind:size])
        if column.count(column[:1]) != run:
            return False
    _take_deltas(times, found)
    found.all_have_keys = found.all_have_keys and first.all_have_keys
    found.is_in_order = found.is_in_order and _are_in_order(offsets, found.count)
    return True


def _columns(payload: Bytes, at: int, behind: int, size: int) -> list[bytes]:
    """The bytes of the numbers at `at` in records of that size, column by column.

    Returns:
        The first bytes of all numbers, the second bytes, and so on; none if the numbers differ in
        size, or have more than four bytes.
    """
    columns = [bytes(payload[at:behind:size])]
    while not columns[-1].isascii():
        if len(columns) == _COLUMNS or columns[-1].translate(None, _ASCII) != columns[-1]:
            return []
        columns.append(bytes(payload[at + len(columns) : behind : size]))
    return columns


def _take_deltas(columns: list[bytes], found: Walked) -> None:
    """Include encoded timestamp deltas.

    Numbers of one size and sign are ordered as their bytes are, from the last to the first.
    """
    if len(columns) == 1:
        found.take_deltas(set(columns[0]))
        return
    joined = bytearray(_COLUMNS * len(columns[0]))
    for index, column in enumerate(columns):
        joined[index::_COLUMNS] = column
    numbers = set(struct.unpack(f"<{len(columns[0])}I", joined))
    for sign in (0, 1):
        if alike := [number for number in numbers if number & 1 == sign]:
            for number in (min(alike), max(alike)):
                found.take_delta(read_signed(number.to_bytes(_COLUMNS, "little"), 0)[0])


def _lengths_at(payload: Bytes, at: int) -> list[int]:
    """The positions of all lengths of a right record, and of its number of headers.

    Args:
        at: the position of its key's length.
    """
    places: list[int] = []

    def behind_length(at: int) -> tuple[int, int]:
        number, behind = read_size(payload, at)
        places.extend(range(at, behind))
        return number, behind

    def behind_field(at: int) -> int:
        size, at = behind_length(at)
        return at + max(size, 0)

    header_count, at = behind_length(behind_field(behind_field(at)))
    for _ in range(2 * header_count):
        at = behind_field(at)
    return places


def _are_in_order(columns: list[bytes], first: int) -> bool:
    """Whether encoded offset deltas are `first`, the next number and so on.

    Args:
        columns: the first bytes of all numbers, the second bytes, and so on.
    """
    behind, last = first + len(columns[0]), len(columns) - 1
    if behind > 1 << (7 * len(columns) - 1):
        return False
    begins = first % len(_EVEN)
    least = (_EVEN_WITH_MORE if last else _EVEN) * (2 + len(columns[0]) // len(_EVEN))
    if columns[0] != least[begins : begins + len(columns[0])]:
        return False
    for index in range(1, len(columns)):
        bits, more = 7 * index - 1, 0x80 if index < last else 0
        column = [
            bytes([number & 0x7F | more])
            * (min(behind, (number + 1) << bits) - max(first, number << bits))
            for number in range(first >> bits, ((behind - 1) >> bits) + 1)
        ]
        if columns[index] != b"".join(column):
            return False
    return True


def _walk_quickly(payload: Bytes, at: int, record_count: int, found: Walked) -> tuple[int, int]:
    """As `walk_on`; stops at the first record that is not simple, or not right."""
    left = record_count
    if not at or not found.count:  # the payload has no record before it
        missing, at = _walk_shortly(payload, at, 1, found)
        left -= 1 - missing
        if missing or not left:
            return left, at
    while left >= _LEAST_OF_A_SHAPE:
        alike = walk_over_alike(payload, at, left, found.count)
        if not alike.right_count:
            break
        left, at = left - alike.right_count, alike.at
        found.count += alike.right_count
        found.take_deltas(alike.zigzags)
        found.all_have_keys = found.all_have_keys and alike.have_keys
        if alike.right_count < _LEAST_OF_A_SHAPE:
            break
    return _walk_shortly(payload, at, left, found)


def _walk_shortly(payload: Bytes, at: int, record_count: int, found: Walked) -> tuple[int, int]:
    """As `_walk_quickly`, for records of any shapes.

    A simple record has numbers of at most two bytes, and at most four headers, whose lengths have
    one byte.
    """
    left, start, end, last_ms = record_count, at, len(payload), -1
    beginning, deltas, is_in_order, all_have_keys = _BEGINNING.unpack_from, set[int](), True, True
    take = deltas.add
    try:
        for zigzag in range(found.count << 1, (found.count + record_count) << 1, 2):
            size, second, delta_ms, offset_delta, key, sixth = beginning(payload, start)
            if size < 0x80:
                at = start + 5
            else:
                if second >= 0x80:
                    break
                size = size & 0x7F | second << 7
                at = start + 6
                delta_ms, offset_delta, key = offset_delta, key, sixth
            body = at - 4
            if delta_ms >= 0x80:
                if offset_delta >= 0x80:
                    break
                delta_ms = delta_ms & 0x7F | offset_delta << 7
                offset_delta, key = key, payload[at]
                at += 1
            if offset_delta >= 0x80:
                offset_delta = offset_delta & 0x7F | key << 7
                key = payload[at]
                at += 1
                if offset_delta >= 0x4000:
                    break
            if offset_delta != zigzag:
                is_in_order = False
            if key == 1:
                all_have_keys = False
            else:
                if key >= 0x80:
                    key = key & 0x7F | payload[at] << 7
                    at += 1
                if key & 1 or key >= 0x4000:
                    break
                at += key >> 1
            value = payload[at]
            if value >= 0x80:
                at += 1
                value = value & 0x7F | payload[at] << 7
                if value >= 0x4000:
                    break
            if value & 1 and value != 1:
                break
            at += 2 + (value >> 1)
            if headers := payload[at - 1]:
                if headers & 1 or headers > _HEADERS_OF_A_SIMPLE_ONE << 1:
                    break
                while headers and not (length := payload[at]) & 0x81:
                    at += 1 + (length >> 1)
                    headers -= 1  # it is twice their number: names and contents
                if headers or at > end:
                    break
            if at - body << 1 != size:
                break
            if delta_ms != last_ms:
                take(delta_ms)
                last_ms = delta_ms
            start = at
            left -= 1
    except (IndexError, struct.error):
        pass  # the record is cut, or its fields are
    if left < record_count:
        found.count += record_count - left
        found.take_deltas(deltas)
        found.is_in_order = found.is_in_order and is_in_order
        found.all_have_keys = found.all_have_keys and all_have_keys
    return left, start


def _walk_by_fields(payload: Bytes, at: int, record_count: int, found: Walked) -> tuple[int, int]:
    """As `walk_on`, for records of any shape (DefaultRecord.readFrom)."""
    largest, smallest = found.largest_delta_ms, found.smallest_delta_ms
    first, end, start = found.count + record_count, len(payload), at
    while record_count:
        try:
            number, at = payload[at], at + 1
            if number >= 0x80:
                number, at = number & 0x7F | payload[at] << 7, at + 1
                if number >= 0x4000:
                    number, at = read_size(payload, at - 2)
                    number <<= 1
            size = (number >> 1) ^ -(number & 1)
        except IndexError:
            break
        except Refused as refused:
            raise broken(first - record_count, refused.why) from None
        if size < LEAST_BYTES:
            raise broken(first - record_count, f"its size is {size}")
        stop = at + size
        if stop > end:
            break
        try:
            number, at = payload[at + 1], at + 2  # behind the unused attributes
            if number >= 0x80:
                number, at = read_signed(payload, at - 1)
            else:
                number = (number >> 1) ^ -(number & 1)
            if number > largest:
                largest = number
            if number < smallest:
                smallest = number
            number, at = payload[at], at + 1
            if number >= 0x80:
                number, at = read_size(payload, at - 1)
                number <<= 1
            if number != (first - record_count) << 1:
                found.is_in_order = False
            number, at = payload[at], at + 1
            if number >= 0x80:
                number, at = read_size(payload, at - 1)
                number <<= 1
            if number & 1 or number < 0:
                found.all_have_keys = False
            else:
                at += number >> 1
            number, at = payload[at], at + 1
            if number >= 0x80:
                number, at = number & 0x7F | payload[at] << 7, at + 1
                if number >= 0x4000:
                    number, at = read_size(payload, at - 2)
                    number <<= 1
            if number > 0 and not number & 1:
                at += number >> 1
            number, at = payload[at], at + 1
            if number:
                at = _behind_headers(payload, at - 1, found)
        except IndexError:
            at = -1
        except Refused as refused:
            raise broken(first - record_count, refused.why) from None
        except TakesLong:
            found.largest_delta_ms, found.smallest_delta_ms = largest, smallest
            found.count = first - record_count
            raise TakesLong(record_count, start) from None
        if at != stop:
            raise broken(first - record_count, "its size is not that of its fields")
        start = at
        record_count -= 1
    found.largest_delta_ms, found.smallest_delta_ms = largest, smallest
    found.count = first - record_count
    return record_count, start


def _behind_headers(payload: Bytes, at: int, found: Walked) -> int:
    """The position behind a record's headers, whose number is at `at`.

    Raises:
        IndexError: a header reaches beyond the payload. Refused. TakesLong.
    """
    header_count, at = read_size(payload, at)
    if header_count < 0:
        raise Refused(Code.INVALID_RECORD, f"it has {header_count} headers")
    if header_count > found.headers_left:
        raise TakesLong(1, at)
    found.headers_left -= header_count
    for _ in range(header_count):
        length = payload[at]
        at += 1
        if length >= 0x80:
            length, at = read_size(payload, at - 1)
            length <<= 1
        if length & 1 or length < 0:
            raise Refused(Code.INVALID_RECORD, "it has a header without a key")
        at += length >> 1
        length = payload[at]
        at += 1
        if length >= 0x80:
            length, at = read_size(payload, at - 1)
            length <<= 1
        if length > 0 and not length & 1:
            at += length >> 1
    return at
