"""`.boot-id`: tells a kill of the process from a loss of power.

What a process has written is in its files even if it is killed, as long as the machine runs on. The
mark names the run of the machine in which the states of logs were saved without a sync.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from .files import Files, read_if_exists, write_atomically

BOOT_ID: Final = ".boot-id"


class BootMark:
    """The mark of one data directory.

    Args:
        path: the directory.

    Attributes:
        is_current: the mark was made in this run of the machine.
    """

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self._path = f"{path}/{BOOT_ID}"
        self._boot_id = files.boot_id()
        found = read_if_exists(files, self._path)
        self.is_current = bool(self._boot_id) and found == self._boot_id

    def make(self) -> bool:
        """Write the mark, unless it is current; False if the machine has no id. Raises OSError."""
        if self._boot_id and not self.is_current:
            write_atomically(self._files, self._path, self._boot_id)
            self.is_current = True
        return self.is_current

    def remove(self) -> None:
        """Remove the mark at a clean stop, because Kafka may use the directory next."""
        with suppress(FileNotFoundError):
            self._files.remove(self._path)
