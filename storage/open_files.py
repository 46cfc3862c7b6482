"""How many data files are open at once: as many as the process may, less a half for its sockets.

A segment's file is opened when it is first needed. Beyond the limit one is closed that has not been
used since the last time round (the "clock" kind of least recently used), to be opened again when it
is. Descriptors are the process's, so there is one `OPEN_FILES` for all its logs. The last ones
are for what is opened for a moment: an index, a checkpoint, a module that is imported late.
"""

from __future__ import annotations

import errno
import sys
from typing import TYPE_CHECKING, Final, Protocol
from weakref import ref

if TYPE_CHECKING:
    from .files import Files

_MOST: Final = 65_536
_FEWEST: Final = 16
RESERVED: Final = 16
"""So many descriptors are left by sockets, and half of them by data files."""
_MORE_THAN_ENOUGH: Final = 32  # closed when the process has no descriptor left at all
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
        limit: how many they may be; None: half of what the process may open.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._descriptors = 0
        self._open: dict[int, ref[Closable]] = {}

    def __len__(self) -> int:
        return len(self._open)

    @property
    def limit(self) -> int:
        """How many there may be."""
        if self._limit is None:
            self._limit = min(max(self.descriptors // 2, _FEWEST), _MOST)
        return self._limit

    @property
    def descriptors(self) -> int:
        """How many descriptors the process may have, for whatever."""
        if self._descriptors == 0:
            import resource

            allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            self._descriptors = sys.maxsize if allowed == resource.RLIM_INFINITY else allowed
        return self._descriptors

    @property
    def logs_at_once(self) -> int:
        """Of how many logs all files may be open at a time, beside the others."""
        return max(self.limit // 32, 1)

    def open(self, segment: Closable, files: Files, path: str) -> int:
        """A descriptor of a segment's data file. Raises OSError."""
        try:
            descriptor = files.open(path)
        except OSError as failed:
            if failed.errno not in _NONE_LEFT or not self._open:
                raise
            for _ in range(min(_MORE_THAN_ENOUGH, len(self._open))):
                self._close_one()
            descriptor = files.open(path)
        is_among_last = descriptor >= self.descriptors - RESERVED // 2  # the lowest is given out
        if is_among_last or len(self._open) >= self.limit:
            self._close_one()
        self._add(segment)
        return descriptor

    def closed(self, segment: Closable) -> None:
        """A segment closed its file by itself."""
        self._open.pop(id(segment), None)

    def _add(self, segment: Closable) -> None:
        key = id(segment)
        self._open[key] = ref(segment, lambda _: self._open.pop(key, None))

    def _close_one(self) -> None:
        """Each is spared once when it was used since it was last looked at."""
        while self._open:
            segment = self._open.pop(next(iter(self._open)))()
            if segment is None:
                continue
            if segment.was_used:
                segment.was_used = False
                self._add(segment)
                continue
            segment.close_for_now()
            return


OPEN_FILES: Final = OpenFiles()
