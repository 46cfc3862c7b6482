"""Reads the records that a member of a share group acquires.

The read begins at the share partition's next offset. Only the headers of the batches are looked at,
and only as far as the member may acquire; the answer has the batches of the log that hold acquired
records (ShareFetchUtils in Kafka).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ....coordinator.share_partition.acquire import acquire
from ....coordinator.share_partition.states import Acquired, AcquireRequest, Fetched, LogBatch
from ....protocol.batch import HEADER, HEADER_SIZE, LOG_OVERHEAD, TRANSACTIONAL
from ....protocol.errors import Code, Refused
from ....storage.segments.reads import FileRange, ReadLimits
from ...runtime.share.led_share_partition import LedSharePartition

if TYPE_CHECKING:
    from ....storage.log import PartitionLog

_AT_ONCE_BYTES: Final = 1 << 18  # a larger part of an answer is read when the socket takes it
_NEAR_BYTES: Final = 1 << 12
_CONTROL: Final = 0x20


class ShareRead(NamedTuple):
    """What a member has acquired of a partition.

    Attributes:
        has_moved: whether another read may find more, although nothing is acquired.
    """

    records: bytes | memoryview | FileRange
    acquired: Sequence[Acquired]
    has_moved: bool = False


_NOTHING: Final = ShareRead(b"", ())


class _Header(NamedTuple):
    position: int
    size_bytes: int
    batch: LogBatch
    attributes: int
    producer_id: int


async def check_old_batches(led: LedSharePartition, max_bytes: int) -> None:
    """Check batches from before the last start, in steps between other requests.

    A read reports an error that this finds.
    """
    log, offset = led.log, led.machine.next_fetch_offset()
    if log.log_start_offset <= offset < log.end_offset_at_open:
        with suppress(OSError, Refused):
            for _ in log.check_in_steps(offset, max_bytes, committed=led.settings.committed):
                await asyncio.sleep(0)


def read_and_acquire(
    led: LedSharePartition, request: AcquireRequest, *, max_bytes: int, now_ms: int
) -> ShareRead:
    """Read one partition and acquire what may be acquired.

    Args:
        now_ms: the monotonic time.

    Raises:
        Refused: KAFKA_STORAGE_ERROR, or what the log's `find` raises.
    """
    machine, log, settings = led.machine, led.log, led.settings
    if not machine.may_acquire(settings.limits):
        return _NOTHING
    offset = machine.next_fetch_offset()
    if offset < log.log_start_offset:
        machine.move_start(log.log_start_offset)
        offset = machine.next_fetch_offset()
    end = log.last_stable_offset if settings.committed else log.high_watermark
    if offset >= end:
        return _NOTHING
    found = log.find(offset, ReadLimits(max_bytes, end, at_once=_AT_ONCE_BYTES))
    most = max(offset, machine.end_offset + 1) + request.max_records
    try:
        headers = _headers(found.records, most)
    except OSError as failed:
        raise Refused(Code.KAFKA_STORAGE_ERROR, str(failed)) from failed
    if not headers:
        return _NOTHING
    aborted = _aborted(log, offset, headers) if settings.committed else ()
    fetched = Fetched(offset, [header.batch for header in headers], aborted)
    acquired = acquire(machine, request, fetched, settings.limits, now_ms=now_ms)
    if not acquired:
        led.set_timer()
        return ShareRead(b"", (), machine.next_fetch_offset() != offset)
    led.set_timer()
    return ShareRead(_cut(found.records, headers, acquired), acquired)


def _headers(records: bytes | memoryview | FileRange, most: int) -> list[_Header]:
    """The headers of the batches that begin before an offset."""
    headers: list[_Header] = []
    position, end = 0, len(records)
    chunk: bytes | memoryview = b""
    chunk_start = 0
    while position + HEADER_SIZE <= end:
        if isinstance(records, FileRange):
            if position + HEADER_SIZE > chunk_start + len(chunk):
                chunk = records.part(position, min(_NEAR_BYTES, end - position))
                chunk_start = position
        else:
            chunk = records
        fields = HEADER.unpack_from(chunk, position - chunk_start)
        base_offset, size_bytes = fields[0], fields[1] + LOG_OVERHEAD
        if headers and base_offset >= most:
            break
        batch = LogBatch(base_offset, base_offset + fields[6])
        headers.append(_Header(position, size_bytes, batch, fields[5], fields[9]))
        position += size_bytes
    return headers


def _aborted(log: PartitionLog, offset: int, headers: Sequence[_Header]) -> list[LogBatch]:
    """The batches of aborted transactions."""
    transactions = log.aborted_transactions(offset, headers[-1].batch.last_offset)
    if not transactions:
        return []
    return [
        header.batch
        for header in headers
        if header.attributes & (TRANSACTIONAL | _CONTROL) == TRANSACTIONAL
        and any(
            each.producer_id == header.producer_id
            and each.first_offset <= header.batch.base_offset <= each.last_offset
            for each in transactions
        )
    ]


def _cut(
    records: bytes | memoryview | FileRange,
    headers: Sequence[_Header],
    acquired: Sequence[Acquired],
) -> bytes | memoryview | FileRange:
    """The batches from the first acquired record to the last one."""
    first_offset, last_offset = acquired[0].first_offset, acquired[-1].last_offset
    held = [
        header
        for header in headers
        if header.batch.base_offset <= last_offset and header.batch.last_offset >= first_offset
    ]
    if not held:  # all of it was compacted meanwhile
        return b""
    start = held[0].position
    size_bytes = held[-1].position + held[-1].size_bytes - start
    if size_bytes == len(records):
        return records
    if not isinstance(records, FileRange):
        return memoryview(records)[start : start + size_bytes]
    if size_bytes <= _AT_ONCE_BYTES:
        try:
            return records.part(start, size_bytes)
        except OSError as failed:
            raise Refused(Code.KAFKA_STORAGE_ERROR, str(failed)) from failed
    return records.slice(start, size_bytes)
