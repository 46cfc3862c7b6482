"""The file operations of this room, all of them: what a test must be able to make fail.

`RealFiles` is the operating system. Descriptors are its small integers; paths are strings. Whole
small files (checkpoints, snapshots, indexes) are replaced by `write_atomically`, whole or not.
"""

from __future__ import annotations

import errno
import os
from typing import Protocol

Bytes = bytes | bytearray | memoryview


class Files(Protocol):
    """What the logs need of a file system. Every operation may raise OSError."""

    def open(self, path: str, /) -> int:
        """A descriptor to read and append with; the file is made when it is missing."""

    def close(self, descriptor: int, /) -> None: ...

    def append(self, descriptor: int, data: Bytes, /) -> int:
        """Write behind the end of the file, unbuffered; how many bytes went in."""

    def read_at(self, descriptor: int, size_bytes: int, position: int, /) -> bytes:
        """At most `size_bytes` bytes from `position` on; fewer at the end of the file."""

    def write_at(self, path: str, data: Bytes, position: int, /) -> None:
        """Write over what is there. Raises FileNotFoundError when there is no such file."""

    def truncate(self, descriptor: int, size_bytes: int, /) -> None: ...

    def reserve(self, descriptor: int, size_bytes: int, /) -> None:
        """Take room for a file of that size, which keeps the size that it has.

        Raises OSError where the file system cannot do so, or has no room.
        """

    def sync(self, descriptor: int, /) -> None:
        """Return when the file's bytes would survive a loss of power."""

    def size(self, path: str, /) -> int:
        """Raises FileNotFoundError when there is no such file."""

    def modified_ms(self, path: str, /) -> int:
        """When it was last written to. Raises FileNotFoundError when there is no such file."""

    def read(self, path: str, /) -> bytes:
        """The whole file. Raises FileNotFoundError when there is none."""

    def rename(self, source: str, target: str, /) -> None:
        """Replaces `target` when it is there, atomically."""

    def remove(self, path: str, /) -> None: ...

    def names_in(self, directory: str, /) -> list[str]:
        """The names in a directory, in no order. Raises FileNotFoundError when it is missing."""

    def make_directory(self, directory: str, /) -> None:
        """With its parents; one that is there is let be."""

    def remove_directory(self, directory: str, /) -> None:
        """An empty one."""

    def sync_directory(self, directory: str, /) -> None:
        """Return when the names in it would survive a loss of power."""

    def is_at(self, descriptor: int, path: str, /) -> bool:
        """Whether the path still leads to the open file: neither was removed or renamed."""

    def lock(self, path: str, /) -> int:
        """Hold the file against every other process until the descriptor is closed.

        Raises BlockingIOError when another one holds it.
        """


class RealFiles:
    """The files of the operating system."""

    # Functions of `os` as they are: an append pays for no call of ours.
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
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

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

    def make_directory(self, directory: str, /) -> None:
        # Credentials are in the logs: they are for the user alone whom the broker runs as.
        os.makedirs(directory, mode=0o700, exist_ok=True)

    def sync_directory(self, directory: str, /) -> None:
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

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
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the kind that Java takes
        except OSError:
            os.close(descriptor)
            raise
        return descriptor


def write_atomically(files: Files, path: str, data: Bytes, *, sync: bool = False) -> None:
    """Make `data` the file's content: it has the old or the new bytes, whenever the process dies.

    Args:
        sync: through a loss of power too.
    """
    temporary = f"{path}.tmp"
    descriptor = files.open(temporary)
    try:
        files.truncate(descriptor, 0)  # one that an earlier life left
        append_whole(files, descriptor, data)
        if sync:
            files.sync(descriptor)
    except OSError as failed:  # what has only a descriptor does not say which file it was
        if failed.filename is None:
            failed.filename = path
        raise
    finally:
        files.close(descriptor)
    files.rename(temporary, path)
    if sync:
        files.sync_directory(os.path.dirname(path))


def append_whole(files: Files, descriptor: int, data: Bytes) -> None:
    """Append all of `data`. Raises OSError when the disk takes only a part."""
    written = files.append(descriptor, data)
    if written != len(data):
        raise disk_full(written, len(data))


def disk_full(written: int, size_bytes: int) -> OSError:
    """What a write means that came back short."""
    why = f"only {written} of {size_bytes} bytes were written, there is no room for more"
    return OSError(errno.ENOSPC, why)


def read_if_there(files: Files, path: str) -> bytes | None:
    """The whole file, or None when there is none."""
    try:
        return files.read(path)
    except FileNotFoundError:
        return None
