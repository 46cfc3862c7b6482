"""Finds the record for a timestamp in the segments of a log, for ListOffsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ...protocol.batch import BatchHeader
from ...protocol.named_tuple import NamedTuple
from ..steps import Steps
from .segment import Segment

if TYPE_CHECKING:
    from ..records.record_stream import Head

# Larger batches are decompressed and read record by record, with pauses.
_AT_ONCE_RECORDS: Final = 256
_AT_ONCE_BYTES: Final = 1 << 14


class TimedOffset(NamedTuple):
    """A record found by its timestamp."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


def load_times_in_steps(segments: Sequence[Segment], timestamp_ms: int | None) -> Iterator[None]:
    """Determine the timestamps that `first_since`, or `latest` (None), needs, in short steps.

    After a restart it may have to read whole files. Raises OSError.
    """
    for segment in segments:
        yield from segment.load_times_in_steps()
        if timestamp_ms is not None and segment.size_bytes and segment.newest_ms() >= timestamp_ms:
            return


def first_since(
    segments: Sequence[Segment], timestamp_ms: int, log_start_offset: int
) -> Steps[TimedOffset | None]:
    """The first record, by offset, with that timestamp or a later one.

    Only the first segment that has such a record is searched, as in Kafka. If those records were
    deleted, or the segment's time is only its file's time, nothing is found, even in later
    segments.

    Raises:
        Refused: CORRUPT_MESSAGE. OSError.
    """
    for segment in segments:
        if segment.size_bytes == 0 or segment.newest_ms() < timestamp_ms:
            segment.refuse_if_damaged()
            continue
        for position, header in segment.find_timestamp(timestamp_ms, log_start_offset):
            found = yield from _first_in(
                segment.batch_at(position, header),
                header,
                lambda offset, time_ms: time_ms >= timestamp_ms and offset >= log_start_offset,
            )
            if found is not None:
                return found
        return None
    return None


def latest(segments: Sequence[Segment]) -> Steps[TimedOffset | None]:
    """The first record with the largest timestamp of all. Raises as `first_since` does."""
    for segment in segments:
        segment.load_times()
        segment.refuse_if_damaged()
    newest = max(segments, key=attrgetter("max_timestamp_ms"))
    found = newest.latest_batch()
    if found is None:
        return None
    position, header = found
    return (
        yield from _first_in(
            newest.batch_at(position, header),
            header,
            lambda offset, time_ms: time_ms == header.max_timestamp_ms,
        )
    )


def _first_in(
    data: bytes, header: BatchHeader, is_wanted: Callable[[int, int], bool]
) -> Steps[TimedOffset | None]:
    """The first record of a batch whose offset and timestamp are high enough."""
    found: list[TimedOffset] = []

    def look_at(head: Head) -> bool:
        offset = header.base_offset + head.offset_delta
        time_ms = header.time_ms(head.timestamp_delta_ms)
        if is_wanted(offset, time_ms):
            found.append(TimedOffset(offset, time_ms, header.leader_epoch))
        return bool(found)

    from ..records.payloads import Payload, feed
    from ..records.record_stream import RecordStream

    payload = Payload(data, 0, header)
    if header.record_count > _AT_ONCE_RECORDS or len(data) > _AT_ONCE_BYTES:
        yield None  # before anything is decompressed
    else:
        payload.at_hand()
    if header.record_count > 0:
        stream = RecordStream(header.record_count)
        yield from feed(stream, stream.heads(look_at), payload)
    return found[0] if found else None
