"""Counts the new bytes for a Fetch that waits for `min_bytes`, without reading them (DelayedFetch).

An append costs only a check of its own partition. Reading all partitions at each append would make
a Fetch that waits for 20 MB read them 5,000 times.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...protocol.errors import Refused
from ...storage.log import PartitionLog

if TYPE_CHECKING:
    from ...storage.segment import Segment
    from ..node import Node
    from ..runtime.fetch_sessions import Item, Wanted
    from ..runtime.fetch_waits import TopicPartition
    from .fetch_reads import Limits, PartitionRead


class _Counted:
    """The counted bytes of one partition."""

    __slots__ = ("bytes_there", "position", "segment", "wanted")

    def __init__(self, wanted: Wanted, bytes_there: int) -> None:
        self.wanted = wanted
        self.bytes_there = bytes_there
        self.segment: Segment | None = None  # the segment of the fetch offset, once it has data
        self.position = 0


class AwaitedBytes:
    """Counts the bytes that a waiting Fetch still needs.

    Args:
        min_bytes: the bytes it waits for.
    """

    def __init__(self, node: Node, limits: Limits, min_bytes: int) -> None:
        self._node = node
        self._committed = limits.committed
        self._left = min_bytes
        self._counted: dict[TopicPartition, _Counted] = {}

    def add(self, items: Iterable[Item], parts: Iterable[PartitionRead]) -> None:
        """Count the bytes that are already there.

        Args:
            items: the partitions that may be read.
            parts: their records read so far, in the same order.
        """
        for (key, name, wanted), part in zip(items, parts, strict=True):
            bytes_there = len(part.records)
            self._left -= bytes_there
            self._counted[name, key[1]] = _Counted(wanted, bytes_there)

    def expect(self, topic_partition: TopicPartition, wanted: Wanted) -> None:
        """Count a partition that had no bytes when the wait began."""
        if topic_partition not in self._counted:
            self._counted[topic_partition] = _Counted(wanted, 0)

    def has_enough(self, topic_partition: TopicPartition) -> bool:
        """Whether the Fetch should read and answer, after an append to a partition."""
        counted = self._counted[topic_partition]
        log = self._node.open_log_of(*topic_partition)
        offset = counted.wanted.fetch_offset
        if log is None or not log.log_start_offset <= offset <= log.log_end_offset:
            return True  # reading will return the error
        up_to = log.last_stable_offset if self._committed else log.high_watermark
        if offset >= up_to:
            return False
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
        """The bytes from the fetch offset on; None if it is in an older segment.

        Kafka answers a Fetch in an older segment at once, whatever its bytes.
        """
        active = log.segments[-1]
        if counted.wanted.fetch_offset < active.base_offset:
            return None
        if counted.segment is not active:
            counted.segment = active
            counted.position = active.position_of(counted.wanted.fetch_offset) or 0
        end = active.position_of(up_to)
        return (active.size_bytes if end is None else end) - counted.position
