"""The states that `give` makes, with their parameters; wrong ones are refused with a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta, Struct

from ...broker.node_orders import WrongOrder

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=249)]
Index: TypeAlias = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Offset: TypeAlias = Annotated[int, Meta(ge=0, le=2**62)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=100_000)]
Milliseconds: TypeAlias = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Codec: TypeAlias = Literal["none", "gzip", "snappy", "lz4", "zstd"]


class _State(Struct, forbid_unknown_fields=True, kw_only=True, tag_field="state"):
    """A state."""


class _InPartition(_State, kw_only=True):
    """A state of a partition, which is made if it does not exist."""

    topic: Name
    partition: Index = 0


class ProducerEpoch(_State, kw_only=True, tag="producer_epoch"):
    """A transactional id whose epochs are almost used up; 32767 is the one kept for fencing."""

    transactional_id: Name
    epoch: Annotated[int, Meta(ge=0, le=32_767)] = 32_766
    timeout_ms: Milliseconds = 60_000


class ProducerIdsAtBlockEnd(_State, kw_only=True, tag="producer_ids_at_block_end"):
    """A node that has given out all but some producer ids of its block."""

    node_id: Index | None = None
    left: Annotated[int, Meta(ge=0, le=999)] = 1


class OngoingTransaction(_InPartition, kw_only=True, tag="ongoing_transaction"):
    """An open transaction whose producer is dead, with records."""

    transactional_id: Name
    records: Count = 3
    timeout_ms: Milliseconds = 60_000


class PreparedCommit(_InPartition, kw_only=True, tag="prepared_commit"):
    """A decided transaction whose marker waits, because its partition has no leader."""

    transactional_id: Name
    commit: bool = True
    records: Count = 3


class HangingTransaction(_InPartition, kw_only=True, tag="hanging_transaction"):
    """An open transaction in a partition's log that no coordinator knows."""

    records: Count = 3


class PreparingRebalance(_State, kw_only=True, tag="preparing_rebalance"):
    """A classic group that waits for a member that does not rejoin."""

    group: Name
    topic: Name
    session_timeout_ms: Milliseconds = 300_000
    rebalance_timeout_ms: Milliseconds = 300_000


class LastDelivery(_InPartition, kw_only=True, tag="last_delivery"):
    """Records whose next delivery in a share group without members is the last one."""

    group: Name
    records: Count = 3


class OffsetOutOfRange(_InPartition, kw_only=True, tag="offset_out_of_range"):
    """A committed offset beyond the end of the log."""

    group: Name
    beyond: Count = 1000


class LogStartsAt(_InPartition, kw_only=True, tag="log_starts_at"):
    """A log whose first record has a large offset."""

    offset: Offset = 1_000_000_000
    records: Count = 3


class EndsInMarker(_InPartition, kw_only=True, tag="ends_in_marker"):
    """A log that ends in a control batch."""

    commit: bool = True
    records: Count = 3


class OnlyAbortedData(_InPartition, kw_only=True, tag="only_aborted_data"):
    """A log in which all records are aborted."""

    records: Count = 3


class AbortMarkerWithoutData(_InPartition, kw_only=True, tag="abort_marker_without_data"):
    """An abort marker of a producer that has no records in the partition."""


class CompressedAbortedBatch(_InPartition, kw_only=True, tag="compressed_aborted_batch"):
    """An aborted batch of each codec, with a committed one behind it."""

    codecs: tuple[Codec, ...] = get_args(Codec)
    records: Count = 3


class CompactedHoleAtEnd(_InPartition, kw_only=True, tag="compacted_hole_at_end"):
    """A batch of which compaction has removed the last records, at the end of the log."""

    records: Count = 1
    removed: Count = 9


class EmptyBatches(_InPartition, kw_only=True, tag="empty_batches"):
    """Batches without records, kept by compaction, one producer each, and a record behind them."""

    batches: Annotated[int, Meta(ge=1, le=1000)] = 3
    removed: Count = 5


class SparseOffsets(_InPartition, kw_only=True, tag="sparse_offsets"):
    """Few records over more offsets than a segment can hold."""

    span: Annotated[int, Meta(ge=1, le=2**40)] = 2**31
    records: Annotated[int, Meta(ge=2, le=1000)] = 5


class TimestampsOutOfOrder(_InPartition, kw_only=True, tag="timestamps_out_of_order"):
    """Batches whose timestamps, and those of their records, go back."""

    batches: Annotated[int, Meta(ge=1, le=1000)] = 3
    records: Count = 3


class UnknownControlRecord(_InPartition, kw_only=True, tag="unknown_control_record"):
    """A control record of an unknown type, between two records."""

    type: Annotated[int, Meta(ge=7, le=32_767)] = 99
    version: Annotated[int, Meta(ge=0, le=32_767)] = 0


class ManyAbortedTransactions(_InPartition, kw_only=True, tag="many_aborted_transactions"):
    """Aborted transactions of one record each."""

    transactions: Annotated[int, Meta(ge=1, le=1_000_000)] = 100_000


State: TypeAlias = (
    ProducerEpoch
    | ProducerIdsAtBlockEnd
    | OngoingTransaction
    | PreparedCommit
    | HangingTransaction
    | PreparingRebalance
    | LastDelivery
    | OffsetOutOfRange
    | LogStartsAt
    | EndsInMarker
    | OnlyAbortedData
    | AbortMarkerWithoutData
    | CompressedAbortedBatch
    | CompactedHoleAtEnd
    | EmptyBatches
    | SparseOffsets
    | TimestampsOutOfOrder
    | UnknownControlRecord
    | ManyAbortedTransactions
)
STATES: Final = {str(each.__struct_config__.tag): each for each in get_args(State)}


def read_state(state: str, parameters: Mapping[str, object]) -> State:
    """A state with its parameters. Raises WrongOrder with a sentence."""
    kind = STATES.get(state)
    if kind is None:
        raise WrongOrder(f"{state} is no state; states: {', '.join(sorted(STATES))}")
    fields = ", ".join(kind.__struct_encode_fields__)
    if "state" in parameters:
        raise WrongOrder(f"{state}: state is no parameter; parameters: {fields}")
    try:
        made: State = msgspec.convert({"state": state, **parameters}, kind)
    except msgspec.ValidationError as wrong:
        what, _, place = str(wrong).partition(" - at ")
        where = place.strip("`").removeprefix("$").removeprefix(".")
        at = f"{state}, {where}" if where else state
        raise WrongOrder(f"{at}: {what}; parameters: {fields}") from None
    return made
