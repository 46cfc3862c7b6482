"""The comparison of an input with an output, as functions over Arrow batches.

Records go to Spark in columns, for the expression of the key. Their fates are found from the end of
each partition to its beginning; then Spark counts the copies of each key, and only keys whose
counts differ reach Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...audit.exactly_once import FateFold, KeyFold
from ...audit.rows import ABORT, COMMIT, KeyRow
from ...protocol.batch import CONTROL, TRANSACTIONAL
from ..kafka_log.batch_rows import controls
from ..kafka_log.blocks import Block, Gap
from ..kafka_log.columns import constant, timestamps
from ..kafka_log.record_rows import Refusal, Rows, rows_of, without_control
from .folds import FINDING, Arrow, Packed, in_batches, packed, parts_of
from .rows import LogPart, Read, file_blocks

if TYPE_CHECKING:
    import pyarrow as pa

RECORDS: Final = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp,"
    " number long, kind string"
)
"""A record, before its key is known; number: its producer id; kind: plain, data, commit, abort."""
KEYED: Final = "name string, topic string, partition int, offset long, number long, fate string"
"""A record with the text of its key and its fate."""

_PLAIN, _DATA, _COMMIT, _ABORT = range(4)
_KINDS: Final = ("plain", "data", COMMIT, ABORT)
_ROWS: Final = 1 << 16
_BYTES: Final = 4 << 20

_COUNTS: Final = {
    "given": "not is_output and fate = 'committed'",
    "unconsumed": "not is_output and fate = 'committed' and not is_consumed",
    "given_aborted": "not is_output and fate = 'aborted'",
    "given_open": "not is_output and fate = 'open'",
    "produced": "is_output and fate = 'committed'",
    "produced_otherwise": "is_output and fate <> 'committed'",
}
_ROW: Final = "struct(is_output, fate, topic, partition, offset, number, is_consumed)"
AGGREGATES: Final = (
    *(f"count_if({condition}) as {name}" for name, condition in _COUNTS.items()),
    f"min({_ROW}) as a",
    f"min({_ROW}) filter (where is_output) as b",
    f"max({_ROW}) filter (where not is_output) as c",
    f"max({_ROW}) as d",
)
"""Of the copies of a key: counts, and the first and last copies."""
SUSPICIOUS: Final = "given <> produced or unconsumed > 0"


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """Parts of the input and the output to records with the columns `RECORDS`.

    Args:
        wants_key, wants_value: null instead, if the expression of the key does not need it.
    """

    read: Read = file_blocks
    wants_key: bool = True
    wants_value: bool = True

    def __call__(self, batches: Arrow) -> Arrow:
        for part in parts_of(batches):
            for block in self.read(part, True):
                if isinstance(block, Gap) or not block.crc_ok.all() or not len(block.headers):
                    continue
                for rows in rows_of(block):
                    if not isinstance(rows, Refusal):
                        data = without_control(rows, block)
                        yield from _sliced(self._of_data(part, block, data))
                yield from _sliced(_markers(part, block))

    def _of_data(self, part: LogPart, block: Block, rows: Rows) -> pa.RecordBatch:
        import pyarrow as pa

        attributes = block.headers["attributes"][rows.batch]
        kinds = np.where(attributes & TRANSACTIONAL, _DATA, _PLAIN)
        none = constant(None, pa.binary(), len(rows.batch))
        assert rows.parsed is not None
        return _batch(
            part,
            rows.parsed.keys() if self.wants_key else none,
            rows.parsed.values() if self.wants_value else none,
            rows.offsets,
            rows.timestamps,
            block.headers["producer_id"][rows.batch],
            kinds,
        )


def _markers(part: LogPart, block: Block) -> pa.RecordBatch:
    import pyarrow as pa

    found = controls(block)
    headers = block.headers[found.rows]
    is_marker = (found.types == 0) | (found.types == 1)
    is_marker &= (headers["attributes"] & CONTROL) != 0
    headers = headers[is_marker]
    none = constant(None, pa.binary(), len(headers))
    return _batch(
        part,
        none,
        none,
        headers["base_offset"],
        headers["max_timestamp"],
        headers["producer_id"],
        np.where(found.types[is_marker] == 1, _COMMIT, _ABORT),
    )


def _batch(part: LogPart, keys: pa.Array, values: pa.Array, *columns: Any) -> pa.RecordBatch:
    """Any: arrays of numpy: offsets, timestamps, producer ids, kinds."""
    import pyarrow as pa

    offsets, times, producers, kinds = (column.astype(np.int64) for column in columns)
    names = ["key", "value", "topic", "partition", "offset", "timestamp", "number", "kind"]
    arrays = [
        keys,
        values,
        constant(part.topic, pa.string(), len(offsets)),
        constant(part.partition, pa.int32(), len(offsets)),
        pa.array(offsets),
        timestamps(times),
        pa.array(producers),
        pa.array(_KINDS).take(pa.array(kinds)),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _sliced(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in slices of a limited size."""
    if batch.num_rows:
        size = max(1, batch.num_rows * _BYTES // max(batch.nbytes, 1))
        for start in range(0, batch.num_rows, min(size, _ROWS)):
            yield batch.slice(start, min(size, _ROWS))


def fates(batches: Arrow) -> Arrow:
    """Records of each partition by falling offsets, with `kind`, to `KEYED`."""
    import pyarrow as pa

    place, fold = None, FateFold()
    for batch in batches:
        found: list[str] = []
        names = ("topic", "partition", "number", "kind")
        columns = (batch.column(name).to_pylist() for name in names)
        for topic, partition, producer_id, kind in zip(*columns, strict=True):
            if (topic, partition) != place:
                place, fold = (topic, partition), FateFold()
            found.append(fold.of(producer_id, kind))
        fate = pa.array(found, pa.string())
        kept = pa.RecordBatch.from_arrays(
            [*(batch.column(name) for name in ("name", "topic", "partition", "offset", "number")),
             fate],
            names=["name", "topic", "partition", "offset", "number", "fate"],
        )  # fmt: skip
        yield kept.filter(pa.array([bool(each) for each in found]))


def fold_counts(batches: Arrow) -> Arrow:
    """The counts of keys, with the columns name and `AGGREGATES`, to findings."""
    return in_batches(_of_counts(batches))


def _of_counts(batches: Arrow) -> Iterator[Packed]:
    for batch in batches:
        for counted in batch.to_pylist():
            key = counted["name"]
            copies: list[KeyRow] = []
            for name in "abcd":
                if (row := counted[name]) is not None:
                    copy = KeyRow(
                        key, row["is_output"], row["fate"], row["topic"], row["partition"],
                        row["offset"], row["number"], row["is_consumed"],
                    )  # fmt: skip
                    if copy not in copies:
                        copies.append(copy)
            counts = {
                (False, "committed"): counted["given"],
                (False, "aborted"): counted["given_aborted"],
                (False, "open"): counted["given_open"],
                (True, "committed"): counted["produced"],
                (True, "open"): counted["produced_otherwise"],
            }
            fold = KeyFold(key, counts, counted["unconsumed"], copies)
            for found in fold.end():
                yield packed(FINDING, found, found.rule)
