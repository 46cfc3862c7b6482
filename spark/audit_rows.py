"""Rows of a data directory, Ottla's or Apache Kafka's, for the audit's rules; changes nothing.

One data file at a time, header by header: of a large file only the pages of headers are read,
unless the CRCs are checked. It imports neither PySpark nor the broker, so executors start fast.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeVar

from ..audit.coordinator import STATE_TOPIC
from ..audit.decode import batch_row, coordinator_records, offset_records
from ..audit.offsets import OFFSETS_TOPIC
from ..audit.rows import AbortedEntry, Batch, CoordinatorRecord, LogRow, OffsetRecord, SegmentStart
from ..audit.rules import Finding
from ..audit.whole import Logs
from ..protocol.batch import MAGIC, BatchHeader, crc_is_right, headers_in
from ..protocol.errors import Refused
from ..protocol.records import Record, records_in
from ..storage.aborted import decode as decode_index
from ..storage.directory_inspection import catalog_in, may_be_compacted

METADATA_TOPIC: Final = "__cluster_metadata"
LOG: Final = ".log"
INDEX: Final = ".txnindex"

T = TypeVar("T")


class NoLogs(Exception):
    """A path that is not a directory of logs; the message says why."""


class SegmentFile(NamedTuple):
    """A data file, as the driver found it.

    Attributes:
        size: of the file when it was found, in bytes; later data is not read.
        has_index: whether a `.txnindex` exists.
        is_last: whether it is the last one of its partition.
    """

    topic: str
    partition: int
    base_offset: int
    path: str
    size: int
    has_index: bool
    is_last: bool

    @property
    def has_file(self) -> bool:
        """Whether it is a file; else it is the range of a partition that is read over the wire."""
        return self.path.endswith(LOG)


class ReadBatch(NamedTuple):
    """A batch and its position in its file, in bytes."""

    position: int
    header: BatchHeader
    data: memoryview


Read = Callable[[SegmentFile], Iterator[ReadBatch]]
"""Reads the batches of a segment, in order."""


class Metadata(NamedTuple):
    """Facts of the metadata log.

    Attributes:
        compacted: topics that may have holes; None: unknown.
        next_producer_id: -1: unknown.
    """

    compacted: frozenset[str] | None = None
    next_producer_id: int = -1


def segments_in(directory: str) -> list[SegmentFile]:
    """The data files of all partitions, without the metadata log.

    Raises:
        NoLogs: there is no such directory, or it has no partition.
    """
    found: list[SegmentFile] = []
    try:
        names = sorted(os.listdir(directory))
    except OSError as wrong:
        raise NoLogs(f"{directory}: {wrong.strerror}") from None
    partitions = 0
    for name in names:
        topic, _, index = name.rpartition("-")
        path = os.path.join(directory, name)
        if not topic or not index.isdecimal() or not os.path.isdir(path):
            continue
        partitions += 1
        if topic != METADATA_TOPIC:
            found += _segments_of(path, topic, int(index))
    if not partitions:
        raise NoLogs(f"{directory} has no partitions: the data directory of a broker was expected")
    return found


def _segments_of(path: str, topic: str, partition: int) -> Iterator[SegmentFile]:
    names = set(os.listdir(path))
    stems = (name.removesuffix(LOG) for name in names if name.endswith(LOG))
    bases = sorted((int(stem), stem) for stem in stems if stem.isdecimal())
    for at, (base, stem) in enumerate(bases):
        file = os.path.join(path, stem + LOG)
        yield SegmentFile(
            topic,
            partition,
            base,
            file,
            os.path.getsize(file),
            stem + INDEX in names,
            at + 1 == len(bases),
        )


def metadata_of(directory: str) -> Metadata:
    """The facts of a directory's metadata log; unknown without one, or if it cannot be read."""
    catalog = catalog_in(directory)
    if catalog is None:
        return Metadata()
    compacted = frozenset(name for name in catalog.topics if may_be_compacted(catalog, name))
    return Metadata(compacted, catalog.next_producer_id or -1)


def file_batches(segment: SegmentFile) -> Iterator[ReadBatch]:
    """The batches of a data file, as far as their lengths are right; none of a deleted file."""
    try:
        with open(segment.path, "rb") as file:
            size = min(segment.size, os.fstat(file.fileno()).st_size)
            if not size:
                return
            mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        return
    data = memoryview(mapped)  # unmapped with its last view
    for position, header in headers_in(data):
        yield ReadBatch(position, header, data[position : position + header.size_bytes])


def log_rows(
    segment: SegmentFile, *, read: Read = file_batches, check_crc: bool = True
) -> Iterator[LogRow]:
    """The rows of one data file and its index, in the order of the log.

    Args:
        check_crc: read every byte and compare each batch with its CRC.
    """
    topic, partition = segment.topic, segment.partition
    if segment.has_file:
        yield SegmentStart(
            topic, partition, segment.base_offset, segment.has_index, segment.is_last
        )
    entries = _entries(segment)
    end, next_offset, held = 0, segment.base_offset, None
    for position, header, whole in read(segment):
        if held is not None:
            yield held
            held = None
        while entries and entries[-1].last_offset <= header.base_offset:
            yield entries.pop()
        end = position + header.size_bytes
        is_right = header.magic == MAGIC and (not check_crc or crc_is_right(whole, 0, header))
        if is_right:
            row = batch_row(topic, partition, header, bytes(whole) if header.is_control else b"")
            next_offset = row.last_offset + 1
            yield row._replace(segment=segment.base_offset, position=position)
        else:
            held = _damaged(segment, next_offset, position)
    if not segment.is_last:  # else a torn end, which the next start cuts off
        if held is None and end < segment.size:
            held = _damaged(segment, next_offset, end)
        if held is not None:
            yield held
    yield from reversed(entries)


def coordinator_rows(
    segment: SegmentFile, *, read: Read = file_batches
) -> Iterator[CoordinatorRecord | Finding]:
    """The records of a data file of `__transaction_state`."""
    return _records(segment, coordinator_records, read)


def offset_rows(segment: SegmentFile, *, read: Read = file_batches) -> Iterator[OffsetRecord]:
    """The offsets and markers of a data file of `__consumer_offsets`."""
    return _records(segment, offset_records, read)


def keyed_batches(
    segment: SegmentFile, *, read: Read = file_batches
) -> Iterator[tuple[Batch, list[Record]]]:
    """Each valid batch of a data file, with its records; no records of a control batch."""
    for _, header, view in read(segment):
        whole = bytes(view)
        if header.magic != MAGIC or not crc_is_right(whole, 0, header):
            continue
        row = batch_row(segment.topic, segment.partition, header, whole)
        try:
            records = [] if header.is_control else list(records_in(whole, 0, header))
        except Refused:
            continue
        yield row, records


def logs_of(directory: str) -> Logs:
    """All rows of a small directory, for `ottla.audit.whole`. Raises NoLogs, OSError."""
    metadata = metadata_of(directory)
    logs = Logs(compacted=metadata.compacted, next_producer_id=metadata.next_producer_id)
    for segment in segments_in(directory):
        logs.rows += log_rows(segment)
        if segment.topic == STATE_TOPIC:
            for row in coordinator_rows(segment):
                if isinstance(row, Finding):
                    logs.unreadable.append(row)
                else:
                    logs.states.append(row)
        elif segment.topic == OFFSETS_TOPIC:
            logs.offsets += offset_rows(segment)
    return logs


def _records(
    segment: SegmentFile,
    decode: Callable[[int, BatchHeader, bytes], Iterator[T]],
    read: Read,
) -> Iterator[T]:
    """Decoded records of each valid batch."""
    for _, header, view in read(segment):
        whole = bytes(view)
        if header.magic != MAGIC or not crc_is_right(whole, 0, header):
            continue
        try:
            yield from decode(segment.partition, header, whole)
        except Refused:
            continue  # the rules of batches report it


def _damaged(segment: SegmentFile, next_offset: int, position: int) -> Batch:
    return Batch(
        segment.topic,
        segment.partition,
        next_offset,
        next_offset,
        crc_ok=False,
        segment=segment.base_offset,
        position=position,
    )


def _entries(segment: SegmentFile) -> list[AbortedEntry]:
    """The entries of the index, the last one first."""
    if not segment.has_index:
        return []
    try:
        with open(segment.path.removesuffix(LOG) + INDEX, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return []
    entries = [
        AbortedEntry(segment.topic, segment.partition, *one) for one in decode_index(content)
    ]
    return sorted(entries, key=lambda entry: entry.last_offset, reverse=True)
