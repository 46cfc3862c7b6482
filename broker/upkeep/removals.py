"""Removes the files of deleted logs and segments in a thread, because a large file takes long.

The files were renamed before, so that no start takes them for parts of a log. The next start
removes those that a stop or a failure leaves behind. The thread starts at the first removal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from ...storage.disk.files import Files
from ..clock import is_in_event_loop
from ..log_output import Log
from ..runtime.logs.blocking_steps import reason_of

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_log = Log("removals")


class Removals:
    """The removals of a process, one after the other.

    Args:
        files: the file operations.

    Attributes:
        is_closed: whether no further files are removed.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._pool: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None
        self.is_closed = False

    @property
    def is_busy(self) -> bool:
        """Whether files are being removed."""
        return self._last is not None and not self._last.done()

    def directory(self, path: str) -> None:
        """Remove a directory and its files; without an event loop at once, or raise OSError."""
        self._begin(partial(self._remove_directory, path), path)

    def paths(self, paths: Sequence[str]) -> None:
        """Remove files, like `directory`; a missing file is no error."""
        if paths:
            self._begin(partial(self._remove, paths), paths[0])

    def finish(self) -> None:
        """Wait until all removals are done."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)
            self._pool = None

    def close(self) -> None:
        """Stop after the file that is being removed."""
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
        try:
            self._last = self._pool.submit(_tried, work, path)
        except (RuntimeError, MemoryError) as failed:  # a later thread does it, or the next start
            _log_failure(path, failed)

    def _remove_directory(self, path: str) -> None:
        if target := self._files.link_target(path):  # what it leads to may belong to others
            self._files.remove(path)
            _log.warning("a deleted partition was a link, and its files stay", path=target)
            return
        self._remove([f"{path}/{name}" for name in self._files.names_in(path)])
        if not self.is_closed:
            self._files.remove_directory(path)

    def _remove(self, paths: Sequence[str]) -> None:
        for path in paths:
            if self.is_closed:
                return
            with suppress(FileNotFoundError):  # a later file of that name has replaced it
                self._files.remove(path)


def _tried(work: Callable[[], None], path: str) -> None:
    try:
        work()
    except Exception as failed:
        _log_failure(path, failed)


def _log_failure(path: str, failed: BaseException) -> None:
    _log.error("a deleted file cannot be removed now", path=path, reason=reason_of(failed))
