"""The file of `--ready-file`: it appears when the broker answers."""

from __future__ import annotations

import errno
import os


def check_place(path: str) -> None:
    """Check that the file can be made there. Raises OSError."""
    place = os.path.dirname(path) or "."
    if not os.access(place, os.W_OK | os.X_OK):
        code = errno.EACCES if os.path.exists(place) else errno.ENOENT
        raise OSError(code, os.strerror(code), path)


def write_ready_file(path: str, servers: str) -> None:
    """Write HOST:PORT of each node, separated by commas; a reader never sees half of it."""
    unfinished = f"{path}.tmp"
    with open(unfinished, "w", encoding="utf-8") as file:
        file.write(f"{servers}\n")
    os.replace(unfinished, path)
