"""Whether an uncompressed payload holds just the records that its batch promises.

Kafka reads every record of every batch; in Python that would cost more than all of an append.
So: up to `IN_FULL` records, every length and count inside them is checked. In a longer batch that
is done for the first and the last record, and for the others only where they begin and end, how
many they are, and their timestamps. Runs of records of one size, which is what most producers
send, are checked by slices that stride from record to record, at the speed of C.
"""

from __future__ import annotations

from typing import Final

from ..protocol.errors import Code, Refused
from ..protocol.varints import read_signed

IN_FULL: Final = 8
_SHORTEST_RUN: Final = 8

Payload = bytes | bytearray


def largest_timestamp_delta(payload: Payload, record_count: int, start: int = 0) -> int:
    """Check that `payload` from `start` on is `record_count` records and nothing else.

    Args:
        record_count: at least 1.

    Returns:
        The largest timestamp delta of its records, in ms; the batch's base timestamp is not known.

    Raises:
        Refused: INVALID_RECORD when lengths and count do not fit each other and the payload.
    """
    try:
        if record_count <= IN_FULL:
            largest, at = _walk_in_full(payload, start, record_count)
        else:
            largest, at = _walk_in_full(payload, start, 1)
            middle, at = _walk_from_start_to_start(payload, at, record_count - 2)
            last, at = _walk_in_full(payload, at, 1)
            largest = max(largest, middle, last)
    except IndexError:
        raise Refused(Code.INVALID_RECORD, "a record is cut") from None
    if at != len(payload):
        raise Refused(Code.INVALID_RECORD, "the batch holds more bytes than its records")
    return largest


def _walk_from_start_to_start(payload: Payload, at: int, record_count: int) -> tuple[int, int]:
    """Follow the records' sizes. Returns the largest timestamp delta and the position behind."""
    largest, left = -0x8000000000000000, record_count
    while left >= _SHORTEST_RUN:
        run, behind, delta = _run_at(payload, at, left)
        if run < _SHORTEST_RUN:
            break
        largest, at, left = max(largest, delta), behind, left - run
    for _ in range(left):
        byte = payload[at]
        at += 1
        if byte < 0x80:
            size = byte >> 1
        else:
            byte = byte & 0x7F | payload[at] << 7
            at += 1
            size = byte >> 1
            if byte >= 0x4000:
                size, at = read_signed(payload, at - 2)
        if byte & 1 or size < 0:
            raise Refused(Code.INVALID_RECORD, "a record of negative size")
        delta = payload[at + 1]
        if delta & 0x81:
            delta, _ = read_signed(payload, at + 1)
        else:
            delta >>= 1
        if delta > largest:
            largest = delta
        at += size
    return largest, at


def _run_at(payload: Payload, start: int, most: int) -> tuple[int, int, int]:
    """How many records from `start` on have one size, where they end, their largest delta.

    By induction: when n records have the size, the next one begins n sizes further on, and has it
    too when its length is the same bytes.
    """
    length, body = read_signed(payload, start)
    size = body + length - start
    run = min(most, (len(payload) - start) // size) if length > 0 else 0
    for at in range(start, body):
        column = payload[at : start + run * size : size]
        run -= len(column.lstrip(column[:1]))
        if run < _SHORTEST_RUN:
            return 0, start, 0
    behind = start + run * size
    deltas = payload[body + 1 : behind : size]
    if max(deltas) >= 0x80:
        return 0, start, 0  # numbers of several bytes
    return run, behind, max((zigzag >> 1) ^ -(zigzag & 1) for zigzag in set(deltas))


def _walk_in_full(payload: Payload, at: int, record_count: int) -> tuple[int, int]:
    """Read every length and count (DefaultRecord.readFrom). Returns as above."""
    largest, end = -0x8000000000000000, len(payload)
    for _ in range(record_count):
        size, at = read_signed(payload, at)
        stop = at + size
        if size < 0 or stop > end:
            raise Refused(Code.INVALID_RECORD, "a record reaches beyond its batch")
        delta, at = read_signed(payload, at + 1)  # behind the attributes, which nothing uses
        if delta > largest:
            largest = delta
        while payload[at] >= 0x80:  # the offset delta: Kafka lets any pass
            at += 1
        size, at = read_signed(payload, at + 1)
        if size > 0:
            at += size
        size, at = read_signed(payload, at)
        if size > 0:
            at += size
        at = _behind_headers(payload, at) if payload[at] else at + 1
        if at != stop:
            raise Refused(Code.INVALID_RECORD, "a record's size is not that of its fields")
    return largest, at


def _behind_headers(payload: Payload, at: int) -> int:
    """The position behind a record's headers."""
    header_count, at = read_signed(payload, at)
    if header_count < 0:
        raise Refused(Code.INVALID_RECORD, "a negative number of headers")
    for _ in range(header_count):
        length, at = read_signed(payload, at)
        if length < 0:
            raise Refused(Code.INVALID_RECORD, "a header without a key")
        length, at = read_signed(payload, at + length)
        at += max(length, 0)
    return at
