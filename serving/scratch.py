"""Temporary directories of this process, which later processes remove if this one is killed.

A directory has a file `.ottla-owner`, which its process holds locked for as long as it lives. The
system releases the lock with the process, whatever ended it. So a directory whose file can be
locked has no owner any more; one without that file is not Ottla's, and stays.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

PREFIX: Final = "ottla-"
OWNER: Final = ".ottla-owner"
_MOST_AT_ONCE: Final = 100
_DATA_LOCK: Final = Path("data", ".lock")  # of a broker, as in Kafka
_SOCKET_PATH_BYTES: Final = 100  # the most that all systems take
_SHORT_PLACE: Final = Path("/tmp")
_once = threading.Lock()
_cleared_in: set[int] = set()


class Scratch:
    """A temporary directory, until `remove`.

    Attributes:
        path: the directory.
    """

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock
        self._pid = os.getpid()

    @classmethod
    def make(cls, prefix: str = PREFIX, place: Path | None = None) -> Self:
        """Make one. The first of a process also removes those of killed processes.

        Args:
            place: the directory above it; None for the system's.
        """
        _clear_once()
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        # Under its name the file is locked already, so that no other process takes it for free.
        unnamed = path / f"{OWNER}-new"
        lock = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        _is_locked(lock)
        unnamed.rename(path / OWNER)
        return cls(path, lock)

    def remove(self) -> None:
        """Remove it; not in a process that was forked from its own."""
        if os.getpid() == self._pid:
            shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):
            os.close(self._lock)


class SocketPlace:
    """Where Unix sockets are: beside other files, or in /tmp where that path is too long.

    A directory that it makes goes with this object, and with the process.
    """

    def __init__(self) -> None:
        self._removal: weakref.finalize[..., SocketPlace] | None = None
        self._short: Path | None = None

    def path_of(self, beside: Path) -> Path:
        """The path of a socket, as short as all systems want it.

        Args:
            beside: where it is if that is short enough.
        """
        if len(os.fsencode(beside)) <= _SOCKET_PATH_BYTES:
            return beside
        if self._removal is None or not self._removal.alive or self._short is None:
            made = Scratch.make(place=_SHORT_PLACE)
            self._short = made.path
            self._removal = weakref.finalize(self, made.remove)
        return self._short / beside.name

    def remove(self) -> None:
        """Remove the directory that it has made."""
        if self._removal is not None:
            self._removal()


def clear_abandoned(directory: Path) -> int:
    """Remove the temporary directories of killed processes; return their number.

    Only directories of this user with a file that can be locked are removed, and none in which a
    broker still runs. Links are not followed.
    """
    removed = 0
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if removed == _MOST_AT_ONCE:
                break
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                removed += _remove_if_abandoned(Path(entry.path))
    return removed


def _clear_once() -> None:
    with _once:
        if os.getpid() in _cleared_in:
            return
        _cleared_in.add(os.getpid())
    clear_abandoned(Path(tempfile.gettempdir()))


def _remove_if_abandoned(path: Path) -> bool:
    locks = []
    try:
        for name in (OWNER, _DATA_LOCK):
            if name == _DATA_LOCK and not (path / name).exists():
                continue  # its broker has not begun
            lock = os.open(path / name, os.O_RDWR | os.O_NOFOLLOW)
            locks.append(lock)
            found = os.fstat(lock)
            if found.st_uid != os.getuid() or not stat.S_ISREG(found.st_mode):
                return False
            if not _is_locked(lock):
                return False
        shutil.rmtree(path, ignore_errors=True)
    except OSError:
        return False
    else:
        return True
    finally:
        for lock in locks:
            os.close(lock)


def _is_locked(lock: int) -> bool:
    """Lock a file; false if another process holds it."""
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
