"""Plans the tasks of a read: one for each segment; a large one is split at entries of its index.

A task names a segment and a range of bytes, so the driver's memory is some 400 bytes a task.
Segments are skipped by their offsets and by their time indexes.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from ...protocol.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC, read_header
from ...storage.segments.indexes import TIME_ENTRY
from .files import OpenFile, read_whole
from .listing import Partition, Segment, partitions_in
from .options import END, Options
from .schemas import TOPICS, Level

if TYPE_CHECKING:
    import numpy.typing as npt

_log = logging.getLogger(__name__)
_NOT_SPLIT: Final = frozenset({Level.TRANSACTIONS, Level.DAMAGE})


@dataclass(frozen=True, slots=True)
class Task:
    """The batches that one task reads: those that begin in [start, end) of a segment's file.

    Attributes:
        following: further segments of the same task, as wholes.
        first_offset, end_offset: of the records to return.
    """

    segment: Segment
    start: int
    end: int
    first_offset: int = 0
    end_offset: int = END
    following: tuple[Segment, ...] = ()


def choose_partitions(options: Options) -> list[Partition]:
    """Choose the partitions that are to be read; a warning tells what chooses none.

    Spark's Kafka source goes on, too, without a partition that is assigned and not there, and with
    a pattern that no topic matches.

    Raises:
        OSError: a directory cannot be read.
        ValueError: a topic is named that is not there; or a partition is in two directories.
    """
    found = list(partitions_in(options.path))
    there = {each.topic for each in found}
    missing = [name for name in options.topic_names if name not in there]
    if missing:
        known = ", ".join(sorted(there)[:10]) or "no topic"
        more = ", ..." if len(there) > 10 else ""
        raise ValueError(f"{options.path} has no topic {', '.join(missing)}; it has {known}{more}")
    for what in _chooses_nothing(options, found):
        _log.warning("kafka-log: %s", what)
    return wanted_of(found, options)


def wanted_of(found: Iterable[Partition], options: Options) -> list[Partition]:
    """Those of some partitions that are to be read.

    Raises:
        ValueError: two directories have the same one, as those of two brokers: each of its records
            would be there twice.
    """
    places: dict[tuple[str, int], str] = {}
    wanted = [each for each in found if options.wants(each.topic, each.partition)]
    for each in wanted:
        other = places.setdefault((each.topic, each.partition), each.directory)
        if other is not each.directory and options.level is not Level.DAMAGE:
            raise ValueError(
                f"{other} and {each.directory} are the same partition: read one of them, or choose"
                " topics that are in one directory"
            )
    return wanted


def _chooses_nothing(options: Options, found: Sequence[Partition]) -> Iterator[str]:
    """What of the options chooses no partition, in words."""
    topics = {each.topic for each in found}
    if not topics:
        yield f"{options.path} has no directory of a partition"
        return
    only = TOPICS.get(options.level)
    if only is not None and only not in topics:
        yield f"{options.path} has no topic {only}, which level {options.level} reads"
        return
    for pattern in options.topic_patterns:
        expression = re.compile(re.escape(pattern).replace(r"\*", ".*"))
        if not any(map(expression.fullmatch, topics)):
            yield f"{options.path} has no topic that matches {pattern}"
    numbers = {each.partition for each in found if options.wants_topic(each.topic)}
    for first, last in options.partitions if numbers else ():
        if not any(first <= number <= last for number in numbers):
            range_ = f"{first}" if first == last else f"{first}-{last}"
            yield f"no topic that is read in {options.path} has a partition {range_}"


def tasks_of(partition: Partition, options: Options) -> Iterator[Task]:
    """The tasks of one partition. Raises OSError."""
    if options.level is Level.TRANSACTIONS:
        yield from _groups(partition, options)
        return
    for segment in partition.segments:
        if segment.end_offset is not None and segment.end_offset <= options.first_offset:
            continue
        if segment.base_offset >= options.end_offset or _is_out_of_time(segment, options):
            continue
        if segment.size_bytes == 0 and options.level is not Level.DAMAGE:
            continue
        bounds = [0, segment.size_bytes]
        if options.level not in _NOT_SPLIT:
            bounds = _bounds(segment, options)
        for start, end in pairwise(bounds):
            yield Task(segment, start, end, options.first_offset, options.end_offset)


def _is_out_of_time(segment: Segment, options: Options) -> bool:
    """Whether the segment's time index proves that all of its records are too early.

    Its last entry has the largest timestamp of a rolled segment. Nothing states the smallest one.
    """
    if options.level is Level.DAMAGE or options.from_ms == -END or segment.is_last:
        return False
    content = read_whole(segment.store, segment.beside("timeindex"))
    if not content or len(content) % TIME_ENTRY.size:
        return False
    largest_ms, _ = TIME_ENTRY.unpack_from(content, len(content) - TIME_ENTRY.size)
    return bool(0 < largest_ms < options.from_ms)


def _groups(partition: Partition, options: Options) -> Iterator[Task]:
    """A task for each segment whose first offset has a snapshot, with the segments up to the next.

    A transaction belongs to the task of its first batch. The snapshot tells which producers have
    begun theirs before.
    """
    group: list[Segment] = []
    snapshots = set(partition.snapshots)
    for segment in partition.segments:
        if group and segment.base_offset in snapshots:
            yield Task(group[0], 0, group[0].size_bytes, following=tuple(group[1:]))
            group = []
        group.append(segment)
    if group:
        yield Task(group[0], 0, group[0].size_bytes, following=tuple(group[1:]))


def _bounds(segment: Segment, options: Options) -> list[int]:
    """Positions of batches that divide the part of a segment's file that is to be read."""
    wanted = options.first_offset > segment.base_offset or (
        segment.end_offset is not None and options.end_offset < segment.end_offset
    )
    if segment.size_bytes < 2 * options.min_split_bytes and not wanted:
        return [0, segment.size_bytes]
    index = _index(segment)
    if index is None:
        return [0, segment.size_bytes]
    file = segment.store.open(segment.path)
    try:
        return _divided(file, segment, index, options)
    finally:
        file.close()


def position_before(segment: Segment, offset: int) -> int:
    """Where a batch begins that has the offset or is before it, by the index; 0 without one."""
    if offset <= segment.base_offset:
        return 0
    index = _index(segment)
    if index is None:
        return 0
    offsets, positions = index
    at = int(np.searchsorted(offsets, offset, "right")) - 1
    if at < 0:
        return 0
    try:
        file = segment.store.open(segment.path)
    except FileNotFoundError:
        return 0
    try:
        is_batch = _is_batch(file, int(positions[at]), int(offsets[at]), segment)
        return int(positions[at]) if is_batch else 0
    finally:
        file.close()


def _index(segment: Segment) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """The offsets and positions in the segment's index; None without a plausible one."""
    content = read_whole(segment.store, segment.beside("index"))
    if not content:
        return None
    entries = np.frombuffer(content[: len(content) // 8 * 8], ">i4").reshape(-1, 2)
    offsets = entries[:, 0].astype(np.int64) + segment.base_offset
    positions = entries[:, 1].astype(np.int64)
    zero = np.flatnonzero(positions == 0)  # the reserved end of an active segment's index
    end = int(zero[0]) if len(zero) else len(positions)
    offsets, positions = offsets[:end], positions[:end]
    rises = (np.diff(positions) > 0).all() and (np.diff(offsets) > 0).all()
    if not end or not rises or positions[-1] >= segment.size_bytes:
        return None
    return offsets, positions


def _divided(
    file: OpenFile,
    segment: Segment,
    index: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    options: Options,
) -> list[int]:
    offsets, positions = index

    def is_batch(at: int) -> bool:
        return _is_batch(file, int(positions[at]), int(offsets[at]), segment)

    bounds = [0]
    # An entry has the last offset of its batch: the one before the wanted offset is early enough.
    first = int(np.searchsorted(offsets, options.first_offset, "right")) - 1
    if first >= 0 and is_batch(first):
        bounds = [int(positions[first])]
    stop = segment.size_bytes
    last = int(np.searchsorted(offsets, options.end_offset, "left")) + 1
    if last < len(offsets) and is_batch(last):
        stop = int(positions[last])
    while True:
        at = int(np.searchsorted(positions, bounds[-1] + options.min_split_bytes, "left"))
        if at >= len(positions) or positions[at] + options.min_split_bytes > stop:
            return [*bounds, stop]
        if not is_batch(at):
            return [*bounds, stop]
        bounds.append(int(positions[at]))


def _is_batch(file: OpenFile, position: int, last_offset: int, segment: Segment) -> bool:
    """Whether an index entry points to a batch, so that a task may begin there."""
    head = file.read_at(position, HEADER_SIZE)
    if len(head) < HEADER_SIZE:
        return False
    header = read_header(head)
    return (
        header.magic == MAGIC
        and header.length >= HEADER_SIZE - LOG_OVERHEAD
        and position + header.size_bytes <= segment.size_bytes
        and segment.base_offset <= header.base_offset <= last_offset == header.last_offset
    )
