"""Collects a log's unsynced files, so that another thread can sync them.

`PartitionLog.begin_flush` collects them with `Unsynced`; `Flush.run` syncs them without touching
the log; `PartitionLog.end_flush` records the result. Meanwhile the log accepts appends.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from ..disk.files import Files
from .segment import SNAPSHOT, Segment


class Flush:
    """One flush of one log.

    Args:
        segments: segments whose data files to sync; they stay open until `release`.
        other_files: paths of other existing files to sync.
        directories: directories whose names to sync, the files' own first.
        up_to: all data before this offset will be on disk.

    Raises:
        OSError: a file cannot be opened.

    Attributes:
        taken: the other files with the segments that need them.
        dropped_count: of the log's segments; the files of so many may be renamed after it.
        log_start_offset: of the log, if its files will have it on disk; else -1.
    """

    __slots__ = (
        "_descriptors", "_directories", "_files", "_other_files", "_segments", "dropped_count",
        "log_start_offset", "taken", "up_to",
    )  # fmt: skip

    def __init__(
        self,
        files: Files,
        segments: Sequence[Segment],
        *,
        other_files: Iterable[str] = (),
        directories: Sequence[str] = (),
        up_to: int,
    ) -> None:
        self._files = files
        self._directories = directories
        self._segments: list[Segment] = []
        self._descriptors: list[int] = []
        self._other_files: list[int] = []
        self.up_to = up_to
        self.dropped_count, self.log_start_offset = 0, -1
        self.taken: list[tuple[Segment, str]] = []
        try:
            for segment in segments:
                self._descriptors.append(segment.hold())
                self._segments.append(segment)
            for path in other_files:
                self._other_files.append(files.open(path))
        except BaseException:  # the disk, or no memory
            self.release()
            raise

    def run(self) -> None:
        """Sync everything, on any thread. Raises OSError; the state of the disk is then unknown."""
        for descriptor in (*self._descriptors, *self._other_files):
            self._files.sync(descriptor)
        for directory in self._directories:
            self._files.sync_directory(directory)

    def release(self) -> None:
        """Release the files, on the log's thread."""
        for segment in self._segments:
            segment.release()
        for descriptor in self._other_files:
            self._files.close(descriptor)


class Unsynced:
    """The unsynced parts of a log besides its data: other files, and names.

    Args:
        repaired: files that a start has repaired, with the segments that need them.
    """

    __slots__ = ("_directory", "_files", "_names_are_synced", "_other_files", "_own_name_is_synced")

    def __init__(
        self, files: Files, directory: str, repaired: Iterable[tuple[Segment, str]] = ()
    ) -> None:
        self._files = files
        self._directory = directory
        self._other_files = list(repaired)
        self._names_are_synced = self._own_name_is_synced = False

    @property
    def has_unsynced_files(self) -> bool:
        """Whether a file other than the data files was written and not synced."""
        return bool(self._other_files)

    def reached(self, up_to: int) -> int:
        """The recovery point after a flush of the data before `up_to`.

        At the end of a segment the next start trusts the segment's files. If one of them is not
        synced, the recovery point is one offset before that end.
        """
        return up_to - any(segment.next_offset == up_to for segment, _ in self._other_files)

    def trusted(self, recovery_point: int) -> int:
        """The recovery point at a start: repaired segments must be read again until a flush."""
        ends = (max(segment.next_offset - 1, 0) for segment, _ in self._other_files)
        return min([recovery_point, *ends])

    def add_files(self, segment: Segment, *paths: str) -> None:
        """Add files that were written for a segment; they are needed only with it."""
        self._other_files += [(segment, path) for path in paths]
        self._names_are_synced = False

    def note_changed_names(self) -> None:
        """A file in the log's directory was created or renamed."""
        self._names_are_synced = False

    def give_back(self, flush: Flush) -> None:
        """Take back what a flush was to sync, and did not try to."""
        self._other_files = flush.taken + self._other_files
        self._names_are_synced = self._own_name_is_synced = False

    def collect(self, segments: Sequence[Segment], parts: Sequence[Segment], up_to: int) -> Flush:
        """The flush of some segments and of all other unsynced files.

        Args:
            segments: segments whose data to sync.
            parts: all segments of the log.

        Raises:
            OSError: a file cannot be opened.
        """
        # The snapshot at a segment's end belongs to the beginning of the next segment, and stays.
        kept = {each.path(SNAPSHOT) for each in parts}
        other_files = [
            path for segment, path in self._other_files if segment in parts or path in kept
        ]
        directories = [] if self._names_are_synced else [self._directory]
        if not self._own_name_is_synced:
            directories.append(os.path.dirname(self._directory))
        flush = Flush(
            self._files, segments, other_files=other_files, directories=directories, up_to=up_to
        )
        flush.taken, self._other_files = self._other_files, []
        if segments:  # an empty log has no file yet
            self._names_are_synced = self._own_name_is_synced = True  # until the next change
        return flush
