"""The progress of a streaming query, from the files of its checkpoint (docs/reference/audit.md).

Spark commits no offsets to groups: `offsets/N` has the end of batch N for each source, and
`commits/N` says that the batch is done (Spark's OffsetSeqLog and CommitLog, version 1).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

_NO_OFFSET: Final = "-"
_VERSION: Final = "v1"
Progress = Mapping[str, Mapping[int, int]]
"""The offset after the last record that is consumed, by topic and partition."""


class NoProgress(Exception):
    """A directory is no checkpoint that can be read; the message says why, in one line."""


def progress_of(checkpoint: str) -> Progress:
    """What the committed batches of a query have consumed of its topics.

    Sources that are no topics, such as files or `rate`, are left out. If two sources read a
    partition, the lower offset counts. Without a committed batch nothing is consumed.

    Args:
        checkpoint: a local directory, the query's checkpointLocation.

    Raises:
        NoProgress: it has no offsets, or they have another format.
    """
    directory = Path(checkpoint)
    if not (directory / "offsets").is_dir():
        raise NoProgress(f"{checkpoint} is no checkpoint of Spark: it has no directory offsets")
    committed = _batches(directory / "commits")
    if not committed:
        return {}
    file = directory / "offsets" / str(max(committed))
    try:
        version, _, *lines = file.read_text().splitlines()
    except (OSError, ValueError) as wrong:
        raise NoProgress(f"{file} cannot be read: {wrong}") from None
    if version != _VERSION:
        raise NoProgress(f"{file} has version {version}, not {_VERSION}")
    found: dict[str, dict[int, int]] = {}
    for line in lines:
        for topic, partition, offset in _offsets(line, file):
            partitions = found.setdefault(topic, {})
            partitions[partition] = min(offset, partitions.get(partition, offset))
    return found


def _batches(directory: Path) -> list[int]:
    """The numbers of the files; others are those of checksums and unfinished writes."""
    if not directory.is_dir():
        return []
    return [int(each.name) for each in directory.iterdir() if each.name.isdecimal()]


def _offsets(line: str, file: Path) -> Iterator[tuple[str, int, int]]:
    """Topic, partition and offset in the line of a source."""
    if line == _NO_OFFSET:
        return
    try:
        content = json.loads(line)
    except ValueError:
        raise NoProgress(f"{file}: a source has no JSON: {line[:80]}") from None
    if not isinstance(content, dict):  # the number of `rate`
        return
    for name, value in content.items():
        if isinstance(value, dict):  # kafka; or the ids of kafka-log, which are no numbers
            yield from _of_topic(name, value)
        elif isinstance(value, int):  # kafka-log: TOPIC-PARTITION
            topic, _, partition = name.rpartition("-")
            if topic and partition.isdecimal():
                yield topic, int(partition), value


def _of_topic(topic: str, partitions: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    for partition, offset in partitions.items():
        if partition.isdecimal() and isinstance(offset, int):
            yield topic, int(partition), offset
