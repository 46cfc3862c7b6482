"""Events of log files and snapshots, for the observer in `Files.on_event`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class SegmentRolled(NamedTuple):
    """A log has a new active segment.

    Attributes:
        path: of its data file.
        base_offset: of the new segment.
    """

    path: str
    base_offset: int


class SegmentsSwapped(NamedTuple):
    """A compacted segment has taken the place of those that it was made of.

    Attributes:
        path: of its data file.
        base_offset: of the compacted segment.
    """

    path: str
    base_offset: int


class SegmentDeleted(NamedTuple):
    """Retention, DeleteRecords or a snapshot of the metadata has removed a segment from its log.

    The files have the suffix `.deleted` until `file.delete.delay.ms` has passed.

    Attributes:
        path: of its data file, without that suffix.
        base_offset: of the segment.
    """

    path: str
    base_offset: int


class ProducerSnapshotWritten(NamedTuple):
    """A `.snapshot` of a partition's producers has its name; it is not synced yet."""

    path: str


class SnapshotWritten(NamedTuple):
    """A snapshot of the metadata has its name, and is not synced to its directory yet."""

    path: str


FileEvent = (
    SegmentRolled | SegmentsSwapped | SegmentDeleted | ProducerSnapshotWritten | SnapshotWritten
)
OnEvent = Callable[[FileEvent], None]
