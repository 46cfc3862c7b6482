"""Detects that the data directory, or a log's file, is removed while the broker runs.

Data written to a removed file is lost at the end of the process. Once a second the watch checks
that the path still leads to the directory that was opened, and that the files some logs append to
still exist. Apache Kafka notices within seconds too, when it writes its checkpoints, and halts
(LogDirFailureChannel).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

from ...storage.segments.segment import LOG
from ..log_output import Log

if TYPE_CHECKING:
    from ...storage.log import PartitionLog
    from ...storage.log_directory import LogDirectory
    from ..clock import Clock, Timer

INTERVAL_S: Final = 1.0
LOGS_IN_A_LOOK: Final = 200

_log = Log("storage")


class DirectoryWatch:
    """Checks once a second, from `start` to `stop`.

    Args:
        directory: the data directory.
        clock: the time.
        on_gone: called once, with the directory's path, when it is removed.
    """

    def __init__(
        self, directory: LogDirectory, clock: Clock, on_gone: Callable[[str], None]
    ) -> None:
        self._clock = clock
        self._directory = directory
        self._next = 0
        self._timer: Timer | None = None
        self._on_gone = on_gone

    def start(self) -> None:
        """Start; needs a running event loop."""
        self._timer = self._clock.live.call_after_ms(INTERVAL_S * 1000, self._look_and_continue)

    def stop(self) -> None:
        """Stop checking."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def look(self) -> bool:
        """Check once; return whether the directory exists."""
        if not self._directory.exists():
            self._on_gone(self._directory.path)
            return False
        some = list(islice(self._directory.logs(), self._next, self._next + LOGS_IN_A_LOOK))
        self._next = self._next + LOGS_IN_A_LOOK if len(some) == LOGS_IN_A_LOOK else 0
        for log in some:
            with suppress(OSError):  # the disk cannot say where the file is; a later look may
                _look_at(log)
        return True

    def _look_and_continue(self) -> None:
        self.start()  # first: a disk that fails a look does not end the watch
        if not self.look():
            self.stop()


def _look_at(log: PartitionLog) -> None:
    """Refuse further appends to a log whose file was removed."""
    active = log.segments[-1]
    if log.failure is not None or active.is_in_place():
        return
    path = active.path(LOG)
    log.fail(
        "its file was removed", FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    )
    _log.error(
        "a data file was removed while the broker runs",
        topic=log.topic,
        partition=log.partition,
        file=path,
        remedy="nothing more is appended to this partition until the broker is restarted",
    )


def log_gone(path: str) -> None:
    _log.error("the data directory was removed or replaced while the broker runs", directory=path)
