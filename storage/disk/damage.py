"""Describes damaged files: `Damage` has file, position and lost offsets; a `Report` receives it.

Damage is found when a log is opened, at a later read, or by an inspection.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ...protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from .files import Files

_NOT_THE_FILES_FAULT: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class Damage(NamedTuple):
    """Damaged or missing bytes of a file.

    Attributes:
        file: its path.
        position, end_position: range in the file; equal if bytes are missing.
        first_offset, end_offset: range of the lost records; equal if none are lost.
        why: a sentence without its first capital letter and its full stop.
    """

    file: str
    position: int
    end_position: int
    first_offset: int
    end_offset: int
    why: str

    def __str__(self) -> str:
        lost = ""
        if self.end_offset > self.first_offset:
            lost = f"; offsets {self.first_offset} to {self.end_offset - 1} are lost"
        return f"{self.file}: {self.why} (position {self.position}){lost}"


def wrong_index(path: str, base_offset: int) -> Damage:
    """The damage of an index that does not match the data."""
    why = "the index did not match the data; it was rebuilt"
    return Damage(path, 0, 0, base_offset, base_offset, why)


Report = Callable[[Damage], None]


def read_copy(files: Files, path: str, report: Report, offset: int = 0) -> bytes | None:
    """A file that can be rebuilt from the data; None if it is missing or unreadable.

    Args:
        report: called if it is unreadable.
        offset: first offset of its data.

    Raises:
        OSError: the process has no more descriptors or memory.
    """
    try:
        return files.read(path)
    except FileNotFoundError:
        return None
    except OSError as failed:
        if failed.errno in _NOT_THE_FILES_FAULT:
            raise
        why = f"the file cannot be read ({failed.strerror}); it is rebuilt from the data"
        report(Damage(path, 0, 0, offset, offset, why))
        return None


def ignore_damage(_damage: Damage) -> None:
    """A `Report` that does nothing."""
