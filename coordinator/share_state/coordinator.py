"""The share coordinator of one partition of `__share_group_state` (KIP-932).

Each request has a method that decides; only `replay_at` changes the states, after a decision and
after a restart. Follows ShareCoordinatorShard and ShareCoordinatorOffsetsManager of Kafka 4.4.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import islice
from typing import ClassVar, Final, NamedTuple
from uuid import UUID

from ...protocol.errors import Code, Refused
from ..moment import Moment
from ..outcome import Outcome
from .batches import are_in_order, combine
from .states import (
    NO_COUNT,
    NO_EPOCH,
    NO_OFFSET,
    UNINITIALIZED,
    PruneLog,
    SharePartition,
    ShareRecord,
    ShareSnapshot,
    ShareState,
    ShareStateRemoved,
    ShareStateSummary,
    ShareUpdate,
    StateBatch,
)

RECORDS_PER_DECISION: Final = 100
"""The number of states that one decision of a timer, or of a deleted topic, writes."""

_FIRST_EPOCH: Final = 0


class _Held(NamedTuple):
    """A state, and what Kafka remembers beside it.

    Attributes:
        leader_epoch, state_epoch: the highest of all records: older ones are fenced.
        updates: since a snapshot was due because of their number.
    """

    state: ShareState
    leader_epoch: int
    state_epoch: int
    updates: int

    @property
    def is_cold(self) -> bool:
        """Whether the last snapshot was written because nothing else was."""
        return self.state.create_timestamp_ms != self.state.write_timestamp_ms


class ShareStates:
    """The states of one coordinator partition.

    Args:
        partition_count_of: the number of partitions of a topic; None if there is no such topic.
        updates_per_snapshot: `share.coordinator.snapshot.update.records.per.snapshot`.
        cold_interval_ms: `share.coordinator.cold.partition.snapshot.interval.ms`.
        prune_interval_ms: `share.coordinator.state.topic.prune.interval.ms`.
    """

    VOLATILE: ClassVar = frozenset({"_next_cold_ms", "_next_prune_ms", "_pruned_offset"})

    def __init__(
        self,
        partition_count_of: Callable[[UUID], int | None],
        *,
        updates_per_snapshot: int = 500,
        cold_interval_ms: int = 300_000,
        prune_interval_ms: int = 300_000,
    ) -> None:
        self._partition_count_of = partition_count_of
        self._updates_per_snapshot = updates_per_snapshot
        self._cold_interval_ms = cold_interval_ms
        self._prune_interval_ms = prune_interval_ms
        self._held: dict[SharePartition, _Held] = {}
        self._by_topic: dict[UUID, dict[SharePartition, None]] = {}
        self._hot = 0  # the number of states whose last snapshot is not a cold one
        # The offset of the last snapshot of each state, in the order of the log.
        self._snapshots: OrderedDict[SharePartition, int] = OrderedDict()
        self._next_offset = 0
        self._needed_offset = 0  # no state needs the records before it
        self._pruned_offset = 0
        self._next_cold_ms: int | None = None
        self._next_prune_ms: int | None = None

    def __len__(self) -> int:
        """The number of states."""
        return len(self._held)

    def state_of(self, partition: SharePartition) -> ShareState | None:
        """The state of a partition, for tests and people."""
        held = self._held.get(partition)
        return None if held is None else held.state

    # Requests

    def initialize(
        self, partition: SharePartition, *, state_epoch: int, start_offset: int, now_ms: int
    ) -> Outcome[None]:
        """InitializeShareGroupState (83): a new state, without batches.

        Args:
            start_offset: -1: the leader will find it out.
            now_ms: the wall time, in ms.

        Raises:
            Refused: FENCED_STATE_EPOCH if the present state has a newer epoch, INVALID_REQUEST,
                UNKNOWN_TOPIC_OR_PARTITION.
        """
        _check_partition(partition)
        _check_epoch(state_epoch, "state")
        held = self._held.get(partition)
        if held is not None and held.state_epoch > state_epoch:
            raise Refused(Code.FENCED_STATE_EPOCH)
        self._check_exists(partition)
        state = ShareState(
            _FIRST_EPOCH if held is None else held.state.snapshot_epoch + 1,
            state_epoch,
            _FIRST_EPOCH,
            start_offset,
            NO_COUNT if start_offset == NO_OFFSET else 0,
            (),
            now_ms,
            now_ms,
        )
        return Outcome(None, (ShareSnapshot(partition, state),))

    def read(
        self, partition: SharePartition, *, leader_epoch: int, now_ms: int
    ) -> Outcome[ShareState]:
        """ReadShareGroupState (84): the leader of a partition loads its state.

        A new leader epoch is remembered, so that writes of an older leader are fenced.

        Raises:
            Refused: FENCED_LEADER_EPOCH, INVALID_REQUEST (also without a state),
                UNKNOWN_TOPIC_OR_PARTITION.
        """
        _check_partition(partition)
        _check_epoch(leader_epoch, "leader")
        held = self._held.get(partition)
        if held is None:
            raise Refused(Code.INVALID_REQUEST, _not_initialized("Read"))
        if held.leader_epoch > leader_epoch:
            raise Refused(Code.FENCED_LEADER_EPOCH)
        self._check_exists(partition)
        state = held.state
        if held.leader_epoch == leader_epoch:
            return Outcome(state)
        record = self._changed(
            partition,
            leader_epoch=leader_epoch,
            start_offset=state.start_offset,
            delivery_complete_count=state.delivery_complete_count,
            batches=(),
            now_ms=now_ms,
        )
        return Outcome(state, (record,))

    def write(
        self,
        partition: SharePartition,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
        now_ms: int,
    ) -> Outcome[None]:
        """WriteShareGroupState (85): the leader of a partition stores what has changed.

        Args:
            batches: only those that have changed.

        Raises:
            Refused: FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH, INVALID_REQUEST (also without a
                state, or for an empty batch), UNKNOWN_TOPIC_OR_PARTITION.
        """
        _check_partition(partition)
        _check_epoch(leader_epoch, "leader")
        _check_epoch(state_epoch, "state")
        held = self._held.get(partition)
        if held is None:
            raise Refused(Code.INVALID_REQUEST, _not_initialized("Write"))
        if held.leader_epoch > leader_epoch:
            raise Refused(Code.FENCED_LEADER_EPOCH)
        if held.state_epoch > state_epoch:
            raise Refused(Code.FENCED_STATE_EPOCH)
        self._check_exists(partition)
        if any(each.last_offset < each.first_offset for each in batches):
            raise Refused(Code.INVALID_REQUEST, "A state batch ends before it begins.")
        record = self._changed(
            partition,
            leader_epoch=held.state.leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=delivery_complete_count,
            batches=batches,
            now_ms=now_ms,
        )
        return Outcome(None, (record,))

    def summarize(self, partition: SharePartition) -> Outcome[ShareStateSummary]:
        """ReadShareGroupStateSummary (87): the start offset; `UNINITIALIZED` without a state.

        Raises:
            Refused: INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION.
        """
        _check_partition(partition)
        self._check_exists(partition)
        held = self._held.get(partition)
        if held is None:
            return Outcome(UNINITIALIZED)
        state = held.state
        return Outcome(
            ShareStateSummary(
                state.state_epoch,
                state.leader_epoch,
                state.start_offset,
                state.delivery_complete_count,
            )
        )

    def delete(self, partition: SharePartition) -> Outcome[None]:
        """DeleteShareGroupState (86): remove the state, if there is one.

        Raises:
            Refused: INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION.
        """
        _check_partition(partition)
        self._check_exists(partition)
        if partition not in self._held:
            return Outcome(None)
        return Outcome(None, (ShareStateRemoved(partition),))

    def forget_topics(self, topic_ids: Iterable[UUID]) -> Outcome[None]:
        """Remove the states of deleted topics."""
        forgotten = [each for topic_id in topic_ids for each in self._by_topic.get(topic_id, ())]
        return Outcome(None, tuple(map(ShareStateRemoved, forgotten)), is_atomic=False)

    def forget_missing_topics(self) -> Outcome[None]:
        """Remove the states of topics that do not exist, after a start: a crash may leave some."""
        return self.forget_topics([each for each in self._by_topic if not self._count_of(each)])

    # Timers

    def next_deadline(self, now: Moment) -> int | None:
        """When `tick` is next due, by the monotonic time in ms; None while nothing changes."""
        if not self._hot:
            self._next_cold_ms = None
        elif self._next_cold_ms is None:
            self._next_cold_ms = now.monotonic_ms + self._cold_interval_ms
        if self._needed_offset <= self._pruned_offset:
            self._next_prune_ms = None
        elif self._next_prune_ms is None:
            self._next_prune_ms = now.monotonic_ms + self._prune_interval_ms
        due_ms = [each for each in (self._next_cold_ms, self._next_prune_ms) if each is not None]
        return min(due_ms, default=None)

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        """Write snapshots of states that are not written any more, and prune the log.

        The snapshots let the log be pruned: what is before the last snapshot of every state is
        not needed any more.
        """
        if self._next_cold_ms is not None and self._next_cold_ms <= now.monotonic_ms:
            yield from self._cold_snapshots(now.wall_ms)
            self._next_cold_ms = None
        if self._next_prune_ms is not None and self._next_prune_ms <= now.monotonic_ms:
            self._next_prune_ms, self._pruned_offset = None, self._needed_offset
            yield Outcome(None, effects=(PruneLog(self._needed_offset),))

    def _cold_snapshots(self, now_ms: int) -> Generator[Outcome[None]]:
        old = iter(
            [
                partition
                for partition, held in self._held.items()
                if now_ms - held.state.write_timestamp_ms >= self._cold_interval_ms
            ]
        )
        while some := tuple(islice(old, RECORDS_PER_DECISION)):
            records = tuple([self._cold_snapshot(each, now_ms) for each in some])
            yield Outcome(None, records, is_atomic=False)

    def _cold_snapshot(self, partition: SharePartition, now_ms: int) -> ShareSnapshot:
        state = self._held[partition].state
        return ShareSnapshot(
            partition,
            state._replace(snapshot_epoch=state.snapshot_epoch + 1, write_timestamp_ms=now_ms),
        )

    # Decisions

    def _changed(
        self,
        partition: SharePartition,
        *,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
        now_ms: int,
    ) -> ShareSnapshot | ShareUpdate:
        """The record of a change: an update, or a snapshot after enough updates."""
        held = self._held[partition]
        state = held.state
        if start_offset == state.start_offset:
            delivery_complete_count = max(delivery_complete_count, state.delivery_complete_count)
        elif start_offset < state.start_offset:  # a start offset never moves back
            delivery_complete_count = state.delivery_complete_count
        start_offset = max(start_offset, state.start_offset)
        if held.updates < self._updates_per_snapshot:
            return ShareUpdate(
                partition,
                state.snapshot_epoch,
                leader_epoch,
                start_offset,
                delivery_complete_count,
                combine((), batches, start_offset),
            )
        changed = ShareState(
            state.snapshot_epoch + 1,
            state.state_epoch,
            leader_epoch,
            start_offset,
            delivery_complete_count,
            combine(state.batches, batches, start_offset),
            now_ms,
            now_ms,
        )
        return ShareSnapshot(partition, changed)

    def _count_of(self, topic_id: UUID) -> int:
        return self._partition_count_of(topic_id) or 0

    def _check_exists(self, partition: SharePartition) -> None:
        if partition.partition >= self._count_of(partition.topic_id):
            raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION)

    # Replay

    def replay(self, record: ShareRecord) -> None:
        """Apply a record that is behind the last one in the log."""
        self.replay_at(record, self._next_offset)

    def replay_at(self, record: ShareRecord, offset: int) -> None:
        """Apply a record.

        Args:
            offset: its offset in the log.
        """
        self._next_offset = offset + 1
        partition = record.partition
        held = self._held.get(partition)
        if isinstance(record, ShareUpdate):
            self._put(partition, held, self._updated(held, record))
            return
        if isinstance(record, ShareSnapshot):
            self._put(partition, held, self._replaced(held, record.state))
        elif held is not None:
            self._remove(partition, held)
        self._snapshots[partition] = offset
        self._snapshots.move_to_end(partition)
        self._needed_offset = next(iter(self._snapshots.values()))
        if isinstance(record, ShareStateRemoved):
            del self._snapshots[partition]

    def _put(self, partition: SharePartition, before: _Held | None, held: _Held) -> None:
        self._hot += (not held.is_cold) - (before is not None and not before.is_cold)
        self._held[partition] = held
        if before is None:
            self._by_topic.setdefault(partition.topic_id, {})[partition] = None

    def _remove(self, partition: SharePartition, held: _Held) -> None:
        self._hot -= not held.is_cold
        del self._held[partition]
        same_topic = self._by_topic[partition.topic_id]
        del same_topic[partition]
        if not same_topic:
            del self._by_topic[partition.topic_id]

    def _replaced(self, held: _Held | None, state: ShareState) -> _Held:
        if not are_in_order(state.batches):
            state = state._replace(batches=combine((), state.batches, state.start_offset))
        if held is None:
            return _Held(state, state.leader_epoch, state.state_epoch, 0)
        return _Held(
            state,
            max(held.leader_epoch, state.leader_epoch),
            max(held.state_epoch, state.state_epoch),
            0 if held.updates >= self._updates_per_snapshot else held.updates,
        )

    def _updated(self, held: _Held | None, update: ShareUpdate) -> _Held:
        if held is None:  # its snapshot is not in the log any more: a removal follows
            state = ShareState(
                update.snapshot_epoch,
                _FIRST_EPOCH,
                update.leader_epoch,
                update.start_offset,
                update.delivery_complete_count,
                combine((), update.batches, update.start_offset),
                0,
                0,
            )
            return _Held(state, update.leader_epoch, _FIRST_EPOCH, 1)
        state = held.state
        is_moved = update.start_offset != NO_OFFSET
        start_offset = update.start_offset if is_moved else state.start_offset
        state = state._replace(
            leader_epoch=(
                state.leader_epoch if update.leader_epoch == NO_EPOCH else update.leader_epoch
            ),
            start_offset=start_offset,
            delivery_complete_count=update.delivery_complete_count,
            batches=combine(state.batches, update.batches, start_offset),
        )
        return _Held(
            state,
            max(held.leader_epoch, update.leader_epoch),
            held.state_epoch,
            held.updates + 1,
        )


def _check_partition(partition: SharePartition) -> None:
    if partition.partition < 0:
        why = "The partition id cannot be a negative number."
        raise Refused(Code.INVALID_REQUEST, why)


def _check_epoch(epoch: int, name: str) -> None:
    if epoch < 0:
        raise Refused(Code.INVALID_REQUEST, f"The {name} epoch cannot be a negative number.")


def _not_initialized(operation: str) -> str:
    return f"{operation} operation on uninitialized share partition not allowed."
