"""The rows that the rules read and write: plain named tuples, in the order of a log.

Offsets, epochs and sequence numbers are those of the log; times are wall times in ms. -1 is "none",
as in Kafka's formats.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

NONE: Final = -1
COMMIT: Final = "commit"
ABORT: Final = "abort"
UNREADABLE: Final = "unreadable"
_ITEMS_SHOWN: Final = 20


class SegmentStart(NamedTuple):
    """The beginning of a data file.

    Attributes:
        base_offset: of its name.
        has_index: whether a `.txnindex` exists.
        is_last: whether it is the active segment, whose index may be written later.
    """

    topic: str
    partition: int
    base_offset: int
    has_index: bool
    is_last: bool


class AbortedEntry(NamedTuple):
    """An entry of a `.txnindex` (Kafka's AbortedTxn).

    Attributes:
        last_offset: of the abort marker; the entry sorts before the batch at this offset.
        last_stable_offset: of the log, behind the marker.
    """

    topic: str
    partition: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class LogBatch(NamedTuple):
    """The header of a record batch (DefaultRecordBatch), with the content of a marker.

    Attributes:
        control_type: "commit" or "abort" of a marker, "unreadable" for a control batch that should
            be a marker and is none; else empty.
        coordinator_epoch: of a marker.
        segment: base offset of its file.
        position: in bytes, in its file.
    """

    topic: str
    partition: int
    base_offset: int
    last_offset: int
    producer_id: int = NONE
    producer_epoch: int = NONE
    base_sequence: int = NONE
    last_sequence: int = NONE
    records: int = 1
    transactional: bool = False
    control: bool = False
    control_type: str = ""
    coordinator_epoch: int = NONE
    leader_epoch: int = 0
    first_timestamp: int = NONE
    max_timestamp: int = NONE
    size: int = 0
    crc_ok: bool = True
    segment: int = 0
    position: int = 0


LogRow = SegmentStart | AbortedEntry | LogBatch


class PartitionTransaction(NamedTuple):
    """A transaction as one partition shows it; or a marker without data.

    Attributes:
        producer_epoch: of the data; of the marker if there is no data.
        first_offset: of its first batch; -1 without data.
        last_data_offset: of its last batch; -1 without data.
        marker_offset: -1 while it is open.
        result: "commit", "abort", or empty while it is open.
        repeats: the result of an earlier marker of the same epoch, if there is no data between.
        repeats_of: the coordinator epoch of that marker.
        begins_unseen: its first batches may be deleted or compacted away.
    """

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    first_offset: int = NONE
    last_data_offset: int = NONE
    records: int = 0
    first_timestamp: int = NONE
    last_timestamp: int = NONE
    marker_offset: int = NONE
    marker_epoch: int = NONE
    marker_timestamp: int = NONE
    coordinator_epoch: int = NONE
    result: str = ""
    repeats: str = ""
    repeats_of: int = NONE
    begins_unseen: bool = False


class PartitionSummary(NamedTuple):
    """One partition's log.

    Attributes:
        end_offset: behind the last batch.
        last_stable_offset: first offset of the oldest open transaction, else `end_offset`.
        is_whole: it begins at offset 0 and has no holes.
        last_hole: the last offset of the last hole, -1 without one; retention makes one before the
            first batch.
        aborted: number of transactions that an abort marker ended.
    """

    topic: str
    partition: int
    start_offset: int
    end_offset: int
    last_stable_offset: int
    is_whole: bool
    last_hole: int
    batches: int
    records: int
    size: int
    committed: int
    aborted: int
    open: int
    first_timestamp: int
    last_timestamp: int


class CoordinatorRecord(NamedTuple):
    """A record of `__transaction_state` (TransactionLogValue).

    Attributes:
        partition, offset: of the record.
        state: Kafka's name, `PrepareCommit`; "Dead" for a tombstone.
        partitions: of the transaction, sorted; topic and index.
        client_version: the level of transaction.version of the change (KIP-890).
    """

    partition: int
    offset: int
    transactional_id: str
    state: str
    producer_id: int = NONE
    producer_epoch: int = NONE
    timeout_ms: int = NONE
    partitions: tuple[tuple[str, int], ...] = ()
    updated_ms: int = NONE
    started_ms: int = NONE
    previous_producer_id: int = NONE
    next_producer_id: int = NONE
    client_version: int = 0


class Decision(NamedTuple):
    """The coordinator's decision on a transaction, for one of its partitions.

    Attributes:
        producer_epoch: of the markers.
        is_complete: the log says that every marker is written.
        prepared_ms: time of the decision.
        offset: of the decision in `__transaction_state`-`state_partition`.
    """

    producer_id: int
    topic: str
    partition: int
    producer_epoch: int
    commit: bool
    is_complete: bool
    prepared_ms: int
    started_ms: int
    transactional_id: str
    state_partition: int
    offset: int


class Standing(NamedTuple):
    """The last record of a transactional id under one producer id.

    Attributes:
        is_current: no later record gave the transactional id another producer id.
    """

    producer_id: int
    transactional_id: str
    state: str
    producer_epoch: int
    timeout_ms: int
    started_ms: int
    updated_ms: int
    partitions: tuple[tuple[str, int], ...]
    is_current: bool
    state_partition: int
    offset: int


class OffsetRecord(NamedTuple):
    """A record of `__consumer_offsets`: a committed offset, or the marker of its transaction.

    Attributes:
        log_partition, log_offset: of the record.
        committed: the offset; -1 for a tombstone.
        result: "commit" or "abort" of a marker, else empty.
    """

    log_partition: int
    log_offset: int
    producer_id: int = NONE
    producer_epoch: int = NONE
    transactional: bool = False
    result: str = ""
    group: str = ""
    topic: str = ""
    partition: int = NONE
    committed: int = NONE
    timestamp: int = NONE


class KeyRow(NamedTuple):
    """A record of the input or the output, with the key that identifies it.

    Attributes:
        is_output: whether it is of the output topic.
        fate: "committed" (also outside a transaction), "aborted" or "open".
        is_consumed: an input record before the group's committed offset.
    """

    key: str
    is_output: bool
    fate: str
    topic: str
    partition: int
    offset: int
    producer_id: int = NONE
    is_consumed: bool = True


def evidence(*rows: Any) -> str:  # Any: one of the named tuples above
    """Rows as JSON, without the fields that hold their default; of a long list the first 20."""
    return json.dumps([_shown(row) for row in rows if row is not None])


def _shown(row: Any) -> dict[str, object]:  # Any: as above
    defaults = row._field_defaults
    fields = {
        name: _short(value)
        for name, value in row._asdict().items()
        if name not in defaults or defaults[name] != value
    }
    return {"row": type(row).__name__, **fields}


def _short(value: object) -> object:
    if isinstance(value, tuple) and len(value) > _ITEMS_SHOWN:
        return [*value[:_ITEMS_SHOWN], f"and {len(value) - _ITEMS_SHOWN} more"]
    return value
