"""The audit's folds as functions over Arrow batches, for `DataFrame.mapInArrow`.

A row travels as its sort columns and the pickled tuple. Each function holds the state of one key,
and a few thousand rows. It runs on executors: it imports neither PySpark nor the broker.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_type_hints

from ..audit.coordinator import CoordinatorFold, StateLog
from ..audit.exactly_once import FateFold, KeyFold
from ..audit.offsets import OffsetsFold
from ..audit.partition import PartitionFold
from ..audit.producers import Cluster, ProducerFold, sort_key
from ..audit.rows import (
    Batch,
    Decision,
    KeyRow,
    PartitionTransaction,
    Standing,
)
from ..audit.rules import Finding
from ..audit.whole import log_order
from .audit_rows import (
    Metadata,
    Read,
    SegmentFile,
    coordinator_rows,
    file_batches,
    keyed_batches,
    log_rows,
    offset_rows,
)

if TYPE_CHECKING:
    import pyarrow as pa

PACKED: Final = "family string, name string, number long, at long, sub int, row binary"
"""The columns of a packed row: name and number are the key, `at` and `sub` the order."""
KEYED: Final = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp,"
    " number long, kind string"
)
"""The columns of a record, before its key is known; kind: plain, data, commit or abort."""

LOG: Final = "log"
FINDING: Final = "finding"
TRANSACTION: Final = "transaction"
SUMMARY: Final = "summary"
STATE: Final = "state"
PRODUCER: Final = "producer"
OFFSET: Final = "offset"
COMMITTED: Final = "committed"
KEY: Final = "key"

_ROWS: Final = 4096
Arrow = Iterator["pa.RecordBatch"]
Step = Callable[[Arrow], Arrow]


class Packed(NamedTuple):
    """A row with its key and order; see `PACKED`."""

    family: str
    name: str
    number: int
    at: int
    sub: int
    row: bytes


def packed(family: str, row: object, name: str = "", number: int = 0, *order: int) -> Packed:
    """A row to send."""
    at, sub = (*order, 0, 0)[:2]
    return Packed(family, name, number, at, sub, pickle.dumps(row, protocol=5))


def unpacked(row: bytes) -> Any:  # Any: one of the named tuples of ottla.audit.rows
    """A row that was sent."""
    return pickle.loads(row)


def _in_batches(rows: Iterable[Packed]) -> Arrow:
    import pyarrow as pa

    types = [pa.string(), pa.string(), pa.int64(), pa.int64(), pa.int32(), pa.binary()]
    several = iter(rows)
    while held := list(islice(several, _ROWS)):
        columns = zip(zip(*held, strict=True), types, strict=True)
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, kind) for column, kind in columns], names=list(Packed._fields)
        )


def _rows(batches: Arrow) -> Iterator[Packed]:
    for batch in batches:
        yield from map(
            Packed._make, zip(*(column.to_pylist() for column in batch.columns), strict=True)
        )


def _keyed(batches: Arrow) -> Iterator[tuple[tuple[str, int], Iterator[Any]]]:
    """The rows of each key, in their order; Any: as of `unpacked`."""
    for key, rows in groupby(_rows(batches), key=itemgetter(1, 2)):
        yield key, (unpacked(row.row) for row in rows)


@dataclass(frozen=True, slots=True)
class ReadLogs:
    """Segments to rows of logs."""

    read: Read = file_batches
    check_crc: bool = True

    def __call__(self, batches: Arrow) -> Arrow:
        return _in_batches(
            packed(LOG, row, segment.topic, segment.partition, *log_order(row))
            for segment in _segments(batches)
            for row in log_rows(segment, read=self.read, check_crc=self.check_crc)
        )


@dataclass(frozen=True, slots=True)
class ReadStates:
    """Segments of `__transaction_state` to its records, by transactional id."""

    read: Read = file_batches

    def __call__(self, batches: Arrow) -> Arrow:
        return _in_batches(
            packed(FINDING, row, row.rule)
            if isinstance(row, Finding)
            else packed(STATE, row, row.transactional_id, row.partition, row.offset)
            for segment in _segments(batches)
            for row in coordinator_rows(segment, read=self.read)
        )


@dataclass(frozen=True, slots=True)
class ReadOffsets:
    """Segments of `__consumer_offsets` to its records."""

    read: Read = file_batches

    def __call__(self, batches: Arrow) -> Arrow:
        return _in_batches(
            packed(OFFSET, row, "", row.log_partition, row.log_offset)
            for segment in _segments(batches)
            for row in offset_rows(segment, read=self.read)
        )


def _segments(batches: Arrow) -> Iterator[SegmentFile]:
    return (unpacked(row.row) for row in _rows(batches))


@dataclass(frozen=True, slots=True)
class FoldPartitions:
    """Rows of logs, sorted, to findings, transactions and summaries."""

    metadata: Metadata

    def __call__(self, batches: Arrow) -> Arrow:
        return _in_batches(self._found(batches))

    def _found(self, batches: Arrow) -> Iterator[Packed]:
        compacted = self.metadata.compacted
        for (topic, partition), rows in _keyed(batches):
            may_have_gaps = compacted is None or topic in compacted
            fold = PartitionFold(topic, partition, may_have_gaps=may_have_gaps)
            for found in chain(_each(fold.row, rows), fold.end()):
                if isinstance(found, Finding):
                    yield packed(FINDING, found, found.rule)
                elif isinstance(found, PartitionTransaction):
                    yield _of_producer(found)
                else:
                    yield packed(SUMMARY, found)


@dataclass(frozen=True, slots=True)
class FoldStates:
    """Records of the coordinator, sorted, to findings and the rows of producers."""

    logs: dict[int, StateLog]

    def __call__(self, batches: Arrow) -> Arrow:
        return _in_batches(self._found(batches))

    def _found(self, batches: Arrow) -> Iterator[Packed]:
        for (_, partition), rows in _keyed(batches):
            fold = CoordinatorFold(self.logs.get(partition, StateLog()))
            for found in chain(_each(fold.row, rows), fold.end()):
                if isinstance(found, Finding):
                    yield packed(FINDING, found, found.rule)
                else:
                    yield _of_producer(found)


def _of_producer(row: Standing | Decision | PartitionTransaction) -> Packed:
    """A row of a producer id; `FoldProducers` brings those of one producer id into order."""
    family = TRANSACTION if isinstance(row, PartitionTransaction) else PRODUCER
    kind, topic, partition, epoch, time_ms, sub, offset = sort_key(row)
    order = (f"{kind} {topic}-{partition:010d} {epoch:06d}", row.producer_id, time_ms)
    return packed(family, row, *order, (sub << 30) + (offset & 0x3FFFFFFF))


@dataclass(frozen=True, slots=True)
class FoldProducers:
    """Rows of producers, sorted, to findings."""

    cluster: Cluster

    def __call__(self, batches: Arrow) -> Arrow:
        return _in_batches(self._found(batches))

    def _found(self, batches: Arrow) -> Iterator[Packed]:
        for producer_id, rows in groupby(_rows(batches), key=itemgetter(2)):
            fold = ProducerFold(producer_id, self.cluster)
            opened = (unpacked(row.row) for row in rows)
            for found in chain(_each(fold.row, opened), fold.end()):
                yield packed(FINDING, found, found.rule)


@dataclass(frozen=True, slots=True)
class FoldOffsets:
    """Records of `__consumer_offsets`, sorted, to findings and the offsets of one group."""

    partitions: int
    cluster: Cluster
    group: str = ""

    def __call__(self, batches: Arrow) -> Arrow:
        return _in_batches(self._found(batches))

    def _found(self, batches: Arrow) -> Iterator[Packed]:
        for _, rows in _keyed(batches):
            fold = OffsetsFold(self.partitions, self.cluster.partitions)
            for found in chain(_each(fold.row, rows), fold.end()):
                yield packed(FINDING, found, found.rule)
            for (group, _, _), record in fold.committed.items():
                if group == self.group:
                    yield packed(COMMITTED, record)


def _each(step: Callable[[Any], Iterable[Any]], rows: Iterable[Any]) -> Iterator[Any]:
    """The results of a step for each row; Any: rows of one fold."""
    return chain.from_iterable(map(step, rows))


@dataclass(frozen=True, slots=True)
class ReadKeyed:
    """Segments of the input and the output to records with the columns `KEYED`."""

    read: Read = file_batches

    def __call__(self, batches: Arrow) -> Arrow:
        import pyarrow as pa

        types = [
            pa.binary(), pa.binary(), pa.string(), pa.int32(), pa.int64(),
            pa.timestamp("us", tz="UTC"), pa.int64(), pa.string(),
        ]  # fmt: skip
        names = ["key", "value", "topic", "partition", "offset", "timestamp", "number", "kind"]
        for segment in _segments(batches):
            for rows in _chunks(_records_of(segment, self.read)):
                columns = [
                    pa.array(column, kind)
                    for column, kind in zip(zip(*rows, strict=True), types, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(columns, names=names)


_Keyed = tuple[bytes | None, bytes | None, str, int, int, int, int, str]


def _records_of(segment: SegmentFile, read: Read) -> Iterator[_Keyed]:
    place = (segment.topic, segment.partition)
    for batch, records in keyed_batches(segment, read=read):
        if batch.control:
            if batch.control_type:
                time_us = batch.max_timestamp * 1000
                offset = batch.base_offset
                yield (None, None, *place, offset, time_us, batch.producer_id, batch.control_type)
            continue
        kind = "data" if batch.transactional else "plain"
        for record in records:
            yield (
                record.key,
                record.value,
                *place,
                record.offset,
                record.timestamp_ms * 1000,
                batch.producer_id,
                kind,
            )


def _chunks(rows: Iterable[_Keyed]) -> Iterator[list[_Keyed]]:
    held: list[_Keyed] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row[0] or b"") + len(row[1] or b"")
        if len(held) == _ROWS or size > 1 << 22:
            yield held
            held, size = [], 0
    if held:
        yield held


@dataclass(frozen=True, slots=True)
class FoldFates:
    """Records by falling offsets to the copies of keys; `family` is the key, `row` the rest.

    Args:
        output: the output topic.
        consumed: offset of the group by partition of the input; None: everything is consumed.
    """

    output: str
    consumed: dict[int, int] | None

    def __call__(self, batches: Arrow) -> Arrow:
        return _in_batches(self._found(batches))

    def _found(self, batches: Arrow) -> Iterator[Packed]:
        for (topic, partition), rows in groupby(_rows(batches), key=itemgetter(1, 2)):
            fold = FateFold()
            until = None if self.consumed is None else self.consumed.get(partition, 0)
            for row in rows:
                kind, _, producer_id = row.row.decode().partition(" ")
                is_control = kind in ("commit", "abort")
                fate = fold.fate(
                    Batch(
                        topic,
                        partition,
                        row.at,
                        row.at,
                        int(producer_id),
                        transactional=kind != "plain",
                        control=is_control,
                        control_type=kind if is_control else "",
                    )
                )
                if fate:
                    is_output = topic == self.output
                    is_consumed = until is None or row.at < until
                    key = KeyRow(
                        row.family,
                        is_output,
                        fate,
                        topic,
                        partition,
                        row.at,
                        int(producer_id),
                        is_consumed,
                    )
                    yield packed(KEY, key, row.family)


def fold_keys(batches: Arrow) -> Arrow:
    """Copies, sorted by key, to findings."""
    return _in_batches(_of_keys(batches))


def _of_keys(batches: Arrow) -> Iterator[Packed]:
    for key, rows in groupby(_rows(batches), key=itemgetter(1)):
        fold = KeyFold(key)
        for row in rows:
            fold.row(unpacked(row.row))
        for found in fold.end():
            yield packed(FINDING, found, found.rule)


_SQL: Final = {"str": ("string", "string"), "int": ("long", "int64"), "bool": ("boolean", "bool_")}


class Unpack:
    """Packed rows to one column for each field of their tuple.

    Args:
        kind: a named tuple whose fields are texts, numbers and truths.
    """

    def __init__(self, kind: type) -> None:
        self._fields = [(name, _SQL[of.__name__]) for name, of in get_type_hints(kind).items()]

    @property
    def schema(self) -> str:
        """The columns, for Spark."""
        return ", ".join(f"`{name}` {sql}" for name, (sql, _) in self._fields)

    def __call__(self, batches: Arrow) -> Arrow:
        import pyarrow as pa

        several = (unpacked(row.row) for row in _rows(batches))
        while held := list(islice(several, _ROWS)):
            columns = zip(zip(*held, strict=True), self._fields, strict=True)
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, getattr(pa, arrow)()) for column, (_, (_, arrow)) in columns],
                names=[name for name, _ in self._fields],
            )
