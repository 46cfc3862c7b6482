"""The names in a data directory: partitions, and those that are deleted or set aside (LocalLog).

A directory may have files of users beside those of a broker, so nothing is removed or renamed for
its name alone.
"""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Final

from ...protocol.java_integers import number_in

if TYPE_CHECKING:
    from .files import Files

PARTITION_METADATA: Final = "partition.metadata"
DELETED_SUFFIX: Final = "-delete"
STRAY_SUFFIX: Final = "-stray"
_DELETED: Final = re.compile(r".+-[0-9]+\.[0-9a-f]{32}-delete", re.DOTALL)
_MOST_CHARACTERS: Final = 255
_OFFSET_DIGITS: Final = 20


def marked(name: str, suffix: str) -> str:
    """A directory's name with a new id and a suffix; a topic that is too long is cut."""
    topic, _, partition = name.rpartition("-")
    ending = f"-{partition}.{uuid.uuid4().hex}{suffix}"
    return topic[: _MOST_CHARACTERS - len(ending)] + ending


def is_partition(name: str) -> bool:
    """Whether the name is that of a partition's directory: `TOPIC-PARTITION`."""
    topic, dash, partition = name.rpartition("-")
    return bool(topic and dash) and partition.isdecimal() and number_in(partition) is not None


def offset_of(stem: str) -> int | None:
    """The offset that a file is named for, by 20 digits. None for any other name."""
    return number_in(stem, 64) if len(stem) == _OFFSET_DIGITS and stem.isdecimal() else None


def is_deleted(name: str) -> bool:
    """Whether `marked` gave this name to the directory of a deleted partition."""
    return _DELETED.fullmatch(name) is not None


def is_of_a_log(files: Files, path: str) -> bool:
    """Whether it is a log's directory, perhaps an empty one, and not what a user put there.

    Raises OSError.
    """
    try:
        names = files.names_in(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return not names or PARTITION_METADATA in names or any(each.endswith(".log") for each in names)
