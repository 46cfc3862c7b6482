"""Rows of the level `batches`: the headers of a block, and the content of control batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from ...protocol.batch import (
    CONTROL,
    HAS_DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAX_SEQUENCE,
    TRANSACTIONAL,
    read_header,
)
from ...protocol.errors import Refused
from ...protocol.records import records_in
from .columns import codecs, constant, last_offsets, numbers, record_batch, timestamps

if TYPE_CHECKING:
    import numpy.typing as npt

    from .blocks import Block
    from .listing import Segment

ABORT: Final = 0
COMMIT: Final = 1
UNREADABLE: Final = -1
CONTROL_TYPES: Final = {
    ABORT: "abort",
    COMMIT: "commit",
    2: "leader_change",
    3: "snapshot_header",
    4: "snapshot_footer",
    5: "kraft_version",
    6: "kraft_voters",
}
"""Kafka's ControlRecordType."""

# An uncompressed marker has one layout: the record's length, attributes, deltas and length of the
# key; key (version, type); length of the value; value (version, coordinator epoch); headers.
_MARKER_BYTES: Final = 78
_MARKER_HEAD: Final = (HEADER_SIZE, (32, 0, 0, 0, 8))
_TYPE_AT: Final = HEADER_SIZE + 7
_VALUE_LENGTH_AT: Final = HEADER_SIZE + 9
_EPOCH_AT: Final = HEADER_SIZE + 12


class Controls(NamedTuple):
    """The control records of a block's batches, in columns.

    Attributes:
        rows: indexes of the control batches.
        types: of each, a ControlRecordType; UNREADABLE for an emptied or a damaged one.
        coordinator_epochs: of each marker, else -1.
    """

    rows: npt.NDArray[np.int64]
    types: npt.NDArray[np.int64]
    coordinator_epochs: npt.NDArray[np.int64]


def controls(block: Block) -> Controls:
    """The control batches of a block. Markers are read by columns, others one at a time."""
    headers = block.headers
    rows = np.flatnonzero(headers["attributes"] & CONTROL).astype(np.int64)
    types = np.full(len(rows), UNREADABLE, np.int64)
    epochs = np.full(len(rows), -1, np.int64)
    if not len(rows):
        return Controls(rows, types, epochs)
    every = np.frombuffer(block.data, np.uint8)
    starts = block.starts[rows]
    whole = headers["length"][rows] == _MARKER_BYTES - LOG_OVERHEAD
    whole &= (headers["attributes"][rows] & 7) == 0
    at, head = _MARKER_HEAD
    usual = np.flatnonzero(whole)
    same = every[starts[usual, None] + at + np.arange(len(head))] == np.array(head, np.uint8)
    usual = usual[same.all(axis=1)]
    value_length = every[starts[usual] + _VALUE_LENGTH_AT]
    usual = usual[value_length == 12]
    types[usual] = _big_endian(every, starts[usual] + _TYPE_AT, 2)
    epochs[usual] = _big_endian(every, starts[usual] + _EPOCH_AT, 4)
    rest = np.ones(len(rows), np.bool_)
    rest[usual] = False
    for index in np.flatnonzero(rest).tolist():
        types[index], epochs[index] = _control_record(block, int(rows[index]))
    return Controls(rows, types, epochs)


def _big_endian(
    every: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], size: int
) -> npt.NDArray[np.int64]:
    raw = np.ascontiguousarray(every[at[:, None] + np.arange(size)])
    return raw.view(f">i{size}")[:, 0].astype(np.int64)


def _control_record(block: Block, row: int) -> tuple[int, int]:
    """Type and coordinator epoch of any control batch."""
    start = int(block.starts[row])
    header = read_header(block.data, start)
    try:
        for record in records_in(block.data, start, header):
            if record.key is None or len(record.key) < 4:
                break
            kind = int.from_bytes(record.key[2:4], "big", signed=True)
            if kind in (ABORT, COMMIT) and record.value is not None and len(record.value) >= 6:
                return kind, int.from_bytes(record.value[2:6], "big", signed=True)
            return kind, -1
    except Refused:
        pass
    return UNREADABLE, -1


def last_sequences(headers: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
    """The sequence number of each batch's last record; -1 without sequence numbers."""
    base = headers["base_sequence"].astype(np.int64)
    return np.where(base < 0, -1, (base + headers["last_offset_delta"]) & MAX_SEQUENCE)


def batch_rows(schema: pa.Schema, segment: Segment, block: Block) -> pa.RecordBatch:
    """The rows of a block."""
    headers, count = block.headers, len(block.headers)
    attributes = headers["attributes"]

    def flag(bit: int) -> pa.Array:
        return pa.array((attributes & bit) != 0)

    def control_type() -> pa.Array:
        found = controls(block)
        names: list[str | None] = [None] * count
        for row, kind in zip(found.rows.tolist(), found.types.tolist(), strict=True):
            names[row] = CONTROL_TYPES.get(kind, f"type {kind}" if kind >= 0 else "unreadable")
        return pa.array(names, pa.string())

    def coordinator_epoch() -> pa.Array:
        found = controls(block)
        epochs = np.full(count, -1, np.int32)
        epochs[found.rows] = found.coordinator_epochs
        none = np.ones(count, np.bool_)
        none[found.rows] = found.coordinator_epochs < 0
        return pa.array(epochs, mask=none)

    has_horizon = (attributes & HAS_DELETE_HORIZON) != 0
    base_time = headers["base_timestamp"].astype(np.int64)
    columns = {
        "topic": lambda: constant(segment.topic, pa.string(), count),
        "partition": lambda: constant(segment.partition, pa.int32(), count),
        "base_offset": lambda: numbers(headers["base_offset"]),
        "last_offset": lambda: numbers(last_offsets(headers)),
        "producer_id": lambda: numbers(headers["producer_id"]),
        "producer_epoch": lambda: numbers(headers["producer_epoch"]),
        "base_sequence": lambda: numbers(headers["base_sequence"]),
        "last_sequence": lambda: numbers(last_sequences(headers)),
        "transactional": lambda: flag(TRANSACTIONAL),
        "control": lambda: flag(CONTROL),
        "control_type": control_type,
        "coordinator_epoch": coordinator_epoch,
        "max_timestamp": lambda: timestamps(headers["max_timestamp"]),
        "first_timestamp": lambda: timestamps(np.where(has_horizon, -1, base_time)),
        "timestamp_type": lambda: pa.array(((attributes & LOG_APPEND_TIME) != 0).astype(np.int32)),
        "records": lambda: numbers(headers["record_count"]),
        "codec": lambda: codecs(attributes),
        "size": lambda: numbers(headers["length"].astype(np.int64) + LOG_OVERHEAD),
        "crc_ok": lambda: pa.array(block.crc_ok),
        "leader_epoch": lambda: numbers(headers["leader_epoch"]),
        "delete_horizon": lambda: timestamps(np.where(has_horizon, base_time, -1)),
        "segment": lambda: constant(segment.name, pa.string(), count),
        "position": lambda: numbers(block.positions),
    }
    return record_batch(schema, columns)
