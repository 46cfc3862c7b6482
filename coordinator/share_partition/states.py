"""The states of a record in a share group, and the types of requests to its share partition."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, IntEnum
from typing import Final, NamedTuple


class RecordState(IntEnum):
    """The state of a record; the numbers are those of the stored state (RecordState in Kafka).

    `ACQUIRED` is never stored. `ARCHIVING` waits for the record to be in the dead letter queue
    (KIP-1191).
    """

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4

    @property
    def is_terminal(self) -> bool:
        """Whether the group is done with the record."""
        return self is RecordState.ACKNOWLEDGED or self is RecordState.ARCHIVED


class AcknowledgeType(IntEnum):
    """The type of an acknowledgement; `GAP` is an offset without a record."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


STATE_AFTER: Final = {
    AcknowledgeType.GAP: RecordState.ARCHIVED,
    AcknowledgeType.ACCEPT: RecordState.ACKNOWLEDGED,
    AcknowledgeType.RELEASE: RecordState.AVAILABLE,
    AcknowledgeType.REJECT: RecordState.ARCHIVED,
}


class AcquireMode(IntEnum):
    """How a fetch counts its records (KIP-1206): in whole batches of the log, or exactly."""

    BATCH_OPTIMIZED = 0
    RECORD_LIMIT = 1


class DeadLetterReason(Enum):
    """Why a record goes to the dead letter queue; the values are Kafka's texts."""

    REJECTED = "Offset rejected by client."
    DELIVERY_COUNT_EXCEEDED = "Offset delivery count exceeded the threshold."


class ShareLimits(NamedTuple):
    """The settings of a share group that its partitions obey.

    Attributes:
        lock_duration_ms: `share.record.lock.duration.ms`.
        delivery_count_limit: `share.delivery.count.limit`.
        max_record_locks: `share.partition.max.record.locks`.
        may_renew: `share.renew.acknowledge.enable`.
        has_dead_letters: whether records that are given up go to a dead letter queue.
    """

    lock_duration_ms: int = 30_000
    delivery_count_limit: int = 5
    max_record_locks: int = 2_000
    may_renew: bool = True
    has_dead_letters: bool = False


class LogBatch(NamedTuple):
    """The offsets of one batch of the log."""

    base_offset: int
    last_offset: int


class Fetched(NamedTuple):
    """What was read from the log.

    Attributes:
        fetch_offset: the offset that was asked for.
        batches: in the order of the log; the first may begin before `fetch_offset`.
        aborted: those of them that a group with `read_committed` does not see.
    """

    fetch_offset: int
    batches: Sequence[LogBatch]
    aborted: Sequence[LogBatch] = ()


class AcquireRequest(NamedTuple):
    """A member's request for records (ShareFetch).

    Attributes:
        max_records: the most records; the last batch of the log may exceed it, except in the mode
            RECORD_LIMIT.
        batch_size: the most records in an acquired range, as far as the batches of the log allow.
    """

    member_id: str
    max_records: int
    batch_size: int
    mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED


class Acquired(NamedTuple):
    """Records that a member has acquired."""

    first_offset: int
    last_offset: int
    delivery_count: int


class Acknowledgement(NamedTuple):
    """A range of offsets in ShareFetch or ShareAcknowledge, with the results of its records.

    Attributes:
        types: one for all offsets, or one for each.
    """

    first_offset: int
    last_offset: int
    types: Sequence[int]


class DeadLetters(NamedTuple):
    """Records that the group gives up, for the dead letter queue."""

    first_offset: int
    last_offset: int
    delivery_count: int
    reason: DeadLetterReason
