"""Files in memory, and everything that can happen to a disk.

Operations that change something are counted. `Disk(cut_at=n)` loses power in the n-th: what was
synced stays, and of the rest one half, so that whatever was written last is torn. `Disk(fail_at=n)`
refuses the n-th with an OSError, half done, and goes on.
"""

from __future__ import annotations

from ottla.storage.disk.file_events import OnEvent
from ottla.storage.disk.files import Bytes
from ottla.storage.disk.open_files import OPEN_FILES, OpenFiles


class PowerCut(BaseException):
    """The machine is gone. Not an Exception: no handler may go on after it."""


class _File:
    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)
        self.synced = b""
        self.modified_ms = 0


class Disk:
    """An in-memory `Files`.

    Attributes:
        operations: how many changed something so far.
        files: content by path.
        now_ms: when what is appended was modified.
        boots: how often the machine was started.
        opened: the open files by their descriptors.
    """

    def __init__(
        self, *, cut_at: int = 0, fail_at: int = 0, open_files: OpenFiles = OPEN_FILES
    ) -> None:
        self.open_files = open_files
        self.on_event: OnEvent | None = None
        self.cut_at = cut_at
        self.fail_at = fail_at
        self.operations = 0
        self.now_ms = 0
        self.boots = 1
        self.files: dict[str, _File] = {}
        self.directories: set[str] = {""}
        self.opened: dict[int, _File] = {}
        self._locked: set[str] = set()

    def after_power_cut(self) -> Disk:
        """The disk as the next boot finds it."""
        disk = Disk()
        disk.boots = self.boots + 1
        disk.directories = set(self.directories)
        for path, file in self.files.items():
            kept = len(file.synced)
            if file.data[:kept] != file.synced:  # it was cut since; that was not synced
                disk.files[path] = _File(file.synced)
                continue
            kept += (len(file.data) - kept) // 2
            disk.files[path] = _File(bytes(file.data[:kept]))
        return disk

    def after_kill(self) -> Disk:
        """The disk as the next process finds it."""
        disk = Disk()
        disk.boots = self.boots
        disk.directories = set(self.directories)
        disk.files = {path: _File(bytes(file.data)) for path, file in self.files.items()}
        return disk

    def _operation(self, *, half: tuple[_File, Bytes] | None = None) -> None:
        self.operations += 1
        if self.operations in (self.cut_at, self.fail_at):
            if half is not None:
                file, data = half
                file.data += bytes(data)[: len(data) // 2]
            if self.operations == self.cut_at:
                raise PowerCut
            raise OSError(5, "the disk failed")

    def open(self, path: str, /) -> int:
        if path not in self.files:
            self._operation()
            self.files[path] = _File()
        descriptor = max(self.opened, default=2) + 1
        self.opened[descriptor] = self.files[path]
        return descriptor

    def close(self, descriptor: int, /) -> None:
        del self.opened[descriptor]

    def append(self, descriptor: int, data: Bytes, /) -> int:
        file = self.opened[descriptor]
        self._operation(half=(file, data))
        file.data += data
        file.modified_ms = self.now_ms
        return len(data)

    def read_at(self, descriptor: int, size_bytes: int, position: int, /) -> bytes:
        return bytes(self.opened[descriptor].data[position : position + size_bytes])

    def write_at(self, path: str, data: Bytes, position: int, /) -> None:
        file = self._file(path)
        self._operation()
        assert position + len(data) <= len(file.data), "behind the end"
        file.data[position : position + len(data)] = data

    def truncate(self, descriptor: int, size_bytes: int, /) -> None:
        self._operation()
        del self.opened[descriptor].data[size_bytes:]

    def sync(self, descriptor: int, /) -> None:
        self._operation()
        self.opened[descriptor].synced = bytes(self.opened[descriptor].data)

    def reserve(self, descriptor: int, size_bytes: int, /) -> None:
        self._operation()

    def size(self, path: str, /) -> int:
        return len(self._file(path).data)

    def modified_ms(self, path: str, /) -> int:
        return self._file(path).modified_ms

    def read(self, path: str, /) -> bytes:
        return bytes(self._file(path).data)

    def rename(self, source: str, target: str, /) -> None:
        self._operation()
        for old in [p for p in self.files if p == source or p.startswith(source + "/")]:
            self.files[target + old[len(source) :]] = self.files.pop(old)
        if source in self.directories:
            self.directories.remove(source)
            self.directories.add(target)

    def remove(self, path: str, /) -> None:
        self._file(path)
        self._operation()
        del self.files[path]

    def names_in(self, directory: str, /) -> list[str]:
        if directory not in self.directories:
            raise FileNotFoundError(directory)
        inside = [*self.files, *self.directories]
        rest = [path[len(directory) + 1 :] for path in inside if path.startswith(directory + "/")]
        return sorted({path for path in rest if "/" not in path})

    def directories_in(self, directory: str, /) -> list[str]:
        names = self.names_in(directory)
        return [name for name in names if f"{directory}/{name}" in self.directories]

    def link_target(self, path: str, /) -> str:
        return ""  # it has no links

    def identity(self, path: str, /) -> tuple[int, int]:
        raise AssertionError("only where there are links")

    def make_directory(self, directory: str, /) -> None:
        if directory not in self.directories:
            self._operation()
            self.directories.add(directory)

    def remove_directory(self, directory: str, /) -> None:
        assert not self.names_in(directory), "not empty"
        self._operation()
        self.directories.remove(directory)

    def sync_directory(self, directory: str, /) -> None:
        self._operation()

    def boot_id(self) -> bytes:
        return b"boot %d" % self.boots

    def is_at(self, descriptor: int, path: str, /) -> bool:
        return self.opened[descriptor] is self.files.get(path)

    def lock(self, path: str, /) -> int:
        if path in self._locked:
            raise BlockingIOError(path)
        self._locked.add(path)
        return self.open(path)

    def _file(self, path: str) -> _File:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]


class CountingDisk(Disk):
    """Counts the bytes that are read of data files."""

    bytes_read = 0

    def read_at(self, descriptor: int, size_bytes: int, position: int, /) -> bytes:
        data = super().read_at(descriptor, size_bytes, position)
        self.bytes_read += len(data)
        return data
