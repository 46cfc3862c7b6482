"""Events of the files of the logs, for the observer in `Files.on_event`."""

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


class SnapshotWritten(NamedTuple):
    """A snapshot of the metadata has its name, and is not synced to its directory yet."""

    path: str


FileEvent = SegmentRolled | SegmentsSwapped | SnapshotWritten
OnEvent = Callable[[FileEvent], None]
