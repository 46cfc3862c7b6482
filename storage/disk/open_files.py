"""Limits the number of open data files: half of the process's descriptors, the rest is for sockets.

A segment's file is opened when it is first needed. Beyond the limit the one is closed that was not
used since the last pass (the "clock" approximation of least recently used); its next use opens it
again. Descriptors belong to the process, so one `OPEN_FILES` serves all its logs. The last
descriptors are reserved for short-lived files: an index, a checkpoint, a lazily imported module.
"""

from __future__ import annotations

import errno
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol
from weakref import ref

_MOST: Final = 65_536
_FEWEST: Final = 16
RESERVED: Final = 16
"""Descriptors that sockets leave free; data files leave half of them free."""
_MORE_THAN_ENOUGH: Final = 32  # files to close when the process has no descriptor left
_SPARED_AT_ONCE: Final = 256
"""Used files that one pass spares; beyond it the next file is closed, used or not."""
_NONE_LEFT: Final = (errno.EMFILE, errno.ENFILE)


class Closable(Protocol):
    """A segment, whose data file may be closed for now.

    Attributes:
        was_used: since it was last looked at.
    """

    was_used: bool

    def close_for_now(self) -> None:
        """Close the file until it is needed again."""


class OpenFiles:
    """The open data files.

    Args:
        limit: their largest number; None: half of the process's limit.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._descriptors = 0
        # Finding the first key of a dict takes as long as there are keys removed before it: 70 ms
        # for a Fetch of 1,000 partitions.
        self._open: OrderedDict[int, ref[Closable]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def limit(self) -> int:
        """The largest number of open data files."""
        if self._limit is None:
            self._limit = min(max(self.descriptors // 2, _FEWEST), _MOST)
        return self._limit

    @property
    def descriptors(self) -> int:
        """The process's limit of descriptors."""
        if self._descriptors == 0:
            import resource

            allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            self._descriptors = sys.maxsize if allowed == resource.RLIM_INFINITY else allowed
        return self._descriptors

    @property
    def logs_at_once(self) -> int:
        """The number of logs that may have all their files open at the same time."""
        return max(self.limit // 32, 1)

    def open(self, segment: Closable, open_file: Callable[[str], int], path: str) -> int:
        """A descriptor of a segment's data file, by `open_file`. Raises OSError."""
        try:
            descriptor = open_file(path)
        except OSError as failed:
            if failed.errno not in _NONE_LEFT or not self._open:
                raise
            for _ in range(min(_MORE_THAN_ENOUGH, len(self._open))):
                self._close_one()
            descriptor = open_file(path)
        is_among_last = descriptor >= self.descriptors - RESERVED // 2  # the lowest free one
        if is_among_last or len(self._open) >= self.limit:
            self._close_one()
        self._add(segment)
        return descriptor

    def closed(self, segment: Closable) -> None:
        """A segment has closed its file."""
        self._open.pop(id(segment), None)

    def _add(self, segment: Closable) -> None:
        key = id(segment)
        self._open[key] = ref(segment, lambda _: self._open.pop(key, None))

    def _close_one(self) -> None:
        """Close one file; a file used since the last pass is spared once."""
        spared = 0
        while self._open:
            key, known = next(iter(self._open.items()))
            segment = known()
            if segment is None:
                self._open.pop(key, None)
                continue
            if segment.was_used and spared < _SPARED_AT_ONCE:
                segment.was_used = False
                self._open.move_to_end(key)
                spared += 1
                continue
            self._open.pop(key, None)
            segment.close_for_now()
            return


OPEN_FILES: Final = OpenFiles()
