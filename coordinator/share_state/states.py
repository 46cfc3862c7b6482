"""The state that the share coordinator keeps for a partition of a share group (KIP-932).

These are also its records in `__share_group_state`: a snapshot has the whole state, an update what
one write has changed.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID

from ...protocol.lazy_dataclass import dataclass
from ..outcome import Effect

NO_OFFSET: Final = -1
"""The start offset of a state that is not initialized with one: the leader finds it out."""
NO_COUNT: Final = -1
"""The delivery complete count of a state without a start offset."""
NO_EPOCH: Final = -1


class SharePartition(NamedTuple):
    """A partition of a topic, as one share group reads it (SharePartitionKey)."""

    group_id: str
    topic_id: UUID
    partition: int

    @property
    def coordinator_key(self) -> str:
        """GROUP:TOPIC_ID:PARTITION: its hash is that of the partition of the coordinator."""
        topic_id = urlsafe_b64encode(self.topic_id.bytes)[:-2].decode()
        return f"{self.group_id}:{topic_id}:{self.partition}"


class StateBatch(NamedTuple):
    """A run of records with the same state and number of deliveries (PersisterStateBatch).

    Attributes:
        last_offset: included.
        delivery_state: 0 available, 2 acknowledged, 4 archived; an acquired record is not stored.
    """

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


class ShareState(NamedTuple):
    """The state of a partition of a share group (ShareSnapshotValue).

    Attributes:
        snapshot_epoch: the number of snapshots before.
        state_epoch: raised when the state is initialized again; older ones are fenced.
        leader_epoch: of the leader that last took over the partition, by a read.
        start_offset: records before it are done; `NO_OFFSET` until a leader has found it out.
        delivery_complete_count: of records at the start offset or after it that are done.
        batches: in the order of offsets; they do not overlap.
        create_timestamp_ms, write_timestamp_ms: the wall time of the last snapshot that a write
            needed, and of the last snapshot.
    """

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]
    create_timestamp_ms: int
    write_timestamp_ms: int


class ShareStateSummary(NamedTuple):
    """The start offset of a partition of a share group, without its batches."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int


UNINITIALIZED: Final = ShareStateSummary(0, 0, NO_OFFSET, NO_COUNT)
"""The summary of a partition without a state."""


class ShareSnapshot(NamedTuple):
    """The whole state of a partition."""

    partition: SharePartition
    state: ShareState


class ShareUpdate(NamedTuple):
    """What one write has changed, since the snapshot with the same epoch.

    Attributes:
        batches: those of the write alone; they are merged with the batches so far.
    """

    partition: SharePartition
    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


class ShareStateRemoved(NamedTuple):
    """A tombstone: the partition has no state any more."""

    partition: SharePartition


ShareRecord: TypeAlias = ShareSnapshot | ShareUpdate | ShareStateRemoved
"""A record of `__share_group_state`."""


@dataclass(frozen=True, slots=True)
class PruneLog(Effect):
    """Delete the records of the log before an offset: newer snapshots replace all of them."""

    before_offset: int
