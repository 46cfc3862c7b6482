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

from ...audit.coordinator import CoordinatorFold, StateLog
from ...audit.offsets import OffsetsFold
from ...audit.partition import PartitionFold
from ...audit.producers import ProducerFacts, ProducerFold, sort_key
from ...audit.rows import CoordinatorRecord, Decision, PartitionTransaction, Standing
from ...audit.rules import Finding
from .pieces import rows_in
from .rows import LogPart, Metadata, Read, coordinator_rows, file_blocks, log_pieces, offset_rows

if TYPE_CHECKING:
    import pyarrow as pa

PACKED: Final = "family string, name string, number long, at long, sub long, row binary"
"""The columns of a packed row: name and number are the key, `at` and `sub` the order."""
LOG: Final = "log"
FINDING: Final = "finding"
TRANSACTION: Final = "transaction"
SUMMARY: Final = "summary"
STATE: Final = "state"
PRODUCER: Final = "producer"
OFFSET: Final = "offset"
COMMITTED: Final = "committed"

_ROWS: Final = 4096
_BYTES: Final = 4 << 20
Arrow = Iterator["pa.RecordBatch"]
FoldStep = Callable[[Arrow], Arrow]


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


def in_batches(rows: Iterable[Packed]) -> Arrow:
    """Packed rows in batches of a limited size."""
    import pyarrow as pa

    types = [pa.string(), pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.binary()]
    for held in _portions(rows):
        columns = zip(zip(*held, strict=True), types, strict=True)
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, kind) for column, kind in columns], names=list(Packed._fields)
        )


def _portions(rows: Iterable[Packed]) -> Iterator[list[Packed]]:
    """Rows in lists of a limited number and size."""
    held: list[Packed] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row.row)
        if len(held) == _ROWS or size > _BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


def _rows(batches: Arrow) -> Iterator[Packed]:
    for batch in batches:
        yield from map(
            Packed._make, zip(*(column.to_pylist() for column in batch.columns), strict=True)
        )


def _keyed(batches: Arrow) -> Iterator[tuple[tuple[str, int], Iterator[Packed]]]:
    """The rows of each key, in their order."""
    return groupby(_rows(batches), key=itemgetter(1, 2))


def _opened(rows: Iterable[Packed]) -> Iterator[Any]:
    """Rows as they were sent; Any: as of `unpacked`."""
    return (unpacked(row.row) for row in rows)


@dataclass(frozen=True, slots=True)
class ReadLogs:
    """Parts of logs to pieces of their rows (`pieces.py`), in the order of the log."""

    read: Read = file_blocks
    check_crc: bool = True

    def __call__(self, batches: Arrow) -> Arrow:
        return in_batches(
            Packed(LOG, part.topic, part.partition, part.base_offset, order, piece)
            for part in parts_of(batches)
            for order, piece in enumerate(
                log_pieces(part, read=self.read, check_crc=self.check_crc),
                part.task.start if part.task is not None else 0,
            )
        )


@dataclass(frozen=True, slots=True)
class ReadStates:
    """Parts of `__transaction_state` to its records, by transactional id."""

    read: Read = file_blocks

    def __call__(self, batches: Arrow) -> Arrow:
        return in_batches(
            packed(STATE, row, _transactional_id(row), row.partition, row.offset)
            for part in parts_of(batches)
            for row in coordinator_rows(part, read=self.read)
        )


@dataclass(frozen=True, slots=True)
class ReadOffsets:
    """Parts of `__consumer_offsets` to its records."""

    read: Read = file_blocks

    def __call__(self, batches: Arrow) -> Arrow:
        return in_batches(
            packed(OFFSET, row, "", row.log_partition, row.log_offset)
            for part in parts_of(batches)
            for row in offset_rows(part, read=self.read)
        )


def parts_of(batches: Arrow) -> Iterator[LogPart]:
    """The parts of logs in packed rows."""
    return (unpacked(row.row) for row in _rows(batches))


@dataclass(frozen=True, slots=True)
class FoldPartitions:
    """Pieces of logs, sorted, to findings, transactions and summaries."""

    metadata: Metadata

    def __call__(self, batches: Arrow) -> Arrow:
        return in_batches(self._found(batches))

    def _found(self, batches: Arrow) -> Iterator[Packed]:
        compacted = self.metadata.compacted
        for (topic, partition), rows in _keyed(batches):
            may_have_gaps = compacted is None or topic in compacted
            fold = PartitionFold(topic, partition, may_have_gaps=may_have_gaps)
            logged = chain.from_iterable(
                rows_in(topic, partition, piece.at, piece.row) for piece in rows
            )
            for found in chain(_each(fold.row, logged), fold.end()):
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
        return in_batches(self._found(batches))

    def _found(self, batches: Arrow) -> Iterator[Packed]:
        for (_, partition), rows in _keyed(batches):
            fold = CoordinatorFold(self.logs.get(partition, StateLog()))
            # A record that cannot be decoded is a finding already.
            for found in chain(
                chain.from_iterable(
                    (row,) if isinstance(row, Finding) else fold.row(row) for row in _opened(rows)
                ),
                fold.end(),
            ):
                if isinstance(found, Finding):
                    yield packed(FINDING, found, found.rule)
                else:
                    yield _of_producer(found)


def _transactional_id(row: CoordinatorRecord | Finding) -> str:
    return "" if isinstance(row, Finding) else row.transactional_id


def _of_producer(row: Standing | Decision | PartitionTransaction) -> Packed:
    """A row of a producer id; `FoldProducers` brings those of one producer id into order."""
    family = TRANSACTION if isinstance(row, PartitionTransaction) else PRODUCER
    kind, topic, partition, epoch, time_ms, sub, offset = sort_key(row)
    order = (f"{kind} {topic}-{partition:010d} {epoch:06d}", row.producer_id, time_ms)
    return packed(family, row, *order, (sub << 62) + offset)


@dataclass(frozen=True, slots=True)
class FoldProducers:
    """Rows of producers, sorted, to findings."""

    cluster: ProducerFacts

    def __call__(self, batches: Arrow) -> Arrow:
        return in_batches(self._found(batches))

    def _found(self, batches: Arrow) -> Iterator[Packed]:
        for producer_id, rows in groupby(_rows(batches), key=itemgetter(2)):
            fold = ProducerFold(producer_id, self.cluster)
            for found in chain(_each(fold.row, _opened(rows)), fold.end()):
                yield packed(FINDING, found, found.rule)


@dataclass(frozen=True, slots=True)
class FoldOffsets:
    """Records of `__consumer_offsets`, sorted, to findings and the offsets of one group."""

    partitions: int
    cluster: ProducerFacts
    group: str = ""

    def __call__(self, batches: Arrow) -> Arrow:
        return in_batches(self._found(batches))

    def _found(self, batches: Arrow) -> Iterator[Packed]:
        for _, rows in _keyed(batches):
            fold = OffsetsFold(self.partitions, self.cluster.partitions)
            for found in chain(_each(fold.row, _opened(rows)), fold.end()):
                yield packed(FINDING, found, found.rule)
            for (group, _, _), record in fold.committed.items():
                if group == self.group:
                    yield packed(COMMITTED, record)


def _each(step: Callable[[Any], Iterable[Any]], rows: Iterable[Any]) -> Iterator[Any]:
    """The results of a step for each row; Any: rows of one fold."""
    return chain.from_iterable(map(step, rows))


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
