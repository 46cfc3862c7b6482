"""Deletes whole segments by age and size (UnifiedLog.deleteOldSegments)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ..log import PartitionLog
from ..segments.time_search import load_times_in_steps as load_times_of


def delete_old_segments(log: PartitionLog, now_ms: int) -> int:
    """Delete segments beyond `retention.ms`, `retention.bytes` or before the log start offset.

    The active segment is rolled if it is too old itself. A log with only `cleanup.policy=compact`
    loses just the segments before its start.

    Returns:
        The number of deleted segments.

    Raises:
        OSError: a file cannot be removed or created.
    """
    end = 0
    if log.config.deletes:
        end = max(_end_of_expired(log, now_ms), _end_of_excess(log))
    if end == log.log_end_offset and log.segments[-1].size_bytes:
        log.roll(now_ms)
    return log.drop_segments_before(max(end, log.log_start_offset))


def load_times_in_steps(log: PartitionLog, now_ms: int) -> Iterator[None]:
    """Determine the timestamps that `delete_old_segments` and rolling need, in short steps.

    After a restart it may have to read whole files. Raises OSError.
    """
    if log.config.deletes and log.config.retention_ms >= 0:
        yield from load_times_of(log.segments, now_ms - log.config.retention_ms)
    with suppress(OSError):  # a roll tries again; readable segments can be deleted all the same
        yield from log.segments[-1].load_times_in_steps()


def delete_old_in_steps(log: PartitionLog, now_ms: int) -> Iterator[None]:
    """`load_times_in_steps`, then `delete_old_segments`, with a step behind deletions.

    Raises OSError.
    """
    yield from load_times_in_steps(log, now_ms)
    if delete_old_segments(log, now_ms):
        yield


def _end_of_expired(log: PartitionLog, now_ms: int) -> int:
    """The end of the leading segments whose newest record is older than `retention.ms`."""
    if log.config.retention_ms < 0:
        return 0
    end = 0
    for segment in log.segments:
        if segment.size_bytes == 0 or now_ms - segment.newest_ms() <= log.config.retention_ms:
            break
        end = segment.next_offset
    return end


def _end_of_excess(log: PartitionLog) -> int:
    """The end of the leading segments that can go while `retention.bytes` remain."""
    if log.config.retention_bytes < 0:
        return 0
    excess = log.size_bytes - log.config.retention_bytes
    end = 0
    for segment in log.segments:
        excess -= segment.size_bytes
        if excess < 0 or segment.size_bytes == 0:
            break
        end = segment.next_offset
    return end
