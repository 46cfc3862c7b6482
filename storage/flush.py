"""What a log has appended and not synced, gathered so that another thread can sync it.

`PartitionLog.begin_flush` has `Unsynced` gather it, `Flush.run` does the syncing and touches
nothing of the log, and `PartitionLog.end_flush` takes note of it. Meanwhile the log goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from .files import Files
from .segment import SNAPSHOT, Segment


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


class Unsynced:
    """What a log has beside its data that is not on disk yet: other files, and names."""

    __slots__ = ("_beside", "_directory", "_files", "_names_are_synced", "_own_name_is_synced")

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory
        self._beside: list[tuple[Segment, str]] = []
        self._names_are_synced = self._own_name_is_synced = False

    @property
    def is_any_beside(self) -> bool:
        """Whether a file other than the data's was written and not synced."""
        return bool(self._beside)

    def reached(self, up_to: int) -> int:
        """The recovery point after a flush of the data before `up_to`.

        At the end of a segment the next start believes the segment's files. While one of them is
        not synced, the recovery point is one offset before that end.
        """
        return up_to - any(segment.next_offset == up_to for segment, _ in self._beside)

    def beside(self, segment: Segment, *paths: str) -> None:
        """These files were written for a segment; without it nobody needs them."""
        self._beside += [(segment, path) for path in paths]
        self._names_are_synced = False

    def names_changed(self) -> None:
        """A file was made or renamed in the log's directory."""
        self._names_are_synced = False

    def gather(self, segments: Sequence[Segment], parts: Sequence[Segment], up_to: int) -> Flush:
        """The flush of some segments and of all that lies beside.

        Args:
            segments: whose data are to be synced.
            parts: all segments of the log.

        Raises:
            OSError: a file cannot be opened.
        """
        # The snapshot at the end of a segment is that of the next one's beginning, and stays.
        kept = {each.path(SNAPSHOT) for each in parts}
        beside = [path for segment, path in self._beside if segment in parts or path in kept]
        directories = [] if self._names_are_synced else [self._directory]
        if not self._own_name_is_synced:
            directories.append(os.path.dirname(self._directory))
        flush = Flush(self._files, segments, beside=beside, directories=directories, up_to=up_to)
        self._beside.clear()
        if segments:  # the file of an empty log is not made yet
            self._names_are_synced = self._own_name_is_synced = True  # unless more come meanwhile
        return flush
