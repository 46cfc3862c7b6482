"""Removes files that nobody needs any more, in a thread: a large one takes its time.

They have been renamed before, so that no start takes them for parts of a log, and what a stop or a
failure leaves of them goes with the next start. No thread is there before the first removal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from ...storage.files import Files
from ..clock import is_in_event_loop
from ..log_output import Log

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_log = Log("removals")


class Removals:
    """The removals of a process, one after the other.

    Args:
        files: what they lie on.

    Attributes:
        is_closed: nothing is removed any more.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._pool: ThreadPoolExecutor | None = None
        self.is_closed = False

    def directory(self, path: str) -> None:
        """Remove a directory that has files in it. Without an event loop at once, or OSError."""
        self._begin(partial(self._remove_directory, path), path)

    def paths(self, paths: Sequence[str]) -> None:
        """Remove files; one that is not there is none the less gone. Else as `directory`."""
        if paths:
            self._begin(partial(self._remove, paths), paths[0])

    def finish(self) -> None:
        """Wait until all is removed that was asked for."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)
            self._pool = None

    def close(self) -> None:
        """End: what is being removed goes on to the end of a file."""
        self.is_closed = True
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _begin(self, work: Callable[[], None], path: str) -> None:
        if not is_in_event_loop():
            work()
            return
        if self.is_closed:
            return
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(1, thread_name_prefix="removal")
        self._pool.submit(_tried, work, path)

    def _remove_directory(self, path: str) -> None:
        self._remove([f"{path}/{name}" for name in self._files.names_in(path)])
        if not self.is_closed:
            self._files.remove_directory(path)

    def _remove(self, paths: Sequence[str]) -> None:
        for path in paths:
            if self.is_closed:
                return
            with suppress(FileNotFoundError):  # replaced by a later one of that name
                self._files.remove(path)


def _tried(work: Callable[[], None], path: str) -> None:
    try:
        work()
    except OSError as failed:
        _log.error("what was deleted could not be removed now", path=path, reason=str(failed))
