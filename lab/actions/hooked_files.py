"""The operating system's files, with a hook before each operation that a crash or a fault hits.

A broker with a control uses them. Without a rule for steps the hooks are None.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from ...storage.disk.files import Bytes, RealFiles


class LabFiles(RealFiles):
    """Real files with hooks; a hook may raise OSError, which becomes the operation's.

    Attributes:
        before_append: gets the descriptor and the data of an append.
        after_append: is called when they are in the file.
        before_sync: gets the descriptor; runs in the thread that syncs.
        before_rename: gets source and target.
        before_open: gets the path of a file that is opened or created.
    """

    def __init__(self) -> None:
        self.before_append: Callable[[int, Bytes], None] | None = None
        self.after_append: Callable[[], None] | None = None
        self.before_sync: Callable[[int], None] | None = None
        self.before_rename: Callable[[str, str], None] | None = None
        self.before_open: Callable[[str], None] | None = None

    def append(self, descriptor: int, data: Bytes, /) -> int:  # type: ignore[override]  # os takes more
        if self.before_append is None:
            return os.write(descriptor, data)
        self.before_append(descriptor, data)
        written = os.write(descriptor, data)
        if self.after_append is not None:
            self.after_append()
        return written

    def sync(self, descriptor: int, /) -> None:  # type: ignore[override]  # os takes more
        if self.before_sync is not None:
            self.before_sync(descriptor)
        os.fdatasync(descriptor)

    def rename(self, source: str, target: str, /) -> None:  # type: ignore[override]  # os takes more
        if self.before_rename is not None:
            self.before_rename(source, target)
        os.replace(source, target)

    def open(self, path: str, /) -> int:
        if self.before_open is not None:
            self.before_open(path)
        return super().open(path)


def path_of(descriptor: int) -> str:
    """The path of an open file; empty if the system does not tell."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:  # not on Linux
        return _path_on_macos(descriptor)


def _path_on_macos(descriptor: int) -> str:
    import fcntl

    get_path = getattr(fcntl, "F_GETPATH", None)
    if get_path is None:
        return ""
    return fcntl.fcntl(descriptor, get_path, bytes(1024)).rstrip(b"\0").decode()
