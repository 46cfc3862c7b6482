"""All file operations of this room, as an interface that tests can make fail.

`RealFiles` is the operating system. Descriptors are its small integers; paths are strings. Whole
small files (checkpoints, snapshots, indexes) are replaced atomically by `write_atomically`.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from .file_events import OnEvent
from .open_files import OPEN_FILES, OpenFiles

Bytes = bytes | bytearray | memoryview

# The logs contain credentials, and files of settings passwords: only their user may read them.
# tests/storage/test_private_files.py looks for files and directories that are made elsewhere.
PRIVATE_FILE: Final = 0o600
PRIVATE_DIRECTORY: Final = 0o700


class Files(Protocol):
    """The file operations that logs need. Every one may raise OSError.

    Attributes:
        on_event: called with each event of the files of the logs; None without an observer.
        open_files: the open data files, and their limit.
    """

    on_event: OnEvent | None
    open_files: OpenFiles

    def open(self, path: str, /) -> int:
        """A descriptor for reading and appending; creates a missing file."""

    def close(self, descriptor: int, /) -> None: ...

    def append(self, descriptor: int, data: Bytes, /) -> int:
        """Write at the end of the file, unbuffered; returns the number of bytes written."""

    def read_at(self, descriptor: int, size_bytes: int, position: int, /) -> bytes:
        """At most `size_bytes` bytes from `position` on; fewer at the end of the file."""

    def write_at(self, path: str, data: Bytes, position: int, /) -> None:
        """Overwrite existing bytes. Raises FileNotFoundError if the file is missing."""

    def truncate(self, descriptor: int, size_bytes: int, /) -> None: ...

    def reserve(self, descriptor: int, size_bytes: int, /) -> None:
        """Reserve space for a file of that size, without changing its size.

        Raises OSError if the file system cannot do so, or has no space.
        """

    def sync(self, descriptor: int, /) -> None:
        """Return when the file's bytes survive a loss of power."""

    def size(self, path: str, /) -> int:
        """The file's size. Raises FileNotFoundError if it is missing."""

    def modified_ms(self, path: str, /) -> int:
        """The time of the last write. Raises FileNotFoundError if the file is missing."""

    def read(self, path: str, /) -> bytes:
        """The whole file. Raises FileNotFoundError if it is missing."""

    def rename(self, source: str, target: str, /) -> None:
        """Replace `target` atomically if it exists."""

    def remove(self, path: str, /) -> None: ...

    def names_in(self, directory: str, /) -> list[str]:
        """The names in a directory, unordered. Raises FileNotFoundError if it is missing."""

    def directories_in(self, directory: str, /) -> list[str]:
        """The names of the directories in a directory, unordered, without links to others."""

    def link_target(self, path: str, /) -> str:
        """The absolute path that a symbolic link leads to; empty if the path is no link."""

    def identity(self, path: str, /) -> tuple[int, int]:
        """Device and inode: two paths of one directory have the same. Raises FileNotFoundError."""

    def make_directory(self, directory: str, /) -> None:
        """Create a directory and its parents; an existing one is left unchanged."""

    def remove_directory(self, directory: str, /) -> None:
        """Remove an empty directory."""

    def sync_directory(self, directory: str, /) -> None:
        """Return when the names in the directory survive a loss of power."""

    def boot_id(self) -> bytes:
        """An id of this run of the machine: a loss of power changes it. Empty if unknown."""

    def is_at(self, descriptor: int, path: str, /) -> bool:
        """Whether the path is still that of the open file, neither removed nor renamed."""

    def lock(self, path: str, /) -> int:
        """Lock the file against other processes until the descriptor is closed.

        Raises BlockingIOError if another process holds it.
        """


class RealFiles:
    """The files of the operating system."""

    on_event: OnEvent | None = None
    open_files = OPEN_FILES

    # Functions of `os` without wrappers, so that an append costs no extra call.
    append = staticmethod(os.write)
    read_at = staticmethod(os.pread)
    close = staticmethod(os.close)
    truncate = staticmethod(os.ftruncate)
    sync = staticmethod(os.fdatasync)
    size = staticmethod(os.path.getsize)
    rename = staticmethod(os.replace)
    remove = staticmethod(os.unlink)
    names_in = staticmethod(os.listdir)
    remove_directory = staticmethod(os.rmdir)

    def open(self, path: str, /) -> int:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE_FILE)

    def write_at(self, path: str, data: Bytes, position: int, /) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(descriptor, data, position)
        finally:
            os.close(descriptor)

    def reserve(self, descriptor: int, size_bytes: int, /) -> None:
        from .reservation import reserve

        reserve(descriptor, size_bytes)

    def modified_ms(self, path: str, /) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def read(self, path: str, /) -> bytes:
        with open(path, "rb", buffering=0) as file:
            return file.read()

    def directories_in(self, directory: str, /) -> list[str]:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]

    def link_target(self, path: str, /) -> str:
        return os.path.realpath(path) if os.path.islink(path) else ""

    def identity(self, path: str, /) -> tuple[int, int]:
        found = os.stat(path)
        return found.st_dev, found.st_ino

    def make_directory(self, directory: str, /) -> None:
        os.makedirs(directory, mode=PRIVATE_DIRECTORY, exist_ok=True)

    def sync_directory(self, directory: str, /) -> None:
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def boot_id(self) -> bytes:
        try:
            return self.read("/proc/sys/kernel/random/boot_id").strip()
        except OSError:  # not on Linux
            return b""

    def is_at(self, descriptor: int, path: str, /) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(path))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def lock(self, path: str, /) -> int:
        import fcntl

        descriptor = self.open(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(
                descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB
            )  # the kind of lock that Java uses
        except OSError:
            os.close(descriptor)
            raise
        return descriptor


def write_atomically(files: Files, path: str, data: Bytes, *, sync: bool = False) -> None:
    """Replace the file's content: if the process dies, it has the old or the new content.

    Args:
        sync: also after a loss of power.
    """
    temporary = f"{path}.tmp"
    descriptor = files.open(temporary)
    try:
        files.truncate(descriptor, 0)  # left over from an earlier process
        append_whole(files, descriptor, data)
        if sync:
            files.sync(descriptor)
    except OSError as failed:  # errors of a descriptor lack the path
        if failed.filename is None:
            failed.filename = path
        raise
    finally:
        files.close(descriptor)
    files.rename(temporary, path)
    if sync:
        files.sync_directory(os.path.dirname(path))


def append_whole(files: Files, descriptor: int, data: Bytes) -> None:
    """Append all of `data`. Raises OSError if the disk takes only a part."""
    written = files.append(descriptor, data)
    if written != len(data):
        raise disk_full(written, len(data))


def disk_full(written: int, size_bytes: int) -> OSError:
    """The error for an incomplete write."""
    why = f"only {written} of {size_bytes} bytes were written: there is no room for more"
    return OSError(errno.ENOSPC, why)


def read_if_exists(files: Files, path: str) -> bytes | None:
    """The whole file, or None if it is missing."""
    try:
        return files.read(path)
    except FileNotFoundError:
        return None
