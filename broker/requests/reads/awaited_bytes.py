"""Counts the bytes for a Fetch that waits for `min_bytes`, without reading them.

An append costs only a check of its own partition. Reading all partitions at each append would make
a Fetch that waits for 20 MB read them 5,000 times.

Follows DelayedFetch.tryComplete. The bytes of a partition are those between the fetch offset and
the end in the same segment, at most the limit of the partition; the limit of the request does not
count. A Fetch of an older segment is answered at once: also when a new segment begins at its fetch
offset while it waits, because its position was in the one before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....protocol.errors import Refused
from ....storage.log import PartitionLog

if TYPE_CHECKING:
    from ....storage.segments.segment import Segment
    from ...node import Node
    from ...runtime.fetching.fetch_sessions import Item, Wanted
    from ...runtime.fetching.fetch_waits import TopicPartition
    from .fetch_reads import Limits, PartitionRead


class _Counted:
    """The counted bytes of one partition.

    Attributes:
        is_at_end: whether no batch had the fetch offset when the wait began.
    """

    __slots__ = ("bytes_there", "is_at_end", "position", "segment", "wanted")

    def __init__(self, wanted: Wanted, *, is_at_end: bool) -> None:
        self.wanted = wanted
        self.is_at_end = is_at_end
        self.bytes_there = 0
        self.segment: Segment | None = None  # the segment of the fetch offset, once it has data
        self.position = 0


class AwaitedBytes:
    """Counts the bytes that a waiting Fetch still needs.

    Args:
        min_bytes: the bytes it waits for.

    Attributes:
        is_enough: whether the partitions that were added have enough already.
    """

    def __init__(self, node: Node, limits: Limits, min_bytes: int) -> None:
        self._node = node
        self._committed = limits.committed
        self._left = min(min_bytes, limits.max_bytes)
        self._counted: dict[TopicPartition, _Counted] = {}
        self.is_enough = False

    def add(self, items: Iterable[Item], parts: Iterable[PartitionRead]) -> None:
        """Count the bytes that are already there.

        Args:
            items: the partitions that may be read.
            parts: their records read so far, in the same order.
        """
        for (key, name, wanted), part in zip(items, parts, strict=True):
            offset = wanted.fetch_offset
            counted = _Counted(wanted, is_at_end=part.high_watermark <= offset)
            self._counted[name, key[1]] = counted
            if offset < (part.last_stable_offset if self._committed else part.high_watermark):
                self.is_enough = self.has_enough((name, key[1])) or self.is_enough

    def expect(self, topic_partition: TopicPartition, wanted: Wanted, high_watermark: int) -> None:
        """Count a partition that had no bytes when the wait began.

        Args:
            high_watermark: as it was then.
        """
        if topic_partition not in self._counted:
            is_at_end = high_watermark <= wanted.fetch_offset
            self._counted[topic_partition] = _Counted(wanted, is_at_end=is_at_end)

    def has_enough(self, topic_partition: TopicPartition) -> bool:
        """Whether the Fetch should read and answer, after an append to a partition."""
        counted = self._counted[topic_partition]
        log = self._node.open_log_of(*topic_partition)
        offset = counted.wanted.fetch_offset
        if log is None:
            return True  # reading will return the error
        up_to = log.last_stable_offset if self._committed else log.high_watermark
        if offset >= up_to:
            return offset > up_to and log.layout.start_of_batch(offset) > up_to
        if self._left <= 1 and counted.wanted.max_bytes > 0:
            return True
        try:
            bytes_there = self._bytes_between(counted, log, up_to)
        except (OSError, Refused):
            return True
        if bytes_there is None:
            return True
        bytes_there = min(bytes_there, counted.wanted.max_bytes)
        self._left -= bytes_there - counted.bytes_there
        counted.bytes_there = bytes_there
        return self._left <= 0

    @staticmethod
    def _bytes_between(counted: _Counted, log: PartitionLog, up_to: int) -> int | None:
        """The bytes from the fetch offset on; None if it is in an older segment."""
        offset = counted.wanted.fetch_offset
        if log.layout.is_older(offset, up_to):
            return None
        segment = counted.segment
        if segment is None or up_to > segment.next_offset:
            segment = log.layout.of(offset)
            if counted.is_at_end and segment.base_offset == offset > 0:
                return None
            counted.segment = segment
            counted.position = segment.position_of(offset) or 0
        end = segment.position_of(up_to)
        return (segment.size_bytes if end is None else end) - counted.position
