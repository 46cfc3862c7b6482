"""Damage to the files of a data directory: what it is, and to whom it is reported."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from .files import Files

_NOT_THE_FILES_FAULT: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class Damage(NamedTuple):
    """Bytes of a file that are not what was written.

    Attributes:
        file: its path.
        position, end_position: where in the file; equal where bytes are missing.
        first_offset, end_offset: the records that are lost by it; equal when none are.
        why: a sentence.
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
            lost = f", offsets {self.first_offset} to {self.end_offset - 1} are lost"
        return f"{self.file}: {self.why} at position {self.position}{lost}"


def wrong_index(path: str, base_offset: int) -> Damage:
    """An index that was found to be wrong, by the file's data."""
    why = "the index is not that of the data, and was built anew"
    return Damage(path, 0, 0, base_offset, base_offset, why)


Report = Callable[[Damage], None]


def read_copy(files: Files, path: str, report: Report, offset: int = 0) -> bytes | None:
    """A file of which the data know as much; None when it is missing, or cannot be read.

    Args:
        report: is told of one that cannot be read.
        offset: where what it is about begins.

    Raises:
        OSError: by no fault of the file: this process can open no more of them.
    """
    try:
        return files.read(path)
    except FileNotFoundError:
        return None
    except OSError as failed:
        if failed.errno in _NOT_THE_FILES_FAULT:
            raise
        why = f"{failed.strerror}: it cannot be read, and was built anew from the data,"
        report(Damage(path, 0, 0, offset, offset, why))
        return None


def silently(_damage: Damage) -> None:
    """A report that nobody wants."""
