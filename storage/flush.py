"""What a log has appended and not synced, gathered so that another thread can sync it.

`PartitionLog.begin_flush` gathers it, `run` does the syncing and touches nothing of the log, and
`PartitionLog.end_flush` takes note of it. Meanwhile the log goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .files import Files

if TYPE_CHECKING:
    from .segment import Segment


class Flush:
    """One flush of one log.

    Args:
        segments: their data files; they are not closed before `release`.
        beside: paths of other files that are there.
        directories: whose names are to be synced, the files' own first.
        up_to: what lies before this offset will be on disk.

    Raises:
        OSError: a file cannot be opened.
    """

    __slots__ = ("_beside", "_descriptors", "_directories", "_files", "_segments", "up_to")

    def __init__(
        self,
        files: Files,
        segments: Sequence[Segment],
        *,
        beside: Iterable[str] = (),
        directories: Sequence[str] = (),
        up_to: int,
    ) -> None:
        self._files = files
        self._directories = directories
        self._segments: list[Segment] = []
        self._descriptors: list[int] = []
        self._beside: list[int] = []
        self.up_to = up_to
        try:
            for segment in segments:
                self._descriptors.append(segment.hold())
                self._segments.append(segment)
            for path in beside:
                self._beside.append(files.open(path))
        except OSError:
            self.release()
            raise

    def run(self) -> None:
        """Sync it all, in whatever thread. Raises OSError: nobody knows what is on disk then."""
        for descriptor in (*self._descriptors, *self._beside):
            self._files.sync(descriptor)
        for directory in self._directories:
            self._files.sync_directory(directory)

    def release(self) -> None:
        """Let go of the files, in the log's thread."""
        for segment in self._segments:
            segment.release()
        for descriptor in self._beside:
            self._files.close(descriptor)
