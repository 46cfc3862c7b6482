"""Rows of the level `records`, and the parsed records that other levels decode.

The batches of a block are parsed together: uncompressed ones where they lie, compressed ones after
their decompression into groups of a limited size. A payload that decompresses to more than
`_WHOLE_BYTES` is read record by record instead, so that memory does not grow with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from ...protocol.batch import (
    CONTROL,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAX_SEQUENCE,
    TRANSACTIONAL,
    Compression,
    read_header,
)
from ...protocol.errors import Refused
from ...protocol.opening import opening
from ...protocol.records import records_in
from .columns import codecs, constant, numbers, record_batch, timestamps
from .fates import COMMITTED, FATES, NO_FATE, Fates
from .options import END
from .parsing import Parsed, parse
from .portions import TooLarge, Unreadable, portions

if TYPE_CHECKING:
    import numpy.typing as npt

    from .blocks import Block
    from .listing import Segment
    from .options import Options

_WHOLE_BYTES: Final = 32 << 20
_GROUP_BYTES: Final = 8 << 20
_PARSED: Final = {"key", "value", "headers", "timestamp"}


class Refusal(NamedTuple):
    """A batch whose CRC is right and whose records are not readable.

    Attributes:
        kind: of the damage.
    """

    row: int
    why: str
    kind: str = "records"


@dataclass(slots=True)
class Rows:
    """Records of a block, with the batch that each belongs to.

    Attributes:
        batch: row of each record's batch in the block.
        offsets: of each record.
        parsed: keys, values and headers; None if the query wants none of them.
    """

    batch: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    timestamps: npt.NDArray[np.int64]
    parsed: Parsed | None


def needs_parsing(columns: set[str], options: Options) -> bool:
    """Whether the wanted columns are in the records, and not all in the headers of batches."""
    has_times = options.from_ms > -END or options.to_ms < END
    return bool(columns & _PARSED) or has_times


def rows_of(block: Block, *, parsed: bool = True) -> Iterator[Rows | Refusal]:
    """The records of a block's batches, in order.

    Args:
        parsed: whether keys, values, headers and timestamps are wanted. Without them a block is
            parsed only if compaction left holes: else the headers of its batches tell its offsets.
    """
    headers = block.headers
    counts = headers["record_count"].astype(np.int64)
    rows = np.flatnonzero(counts > 0)
    if not len(rows):
        return
    deltas = headers["last_offset_delta"][rows].astype(np.int64)
    if not parsed and (counts[rows] == deltas + 1).all():
        yield _without_records(block, rows)
    elif block.file is not None:
        yield from _in_portions(block, int(rows[0]))
    elif (headers["attributes"][rows] & 7).any():
        yield from _opened(block, rows.tolist())
    else:
        starts = block.starts[rows]
        ends = np.minimum(starts + headers["length"][rows] + LOG_OVERHEAD, len(block.data))
        yield from _parsed(
            block, rows.tolist(), block.data, (starts + HEADER_SIZE).tolist(), ends.tolist()
        )


def _without_records(block: Block, rows: npt.NDArray[np.int64]) -> Rows:
    counts = block.headers["record_count"][rows].astype(np.int64)
    batch = np.repeat(rows, counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    offsets = block.headers["base_offset"][batch].astype(np.int64)
    offsets += np.arange(len(batch)) - first
    return Rows(batch, offsets, np.full(len(batch), -1, np.int64), None)


def _parsed(
    block: Block, rows: list[int], data: bytes, begins: list[int], ends: list[int]
) -> Iterator[Rows | Refusal]:
    counts = block.headers["record_count"][rows].tolist()
    found = parse(data, begins, ends, counts)
    for index in found.refused:
        yield Refusal(rows[index], _why_broken(block, rows[index]))
    if len(found.payload):
        batch = np.array(rows, np.int64)[found.payload]
        yield _rows(block, batch, found)


def _why_broken(block: Block, row: int) -> str:
    """The first broken record of a batch, and its field."""
    start = int(block.starts[row])
    try:
        for _ in records_in(block.data, start, read_header(block.data, start)):
            pass
    except Refused as refused:
        return str(refused.why)
    return "the records are not readable"


def _rows(block: Block, batch: npt.NDArray[np.int64], found: Parsed) -> Rows:
    headers = block.headers
    offsets = headers["base_offset"].astype(np.int64)[batch] + found.offset_delta
    times = headers["base_timestamp"].astype(np.int64)[batch] + found.timestamp_delta
    of_log = (headers["attributes"][batch] & LOG_APPEND_TIME) != 0
    times = np.where(of_log, headers["max_timestamp"].astype(np.int64)[batch], times)
    return Rows(batch, offsets, times, found)


def _opened(block: Block, rows: list[int]) -> Iterator[Rows | Refusal]:
    """The records of batches of which some are compressed, in groups of some MB."""
    group: list[int] = []
    pieces: list[bytes] = []
    size = 0
    for row in rows:
        try:
            payload = _decompressed(block, row)
        except Refused as refused:
            yield Refusal(row, str(refused.why))
            continue
        if payload is None:
            if group:
                yield from _group(block, group, pieces)
                group, pieces, size = [], [], 0
            yield from _in_portions(block, row)
            continue
        if group and size + len(payload) > _GROUP_BYTES:
            yield from _group(block, group, pieces)
            group, pieces, size = [], [], 0
        group.append(row)
        pieces.append(payload)
        size += len(payload)
    if group:
        yield from _group(block, group, pieces)


def _group(block: Block, rows: list[int], pieces: list[bytes]) -> Iterator[Rows | Refusal]:
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    begins = [0, *ends[:-1]]
    yield from _parsed(block, rows, b"".join(pieces), begins, ends)


def _decompressed(block: Block, row: int) -> bytes | None:
    """The payload of a batch; None if it is too large to keep. Raises Refused."""
    start = int(block.starts[row])
    end = start + LOG_OVERHEAD + int(block.headers["length"][row])
    raw = memoryview(block.data)[start + HEADER_SIZE : end]
    codec = int(block.headers["attributes"][row]) & 7
    if codec == Compression.NONE:
        return bytes(raw)
    opened = opening(codec, raw)
    parts, size = [], 0
    while not opened.is_finished:
        piece = opened.read(_GROUP_BYTES, whole_blocks=True)
        parts.append(piece)
        size += len(piece)
        if size > _WHOLE_BYTES:
            return None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _in_portions(block: Block, row: int) -> Iterator[Rows | Refusal]:
    """The records of a large batch; those before damage are returned, too."""
    try:
        for found in portions(block, row):
            yield _rows(block, np.full(len(found.payload), row, np.int64), found)
    except Refused as refused:
        yield Refusal(row, str(refused.why))
    except Unreadable as wrong:
        yield Refusal(row, str(wrong))
    except TooLarge as large:
        yield Refusal(row, f"{large} needs too much memory", "large")


def chosen(rows: Rows, block: Block, options: Options, fates: npt.NDArray[np.int8] | None) -> Rows:
    """The rows that the options select."""
    keep = (rows.offsets >= options.first_offset) & (rows.offsets < options.end_offset)
    if rows.parsed is not None:
        keep &= (rows.timestamps >= options.from_ms) & (rows.timestamps < options.to_ms)
    if options.read_committed and fates is not None:
        keep &= fates[rows.batch] == COMMITTED
    if keep.all():
        return rows
    parsed = None if rows.parsed is None else rows.parsed.pick(keep)
    return Rows(rows.batch[keep], rows.offsets[keep], rows.timestamps[keep], parsed)


def without_control(rows: Rows, block: Block) -> Rows:
    """The rows that are not control records."""
    keep = (block.headers["attributes"][rows.batch] & CONTROL) == 0
    parsed = None if rows.parsed is None else rows.parsed.pick(keep)
    return Rows(rows.batch[keep], rows.offsets[keep], rows.timestamps[keep], parsed)


def record_rows(
    schema: pa.Schema,
    segment: Segment,
    block: Block,
    rows: Rows,
    fates: npt.NDArray[np.int8] | None,
) -> pa.RecordBatch:
    """The Arrow rows of records of a block."""
    batch, count = rows.batch, len(rows.batch)
    headers = block.headers
    attributes = headers["attributes"][batch]

    def flag(bit: int) -> pa.Array:
        return pa.array((attributes & bit) != 0)

    def sequence() -> pa.Array:
        base = headers["base_sequence"].astype(np.int64)[batch]
        delta = rows.offsets - headers["base_offset"].astype(np.int64)[batch]
        return pa.array(np.where(base < 0, -1, (base + delta) & MAX_SEQUENCE).astype(np.int32))

    def fate() -> pa.Array:
        assert fates is not None
        codes = fates[batch]
        return pa.array(FATES).take(pa.array(codes, mask=codes == NO_FATE))

    def parsed() -> Parsed:
        assert rows.parsed is not None
        return rows.parsed

    columns = {
        "key": lambda: parsed().keys(),
        "value": lambda: parsed().values(),
        "topic": lambda: constant(segment.topic, pa.string(), count),
        "partition": lambda: constant(segment.partition, pa.int32(), count),
        "offset": lambda: pa.array(rows.offsets),
        "timestamp": lambda: timestamps(rows.timestamps),
        "timestampType": lambda: pa.array(((attributes & LOG_APPEND_TIME) != 0).astype(np.int32)),
        "headers": lambda: parsed().headers(schema.field("headers").type),
        "producer_id": lambda: numbers(headers["producer_id"][batch]),
        "producer_epoch": lambda: numbers(headers["producer_epoch"][batch]),
        "sequence": sequence,
        "transactional": lambda: flag(TRANSACTIONAL),
        "control": lambda: flag(CONTROL),
        "fate": fate,
        "codec": lambda: codecs(attributes),
        "crc_ok": lambda: pa.array(block.crc_ok[batch]),
        "segment": lambda: constant(segment.name, pa.string(), count),
        "position": lambda: pa.array(block.positions[batch]),
        "leader_epoch": lambda: numbers(headers["leader_epoch"][batch]),
    }
    return record_batch(schema, columns)


def fates_of(segment: Segment, columns: set[str], options: Options) -> Fates | None:
    """The fates, if the query needs them."""
    return Fates(segment) if "fate" in columns or options.read_committed else None
