"""Finding records by their time, over the segments of a log (Kafka's ListOffsets)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from ..protocol.records import records_in
from .segment import Segment


class TimedOffset(NamedTuple):
    """A record found by its time."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


def known_in_steps(segments: Sequence[Segment], timestamp_ms: int | None) -> Iterator[None]:
    """Have the times known that `first_since` goes by, or `latest` (None), in short steps.

    After a restart that may take as long as reading the files. Raises OSError.
    """
    for segment in segments:
        yield from segment.load_times_in_steps()
        if timestamp_ms is not None and segment.size_bytes and segment.newest_ms() >= timestamp_ms:
            return


def first_since(
    segments: Sequence[Segment], timestamp_ms: int, log_start_offset: int
) -> TimedOffset | None:
    """The first record, in the order of offsets, of that time or later.

    Of the first segment that has one, as in Kafka: when what is that late in it has been deleted,
    or has no time and is only by its file that late, nothing is found, whatever follows.

    Raises:
        Refused: CORRUPT_MESSAGE. OSError.
    """
    for segment in segments:
        if segment.size_bytes == 0 or segment.newest_ms() < timestamp_ms:
            segment.refuse_if_damaged()
            continue
        for position, header in segment.find_timestamp(timestamp_ms, log_start_offset):
            for record in records_in(segment.batch_at(position, header), 0, header):
                if record.timestamp_ms >= timestamp_ms and record.offset >= log_start_offset:
                    return TimedOffset(record.offset, record.timestamp_ms, header.leader_epoch)
        return None
    return None


def latest(segments: Sequence[Segment]) -> TimedOffset | None:
    """The first record that has the largest timestamp of all. Raises as `first_since` does."""
    for segment in segments:
        segment.load_times()
        segment.refuse_if_damaged()
    newest = max(segments, key=attrgetter("max_timestamp_ms"))
    found = newest.latest_batch()
    if found is None:
        return None
    position, header = found
    for record in records_in(newest.batch_at(position, header), 0, header):
        if record.timestamp_ms == header.max_timestamp_ms:
            return TimedOffset(record.offset, record.timestamp_ms, header.leader_epoch)
    return None
