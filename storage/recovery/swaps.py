"""Finishes, after a crash, the replacement of segments by compacted ones (Kafka's LogLoader).

A `.cleaned` file is incomplete and is deleted. A `.swap` is complete, and some of its source
segments may be deleted already: it replaces them. If both exist, not all files were renamed to
`.swap` yet.
"""

from __future__ import annotations

from ..disk.directory_names import offset_of
from ..disk.files import Files
from ..segments.segment import CLEANED, INDEX, LOG, SWAP, TIME_INDEX, TRANSACTION_INDEX, Segment

_SUFFIXES = (LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX)


def finish_swaps(files: Files, directory: str, names: list[str]) -> list[str]:
    """Remove every `.cleaned` and resolve every `.swap` in a partition's directory.

    Args:
        names: the names in the directory.

    The log's next flush syncs the names.

    Returns:
        The names in it afterwards.

    Raises:
        OSError: a file cannot be read, renamed or removed.
    """
    if not any(name.endswith((CLEANED, SWAP)) for name in names):
        return names
    ours = [name for name in names if _base_offset(name) >= 0]
    cleaned = [name for name in ours if name.endswith(CLEANED)]
    swaps = [name for name in ours if name.endswith(SWAP)]
    first_unfinished = min(map(_base_offset, cleaned), default=None)
    for name in list(swaps):
        if first_unfinished is not None and _base_offset(name) >= first_unfinished:
            files.remove(f"{directory}/{name}")
            swaps.remove(name)
    for name in cleaned:
        files.remove(f"{directory}/{name}")
    for name in swaps:
        if name.endswith(LOG + SWAP):
            _remove_replaced(files, directory, names, _base_offset(name))
    for name in swaps:
        files.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP)}")
    return files.names_in(directory)


def _remove_replaced(files: Files, directory: str, names: list[str], base_offset: int) -> None:
    """Remove the remaining segments whose records are in the swapped one."""
    swapped = Segment.found(files, directory, base_offset, base_offset, SWAP)
    end_offset = base_offset
    for _, header in swapped.headers():
        end_offset = header.next_offset
    swapped.close()
    for name in names:
        if name.endswith(_SUFFIXES) and base_offset <= _base_offset(name) < end_offset:
            files.remove(f"{directory}/{name}")


def _base_offset(name: str) -> int:
    stem = name.partition(".")[0]
    offset = offset_of(stem)
    return -1 if offset is None else offset
