"""Reads files of a log directory at positions: local ones, or those of a store with a URI.

Paths of this machine and `file:` URIs are read by `os.pread`. Other URIs are opened by pyarrow
(`hdfs:` by libhdfs, `s3:`, `gs:`, `abfs:`), else by fsspec, if it is installed. Planning and reads
run in Python workers without a JVM, so Hadoop's own FileSystem classes are out of reach.
"""

from __future__ import annotations

import os
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit

_SCHEME_AT_LEAST: Final = 2  # a single letter is a drive


class OpenFile(Protocol):
    """A file that is open for reading.

    Attributes:
        skip_bytes: to read fewer bytes than this costs less than to go past them.
    """

    skip_bytes: int

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """The bytes at a position; fewer at the end of the file. Raises OSError."""

    def close(self) -> None:
        """Close it; a second call changes nothing."""


class Store(Protocol):
    """A place of files. Objects of it are pickled and sent to executors."""

    def entries(self, directory: str) -> list[tuple[str, int | None]]:
        """Name and size in bytes of each entry; a directory has no size. Raises OSError."""

    def open(self, path: str) -> OpenFile:
        """Open a file. Raises OSError, FileNotFoundError if it is not there."""


class _LocalFile:
    skip_bytes = 16 << 10

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read_at(self, position: int, size_bytes: int) -> bytes:
        data = os.pread(self._descriptor, size_bytes, position)
        if len(data) == size_bytes or not data:
            return data
        parts, size = [data], len(data)
        while size < size_bytes and parts[-1]:  # a read returns at most 2 GiB, or less at a signal
            parts.append(os.pread(self._descriptor, size_bytes - size, position + size))
            size += len(parts[-1])
        return b"".join(parts)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class LocalStore:
    """Files of this machine, or of a file system that all executors mount at the same path."""

    def entries(self, directory: str) -> list[tuple[str, int | None]]:
        found: list[tuple[str, int | None]] = []
        with os.scandir(directory) as entries:
            for entry in entries:
                try:
                    size = None if entry.is_dir() else entry.stat().st_size
                except FileNotFoundError:  # deleted meanwhile
                    continue
                found.append((entry.name, size))
        return sorted(found)

    def open(self, path: str) -> OpenFile:
        return _LocalFile(path)


class _ArrowFile:
    skip_bytes = 4 << 20  # a request takes about as long as the transfer of some MB

    def __init__(self, store: ArrowStore, path: str) -> None:
        self._file = store.filesystem().open_input_file(path)

    def read_at(self, position: int, size_bytes: int) -> bytes:
        data: bytes = self._file.read_at(size_bytes, position)
        return data

    def close(self) -> None:
        self._file.close()


class ArrowStore:
    """Files behind a URI, such as `hdfs:` or `s3:`.

    Args:
        uri: of any directory of the store.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri

    def filesystem(self) -> Any:  # Any: pyarrow has no types
        from pyarrow import fs

        try:
            filesystem, _ = fs.FileSystem.from_uri(self._uri)
        except (ValueError, OSError) as unknown:
            try:
                import fsspec
            except ImportError:
                raise ValueError(
                    f"pyarrow cannot open {self._uri} ({unknown}), and fsspec is not installed"
                ) from None
            opened, _ = fsspec.core.url_to_fs(self._uri)
            filesystem = fs.PyFileSystem(fs.FSSpecHandler(opened))
        return filesystem

    def path_of(self, uri: str) -> str:
        """The path in the store that a URI names."""
        from pyarrow import fs

        try:
            _, path = fs.FileSystem.from_uri(uri)
        except (ValueError, OSError):
            import fsspec

            _, path = fsspec.core.url_to_fs(uri)
        return str(path).rstrip("/")

    def entries(self, directory: str) -> list[tuple[str, int | None]]:
        from pyarrow import fs

        found = self.filesystem().get_file_info(fs.FileSelector(directory))
        return sorted(
            (info.base_name, None if info.type == fs.FileType.Directory else info.size)
            for info in found
        )

    def open(self, path: str) -> OpenFile:
        return _ArrowFile(self, path)


def store_of(path_or_uri: str) -> tuple[Store, str]:
    """The store of a path or URI, and the path in it.

    Raises:
        ValueError: no library opens URIs of this scheme.
    """
    parts = urlsplit(path_or_uri)
    if len(parts.scheme) < _SCHEME_AT_LEAST:
        return LocalStore(), os.path.abspath(path_or_uri)
    if parts.scheme == "file":
        return LocalStore(), unquote(parts.path)
    store = ArrowStore(path_or_uri)
    return store, store.path_of(path_or_uri)


def read_whole(store: Store, path: str, limit_bytes: int = 1 << 28) -> bytes | None:
    """The content of a small file; None if it is not there. Raises OSError."""
    try:
        file = store.open(path)
    except FileNotFoundError:
        return None
    try:
        return file.read_at(0, limit_bytes)
    finally:
        file.close()
