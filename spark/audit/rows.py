"""Rows of log directories, Ottla's or Apache Kafka's, for the audit's rules; changes nothing.

The files are found, divided and read by `kafka_log`, in blocks whose headers are columns. A log
over the wire comes as the same blocks. It imports neither PySpark nor the broker, so executors
start fast; and numpy only where rows are read by columns, so that `logs_of` runs without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ...audit.coordinator import STATE_TOPIC
from ...audit.decode import coordinator_records, offset_records
from ...audit.offsets import OFFSETS_TOPIC
from ...audit.rows import CoordinatorRecord, LogRow, OffsetRecord
from ...audit.rules import Finding
from ...audit.whole import Logs
from ...protocol.batch import LOG_OVERHEAD, BatchHeader, read_header
from ...protocol.errors import Refused
from ...storage.inspection.directory_inspection import catalog_in, may_be_compacted
from ..kafka_log.files import LocalStore, store_of
from ..kafka_log.listing import METADATA_TOPIC, partitions_in
from ..kafka_log.options import Options
from ..kafka_log.schemas import Level
from .small import NO_PARTITIONS, read_logs

if TYPE_CHECKING:
    from ..kafka_log.blocks import Block, Gap
    from ..kafka_log.planning import Task

T = TypeVar("T")


class NoLogs(Exception):
    """A path that is not a directory of logs; the message says why."""


class LogPart(NamedTuple):
    """A part of a log that one task reads: a data file, a part of one, or offsets over the wire.

    Attributes:
        base_offset: of the data file; over the wire the first offset.
        end_offset: behind the last offset, over the wire; else -1.
        task: the range of the file; None over the wire.
        address: of the cluster, over the wire.
    """

    topic: str
    partition: int
    base_offset: int
    end_offset: int = -1
    task: Task | None = None
    address: str = ""

    @property
    def is_last(self) -> bool:
        """Whether it belongs to the active segment, whose end may be torn."""
        return self.task is None or self.task.segment.is_last


Read = Callable[[LogPart, bool], "Iterator[Block | Gap]"]
"""Reads the batches of a part, in order, with or without a check of their CRCs."""


class Metadata(NamedTuple):
    """Facts of the metadata log.

    Attributes:
        compacted: topics that may have holes; None: unknown.
        next_producer_id: -1: unknown.
    """

    compacted: frozenset[str] | None = None
    next_producer_id: int = -1


def parts_in(directory: str) -> list[LogPart]:
    """The parts of all partitions, without the metadata log, in the order of each log.

    Args:
        directory: a path, or a URI that `kafka_log` can open.

    Raises:
        NoLogs: there is no such directory, or it has no partition.
    """
    from ..kafka_log.planning import Task, tasks_of

    options = Options(directory, Level.BATCHES)
    found: list[LogPart] = []
    partitions = 0
    try:
        for partition in partitions_in(directory):
            partitions += 1
            if partition.topic == METADATA_TOPIC:
                continue
            tasks = list(tasks_of(partition, options))
            empty = [each for each in partition.segments if not each.size_bytes]
            tasks += [Task(segment, 0, 0) for segment in empty]
            tasks.sort(key=lambda task: (task.segment.base_offset, task.start))
            place = (partition.topic, partition.partition)
            found += [LogPart(*place, task.segment.base_offset, task=task) for task in tasks]
    except OSError as wrong:
        raise NoLogs(f"{directory}: {wrong.strerror or wrong}") from None
    except ValueError as wrong:
        raise NoLogs(str(wrong)) from None
    if not partitions:
        raise NoLogs(NO_PARTITIONS.format(directory))
    return found


def metadata_of(directory: str) -> Metadata:
    """The facts of a local directory's metadata log; unknown without one that can be read."""
    store, path = store_of(directory)
    if not isinstance(store, LocalStore):
        return Metadata()
    catalog = catalog_in(path)
    if catalog is None:
        return Metadata()
    compacted = frozenset(name for name in catalog.topics if may_be_compacted(catalog, name))
    return Metadata(compacted, catalog.next_producer_id or -1)


def file_blocks(part: LogPart, check_crc: bool) -> Iterator[Block | Gap]:
    """The batches of a data file, and the bytes between that are none; none of a deleted file."""
    from ..kafka_log.blocks import BLOCK_BYTES, walk
    from ..kafka_log.fates import whole_range
    from ..kafka_log.reading import opened

    task = part.task
    assert task is not None
    if task.end <= task.start:
        return
    file = opened(task, Options(""))
    if file is None:
        return
    try:
        range_ = whole_range(task.segment, task.start)._replace(end=task.end)
        yield from walk(file, range_, check_crc=check_crc, block_bytes=BLOCK_BYTES)
    finally:
        file.close()


def log_pieces(
    part: LogPart, *, read: Read = file_blocks, check_crc: bool = True
) -> Iterator[bytes]:
    """The rows of a part and its index, in the order of the log; `rows_in` unpacks them.

    Args:
        check_crc: compare each batch with its CRC.
    """
    from .pieces import pieces

    blocks = read(part, check_crc)
    return pieces(blocks, part.task, part.base_offset, is_last=part.is_last)


def coordinator_rows(
    part: LogPart, *, read: Read = file_blocks
) -> Iterator[CoordinatorRecord | Finding]:
    """The records of a part of `__transaction_state`."""
    return _records(part, coordinator_records, read)


def offset_rows(part: LogPart, *, read: Read = file_blocks) -> Iterator[OffsetRecord]:
    """The offsets and markers of a part of `__consumer_offsets`."""
    return _records(part, offset_records, read)


def log_rows(part: LogPart, *, read: Read = file_blocks) -> Iterator[LogRow]:
    """The rows of a part and its index, in the order of the log."""
    from .pieces import rows_in

    for piece in log_pieces(part, read=read):
        yield from rows_in(part.topic, part.partition, part.base_offset, piece)


def logs_of(directory: str) -> Logs:
    """All rows of a small directory, for `ottla.audit.whole`. Raises NoLogs, OSError."""
    metadata = metadata_of(directory)
    try:
        logs = read_logs(directory)
    except OSError as wrong:
        raise NoLogs(f"{directory}: {wrong.strerror or wrong}") from None
    except ValueError as wrong:
        raise NoLogs(str(wrong)) from None
    logs.compacted, logs.next_producer_id = metadata
    return logs


def rows_of(parts: Iterable[LogPart], metadata: Metadata, read: Read = file_blocks) -> Logs:
    """All rows of some parts."""
    logs = Logs(compacted=metadata.compacted, next_producer_id=metadata.next_producer_id)
    for part in parts:
        logs.rows += log_rows(part, read=read)
        if part.topic == STATE_TOPIC:
            for row in coordinator_rows(part, read=read):
                if isinstance(row, Finding):
                    logs.unreadable.append(row)
                else:
                    logs.states.append(row)
        elif part.topic == OFFSETS_TOPIC:
            logs.offsets += offset_rows(part, read=read)
    return logs


def _records(
    part: LogPart,
    decode: Callable[[int, BatchHeader, bytes], Iterator[T]],
    read: Read,
) -> Iterator[T]:
    """Decoded records of each valid batch."""
    from ..kafka_log.blocks import Gap

    for block in read(part, True):
        if isinstance(block, Gap):
            continue
        lengths = block.headers["length"].tolist()
        for start, at, length, is_right in zip(
            block.starts.tolist(),
            block.positions.tolist(),
            lengths,
            block.crc_ok.tolist(),
            strict=True,
        ):
            if not is_right:
                continue
            size = LOG_OVERHEAD + length
            if block.file is not None:  # a large batch
                whole = block.file.read_at(at, size)
            else:
                whole = block.data[start : start + size]
            try:
                yield from decode(part.partition, read_header(whole), whole)
            except Refused:
                continue  # the rules of batches report it
