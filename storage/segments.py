"""The segments of one log, oldest first, and the files of those that are none of it any more.

What is taken out is renamed at once and removed `file.delete.delay.ms` later, as Kafka does
(LogSegments, LocalLog.deleteSegmentFiles). Offsets and producers are the log's business.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import attrgetter

from .files import Files
from .reads import Found, ReadLimits
from .segment import DELETED, Segment

_base_offset = attrgetter("base_offset")
Later = Callable[[Sequence[str]], None]


class Segments:
    """The parts of a log.

    Attributes:
        all: at least one; the last one takes the appends.
    """

    __slots__ = ("_deleted", "_files", "all")

    def __init__(self, files: Files, segments: list[Segment]) -> None:
        self.all = segments
        self._files = files
        self._deleted: list[tuple[int | None, list[str]]] = []

    def index_of(self, offset: int) -> int:
        """Of the segment that holds an offset, or would; the first one for what lies before it."""
        return max(bisect_right(self.all, offset, key=_base_offset) - 1, 0)

    def since(self, offset: int) -> list[Segment]:
        """The segment that holds an offset, and all behind it."""
        return self.all[self.index_of(offset) :]

    def find(self, offset: int, limits: ReadLimits) -> Found:
        """Batches from the one that holds `offset` on. Raises OSError, Refused."""
        newest = self.all[-1]
        if offset >= newest.base_offset:
            return newest.find(offset, limits) or Found(b"", offset)
        for segment in self.since(offset):
            found = segment.find(offset, limits)
            if found is not None:
                return found
        return Found(b"", offset)

    def start_of_batch(self, offset: int) -> int:
        """The base offset of the batch that holds an offset; the offset itself, where none does."""
        segment = self.all[self.index_of(offset)]
        with suppress(OSError):  # whoever reads there will be told
            position = segment.position_of(offset)
            if position is not None:
                _, header = next(segment.headers(position))
                return min(header.base_offset, offset)
        return offset

    def drop(self, count: int) -> None:
        """Take out the oldest ones. Raises OSError."""
        for _ in range(count):
            self._set_aside(self.all.pop(0))

    def put(self, new: Segment, *, in_place_of: Sequence[Segment]) -> bool:
        """Let one segment stand for a few; False when they are not all there, one by one."""
        old = list(in_place_of)
        at = bisect_right(self.all, old[0].base_offset, key=_base_offset) - 1
        if at < 0 or self.all[at : at + len(old)] != old:
            return False
        self.all[at : at + len(old)] = [new]
        return True

    def set_aside_replaced(self, old: Sequence[Segment]) -> None:
        """Take the files out of the way of the one that `put` has put there. Raises OSError."""
        for segment in reversed(old):
            self._set_aside(segment, with_snapshot=segment is not old[0])

    def _set_aside(self, segment: Segment, *, with_snapshot: bool = True) -> None:
        """Take its files out of the log; `remove_deleted` removes them."""
        segment.close()
        self._deleted.append((None, segment.rename(DELETED, with_snapshot=with_snapshot)))

    def remove_deleted(self, now_ms: int, delay_ms: int, later: Later | None = None) -> None:
        """Remove the files of what was taken out `delay_ms` ago.

        The time is counted from the first call that sees them.

        Args:
            later: is given their paths, to remove them; None: they are at once.

        Raises:
            OSError: one could not be removed.
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
            with suppress(FileNotFoundError):  # replaced by a later one of that name
                self._files.remove(path)
        self._deleted = waiting
