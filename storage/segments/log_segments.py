"""The segments of one log, oldest first, and the files of removed segments.

Files of removed segments are renamed at once and deleted `file.delete.delay.ms` later, as in Kafka
(LogSegments, LocalLog.deleteSegmentFiles). `log.py` handles offsets and producers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import attrgetter

from ..disk.files import Files
from .reads import Found, ReadLimits
from .segment import DELETED, LOG, Segment

_base_offset = attrgetter("base_offset")
Later = Callable[[Sequence[str]], None]


class Segments:
    """The segments of a log.

    Attributes:
        all: at least one; the last one is active.
    """

    __slots__ = ("_deleted", "_dropped", "_files", "_permitted", "_renamed", "all")

    def __init__(self, files: Files, segments: list[Segment]) -> None:
        self.all = segments
        self._files = files
        self._deleted: list[tuple[int | None, list[str]]] = []
        self._dropped: list[Segment] = []  # not renamed yet
        self._renamed = self._permitted = 0  # counts of the dropped segments

    def begin(self, segment: Segment) -> None:
        """Add a new active segment."""
        self.all.append(segment)
        if self._files.on_event is not None:
            from ..disk.file_events import SegmentRolled

            self._files.on_event(SegmentRolled(segment.path(LOG), segment.base_offset))

    def index_of(self, offset: int) -> int:
        """Index of the segment for an offset; 0 for offsets before the first."""
        return max(bisect_right(self.all, offset, key=_base_offset) - 1, 0)

    def index_of_end(self, offset: int) -> int:
        """Index of the segment where records end; the active one only once it has data."""
        index = self.index_of(offset)
        if index and self.all[index].base_offset == offset and self.all[index].size_bytes == 0:
            return index - 1
        return index

    def is_older(self, offset: int, end_offset: int) -> bool:
        """Whether an offset's batch is in an older segment than `end_offset`, which is behind it.

        LogOffsetMetadata.onOlderSegment.
        """
        if offset >= self.all[-1].base_offset:
            return False
        index = self.index_of(offset)
        if offset >= self.all[index].next_offset:
            index += 1  # compaction left a gap; the read goes on in the next segment
        return index < self.index_of_end(end_offset)

    def of(self, offset: int) -> Segment:
        """The segment for an offset."""
        return self.all[self.index_of(offset)]

    def since(self, offset: int) -> list[Segment]:
        """The segment that contains an offset, and all later ones."""
        return self.all[self.index_of(offset) :]

    def find(self, offset: int, limits: ReadLimits) -> Found:
        """Batches from the one that contains `offset` on. Raises OSError, Refused."""
        newest = self.all[-1]
        if offset >= newest.base_offset:
            return newest.find(offset, limits) or Found(b"", offset)
        for segment in self.since(offset):
            found = segment.find(offset, limits)
            if found is not None:
                return found
        return Found(b"", offset)

    def start_of_batch(self, offset: int) -> int:
        """The base offset of the batch that contains an offset; without one the offset itself."""
        segment = self.all[self.index_of(offset)]
        with suppress(OSError):  # a read there reports the error
            position = segment.position_of(offset)
            if position is not None:
                _, header = next(segment.headers(position))
                return min(header.base_offset, offset)
        return offset

    def take_out(self, count: int) -> None:
        """Remove the oldest segments; `rename_dropped` renames their files."""
        for segment in self.all[:count]:
            segment.close()
            self._dropped.append(segment)
        del self.all[:count]

    @property
    def dropped_count(self) -> int:
        """The number of the segments that `take_out` has removed so far."""
        return self._renamed + len(self._dropped)

    @property
    def has_dropped(self) -> bool:
        """Whether files of segments taken out are not renamed yet."""
        return bool(self._dropped)

    def start_is_on_disk(self, count: int) -> bool:
        """Rename the files of the first `count` segments ever taken out, which are not needed now.

        Returns:
            Whether there were any.
        """
        self._permitted = max(self._permitted, count)
        if self._renamed == self._permitted:
            return False
        with suppress(OSError):  # `remove_deleted` tries again, and raises it
            self.rename_dropped()
        return True

    def rename_dropped(self) -> None:
        """Rename the files of segments taken out, as far as the log's start is on disk.

        Raises:
            OSError: the next call goes on.
        """
        while self._renamed < self._permitted:
            segment = self._dropped[0]
            path = segment.path(LOG)
            self._rename_deleted(segment)
            del self._dropped[0]
            self._renamed += 1
            if self._files.on_event is not None:
                from ..disk.file_events import SegmentDeleted

                self._files.on_event(SegmentDeleted(path, segment.base_offset))

    def put(self, new: Segment, *, in_place_of: Sequence[Segment]) -> bool:
        """Replace neighbouring segments by one; False if they are not all present in that order."""
        old = list(in_place_of)
        at = bisect_right(self.all, old[0].base_offset, key=_base_offset) - 1
        if at < 0 or self.all[at : at + len(old)] != old:
            return False
        self.all[at : at + len(old)] = [new]
        return True

    def rename_replaced(self, old: Sequence[Segment]) -> None:
        """Rename the files of the segments that `put` replaced. Raises OSError."""
        for segment in reversed(old):
            self._rename_deleted(segment, with_snapshot=segment is not old[0])

    def swap_files(self, new: Segment, old: Sequence[Segment]) -> None:
        """Rename the files of the segments that `put` replaced, and the new one's.

        Raises:
            OSError: a file could not be renamed.
        """
        self.rename_replaced(old)
        new.rename("")
        if self._files.on_event is not None:
            from ..disk.file_events import SegmentsSwapped

            self._files.on_event(SegmentsSwapped(new.path(LOG), new.base_offset))

    def _rename_deleted(self, segment: Segment, *, with_snapshot: bool = True) -> None:
        """Rename a segment's files; `remove_deleted` deletes them."""
        segment.close()
        self._deleted.append((None, segment.rename(DELETED, with_snapshot=with_snapshot)))

    def remove_deleted(self, now_ms: int, delay_ms: int, later: Later | None = None) -> None:
        """Delete the files of segments removed `delay_ms` ago.

        The time counts from the first call after the removal.

        Args:
            later: called with the paths, to delete them; None: they are deleted at once.

        Raises:
            OSError: a file cannot be deleted.
        """
        waiting: list[tuple[int | None, list[str]]] = []
        due: list[str] = []
        for due_ms, paths in self._deleted:
            if due_ms is None:
                waiting.append((now_ms + delay_ms, paths))
            elif now_ms < due_ms:
                waiting.append((due_ms, paths))
            else:
                due += paths
        if later is not None:
            later(due)
            due = []
        for path in due:
            with suppress(FileNotFoundError):  # replaced by a later file of that name
                self._files.remove(path)
        self._deleted = waiting
