"""Finds the part of a log to compact, and whether it is due (Kafka's LogCleanerManager).

It consists of whole segments before the active one, before the first open transaction, and older
than `min.compaction.lag.ms`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ...protocol.lazy_dataclass import dataclass
from ..log import PartitionLog
from ..log_config import LONG_MAX
from ..segments.segment import Segment


@dataclass(frozen=True, slots=True)
class Cleanable:
    """The part of a log that a round of compaction would process.

    Attributes:
        first_dirty_offset: records before it are compacted.
        end_offset: base offset of the first segment that stays untouched.
        is_overdue: a record is older than `max.compaction.lag.ms`.
    """

    log: PartitionLog
    first_dirty_offset: int
    end_offset: int
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool

    @property
    def ratio(self) -> float:
        """The dirty share of the compactable bytes, from 0 to 1."""
        return self.dirty_bytes / (self.clean_bytes + self.dirty_bytes)

    @property
    def is_due(self) -> bool:
        return self.is_overdue or self.ratio > self.log.config.min_cleanable_dirty_ratio


def cleanable(log: PartitionLog, cleaned_up_to: int | None, now_ms: int) -> Cleanable | None:
    """The part to compact; None if there is none.

    Args:
        cleaned_up_to: the checkpointed end of the last round, if there was one.

    Raises:
        OSError: the log cannot be read.
    """
    segments = log.segments
    if len(segments) == 1 or not log.config.compacts or any(s.mark for s in segments):
        return None  # a marked one is left over from a failed swap
    first_dirty = log.log_start_offset
    if cleaned_up_to is not None and first_dirty <= cleaned_up_to <= log.log_end_offset:
        first_dirty = cleaned_up_to
    ended = [(segment, after.base_offset) for segment, after in pairwise(segments)]
    end_offset = min(log.last_stable_offset, segments[-1].base_offset)
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        for segment, next_base in ended:
            if next_base > first_dirty and segment.newest_ms() > now_ms - lag_ms:
                end_offset = min(end_offset, segment.base_offset)
                break
    within = [(segment, next_base) for segment, next_base in ended if next_base <= end_offset]
    dirty = [segment for segment, next_base in within if next_base > first_dirty]
    dirty_bytes = sum(segment.size_bytes for segment in dirty)
    if dirty_bytes == 0:
        return None
    return Cleanable(
        log,
        first_dirty_offset=first_dirty,
        end_offset=within[-1][1],
        clean_bytes=sum(segment.size_bytes for segment, _ in within) - dirty_bytes,
        dirty_bytes=dirty_bytes,
        is_overdue=_is_overdue(dirty, log.config.max_compaction_lag_ms, now_ms),
    )


def _is_overdue(dirty: Sequence[Segment], lag_ms: int, now_ms: int) -> bool:
    """Whether a segment's first batch is older than the lag (LogCleanerManager.maxCompactionDelay).

    The first batch represents its segment; one without a timestamp does not count.
    """
    if lag_ms == LONG_MAX:
        return False
    for segment in dirty:
        _, first = next(segment.headers(), (0, None))
        if first is not None and 0 < first.max_timestamp_ms < now_ms - lag_ms:
            return True
    return False
